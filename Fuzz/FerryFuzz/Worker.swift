import FerryBase
import Foundation

/// Reads inputs with one reader, one after another, in this process.
struct Worker {
    /// The memory that one input may take beyond the memory of the process before it and the input's own size.
    ///
    /// The command's default limit is 32 MiB; this is the part that the command does not need while it reads models and
    /// mappings.
    static let memoryLimit = 40 << 20
    private static let inputLimit = 192 << 10
    private static let keptLimit = 400

    let reader: any FuzzReader
    let seed: UInt64
    private let mutator: Mutator
    private let blackboard: Blackboard
    private var corpus: [[UInt8]]
    private var seen: Set<UInt64> = []

    init(_ type: any FuzzReader.Type, seed: UInt64, folder: String, corpus root: String?) throws {
        let place = folder + "/files"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        reader = try type.init(folder: place, corpus: Corpus(root: root))
        self.seed = seed &+ fnv(Array(type.name.utf8))
        mutator = Mutator(shape: type.shape, limit: Self.inputLimit)
        blackboard = try Blackboard(path: folder + "/blackboard")
        corpus = reader.seeds
        guard !corpus.isEmpty else { throw FuzzFailure("\(type.name) has no seeds.") }
    }

    /// - Throws: ``FuzzFailure`` if the reader refuses all of its seeds: it would read nothing of their changed forms.
    mutating func run(from first: Int, count: Int) throws {
        blackboard.goOn()
        if first == 0 {
            // The worker first reads the unchanged seeds: a refused seed would make the mutations of little use.
            var refused = 0
            for (index, input) in reader.seeds.enumerated() {
                do { try reader.read(input) } catch {
                    refused += 1
                    note("seed \(index) is refused: \(error)")
                }
            }
            guard refused < reader.seeds.count else { throw FuzzFailure("The reader refuses each of its seeds.") }
        } else {
            // Reading the seeds fills the memory that the process always needs.
            for input in reader.seeds { try? reader.read(input) }
        }
        let seeds = reader.seeds
        var before = peakMemory()
        for execution in first..<first + count {
            var random = Generator(seed: seed, execution: execution)
            // The corpus holds refused inputs, so every other mutation starts from a good seed.
            let origin = random.pick(random.oneIn(2) ? seeds : corpus)
            var input = mutator.mutate(origin, with: random.pick(corpus), &random)
            if random.oneIn(2) { input = reader.mended(input) }
            blackboard.note(input, execution: execution)
            let start = seconds()
            do {
                try reader.read(input)
                blackboard.accepted += 1
            } catch {
                learn(input, from: error)
            }
            blackboard.longest = max(blackboard.longest, Int((seconds() - start) * 1e6))
            let peak = peakMemory()
            if peak > before + Self.memoryLimit + input.count {
                blackboard.usedTooMuchMemory = true
                return
            }
            // The kept inputs and the allocator's own pages slowly take more memory.
            if execution % 512 == 0 || peak < before + (8 << 20) { before = max(before, peak) }
        }
        blackboard.isDone = true
    }

    /// Reads one input in this process, without protection against crashes.
    func replay(_ input: [UInt8]) {
        do {
            try reader.read(input)
            note("accepted")
        } catch {
            note("refused: \(error)")
        }
        note("peak memory \(peakMemory() >> 20) MiB")
    }

    /// Keeps an input that the reader refused with a new error: the input reached further into the reader, or another
    /// part of it.
    private mutating func learn(_ input: [UInt8], from error: any Error) {
        guard corpus.count < Self.keptLimit + reader.seeds.count, input.count < 32 << 10 else { return }
        // Quoted words and numbers differ in each message.
        var words = "\(error)".split(separator: " ").filter { word in
            !word.contains { $0.isNumber || "'\"`/".contains($0) }
        }
        words = Array(words.prefix(24))
        if seen.insert(fnv(words.joined(separator: " ").utf8)).inserted {
            corpus.append(input)
            blackboard.kept += 1
        }
    }

    private func note(_ text: String) {
        FileHandle.standardError.write(Data("\(type(of: reader).name): \(text)\n".utf8))
    }
}
