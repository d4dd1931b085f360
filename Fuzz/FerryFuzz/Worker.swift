import FerryBase
import Foundation

/// Tries inputs on one reader, one after another, in this process.
struct Worker {
    /// What one input may take of memory beside what the process held before, and beside its own size.
    ///
    /// The command's default limit is 32 MiB; what it does not need of it while it reads models and mappings is this.
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

    mutating func run(from first: Int, count: Int) {
        blackboard.goOn()
        if first == 0 {
            // The seeds as they are; one that is refused would make the rest of little use.
            for (index, input) in reader.seeds.enumerated() {
                do { try reader.read(input) } catch { note("seed \(index) is refused: \(error)") }
            }
        } else {
            // Only what the memory of a process needs to be filled with.
            for input in reader.seeds { try? reader.read(input) }
        }
        let seeds = reader.seeds
        var before = peakMemory()
        for execution in first..<first + count {
            var random = Generator(seed: seed, execution: execution)
            // What is kept is refused already: as often as not a good input is where it goes on.
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
            // Little by little the kept inputs and the allocator's own pages take their part.
            if execution % 512 == 0 || peak < before + (8 << 20) { before = max(before, peak) }
        }
        blackboard.isDone = true
    }

    /// Tries one input without a net.
    func replay(_ input: [UInt8]) {
        do {
            try reader.read(input)
            note("accepted")
        } catch {
            note("refused: \(error)")
        }
        note("peak memory \(peakMemory() >> 20) MiB")
    }

    /// Keeps an input that is refused in a new way: it has come further, or elsewhere.
    private mutating func learn(_ input: [UInt8], from error: any Error) {
        guard corpus.count < Self.keptLimit + reader.seeds.count, input.count < 32 << 10 else { return }
        // What is quoted and counted differs in each message.
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
