import FerryBase
import FerrySQLite
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Changes one file of a good case per run, and runs the program on the case.
struct ProgramRun {
    let program: String
    let runs: Int
    let seconds: Double?
    let seed: UInt64
    let corpus: String?
    let findings: String

    private static let exitCodes: Set<Int32> = [0, 1, 2, 3, 64, 75]
    /// Of processor time.
    private static let secondsPerRun = 5.0
    /// A process that waits for nothing ends far earlier, even on a busy machine.
    private static let secondsToEnd = 120.0
    /// The default of `--memory-limit`.
    private static let memoryLimit = 32 << 20
    /// The memory that a command on a small input may hold beyond the memory of `--version`.
    ///
    /// The program's own pages count as its memory: their number depends on the linker and on the system.
    private static let memoryAboveIdle = 16 << 20

    /// - Returns: Whether no run failed.
    func run() throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.path + "/ferry-fuzz-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: findings, withIntermediateDirectories: true)
        print("seed \(seed), \(runs) runs of \(program)")
        let cases = try ProgramCases(program: program, folder: folder, corpus: corpus).make()
        let idle = try Child(program, ["--version"], output: folder + "/ferry.out").wait(limit: Self.secondsToEnd)
        let allowedMemory = max(Self.memoryLimit, idle.peakMemory + Self.memoryAboveIdle)
        var outcomes: [String: [String: Int]] = [:]
        var found = 0
        var highest = 0
        var longest = 0.0
        let start = FerryFuzz.seconds()
        var done = 0
        for number in 0..<runs {
            if let seconds, FerryFuzz.seconds() - start > seconds { break }
            var random = Generator(seed: seed, execution: number)
            let attempt = try Attempt(random.pick(cases), in: folder, &random)
            defer { attempt.remove() }
            let end = try attempt.run(program)
            done += 1
            (highest, longest) = (max(highest, end.peakMemory), max(longest, end.seconds))
            let word = end.tookTooLong ? "hang" : end.signal.map { "signal \($0)" } ?? "\(end.exitCode ?? -1)"
            outcomes[attempt.name, default: [:]][word, default: 0] += 1
            guard let problem = attempt.problem(after: end, allowedMemory: allowedMemory) else { continue }
            found += 1
            let kept = "\(findings)/program-\(seed)-\(number)"
            try? FileManager.default.removeItem(atPath: kept)
            try attempt.keep(at: kept)
            print("run \(number): \(problem)\n  \(attempt.description)\n  kept as \(kept)")
            fflush(nil)
        }
        for (name, counts) in outcomes.sorted(by: { $0.key < $1.key }) {
            print(
                "\(name): "
                    + counts.sorted { $0.key < $1.key }.map { "exit \($0.key): \($0.value)" }.joined(separator: ", "))
        }
        print(
            "\(done) runs in \(Int(FerryFuzz.seconds() - start)) s, \(found) found; peak memory at most \(highest >> 20) MiB, "
                + "longest \(Int(longest * 1_000)) ms of processor time")
        return found == 0
    }

    /// One changed case, and its command.
    private struct Attempt {
        let name: String
        private let command: ProgramCase.Command
        private let folder: String
        private let place: String
        private let target: String
        private let change: String
        /// The bytes of memory that the command may hold for its input: the changed file, and twice the largest
        /// external value.
        ///
        /// A changed model may store that value in the row, and then the value is in memory as a whole.
        private let inputBytes: Int
        private let before: [String: UInt64]

        init(_ origin: ProgramCase, in folder: String, _ random: inout Generator) throws {
            self.folder = folder
            name = origin.name
            place = folder + "/attempt"
            try? FileManager.default.removeItem(atPath: place)
            try FileManager.default.copyItem(atPath: origin.folder, toPath: place)
            // `movePaths` then corrects the paths in a run's record, which name the original folder.
            command = random.pick(origin.commands)
            target = random.pick(origin.targets)
            let path = place + "/" + target
            try Self.movePaths(from: origin.folder, to: place)
            let bytes = FileManager.default.contents(atPath: path).map { [UInt8]($0) } ?? []
            if random.oneIn(24) {
                try FileManager.default.removeItem(atPath: path)
                switch random.below(5) {
                case 0:
                    change = "a pipe"
                    mkfifo(path, 0o600)
                case 1:
                    change = "a link to a device"
                    symlink(random.oneIn(2) ? "/dev/zero" : "/dev/tty", path)
                case 2:
                    change = "a folder"
                    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                case 3:
                    change = "empty"
                    try write([], to: path)
                default: change = "missing"
                }
                inputBytes = 2 * Self.largestExternalValue(in: place)
            } else {
                change = "changed"
                let mutator = Mutator(shape: Self.shape(of: target), limit: 1 << 20)
                var changed = mutator.mutate(bytes, with: bytes, &random)
                if target.hasSuffix(".json"), target.contains(".snapshots/"), random.oneIn(2) {
                    changed = Self.rehashed(changed)
                }
                try write(changed, to: path)
                inputBytes = changed.count + 2 * Self.largestExternalValue(in: place)
            }
            before = Self.contents(place)
        }

        private static func largestExternalValue(in folder: String) -> Int {
            let files = FileManager.default
            let paths = (files.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []).filter {
                $0.contains("_SUPPORT/_EXTERNAL_DATA/")
            }
            return paths.compactMap { try? files.attributesOfItem(atPath: folder + "/" + $0)[.size] as? Int }.max() ?? 0
        }

        private static func shape(of target: String) -> Shape {
            if target.hasSuffix(".sqlite") { return .pages }
            if target.hasSuffix(".zst") { return .bytes }
            if target.hasSuffix("mapping.json") { return JSONMappingReader.shape }
            if target.hasSuffix(".xml") { return MappingXMLFileReader.shape }
            if target.hasSuffix(".json") { return RunRecordReader.shape }
            if target.hasSuffix("contents") { return SourceModelReader.shape }
            return BundleListReader.shape
        }

        private static func rehashed(_ bytes: [UInt8]) -> [UInt8] {
            guard let line = bytes.dropLast().lastIndex(of: UInt8(ascii: "\n")) else { return bytes }
            var hash = SHA256()
            hash.update(Array(bytes[...line]))
            return bytes[...line] + Array("\"sha256\":\"\(hash.finalize().hexadecimal)\"}\n".utf8)
        }

        /// Replaces the folder and the inodes in a run's record with those of the copy.
        private static func movePaths(from origin: String, to place: String) throws {
            for run in ["Store.sqlite.ferry", "New.sqlite.ferry"] {
                let path = "\(place)/\(run)/run.json"
                guard let record = FileManager.default.contents(atPath: path) else { continue }
                var text = String(decoding: record, as: UTF8.self)
                for (old, new) in [(origin, place), (escaped(origin), escaped(place))] {
                    text = text.replacingOccurrences(of: old, with: new)
                }
                for file in ["/" + run, "/Store.sqlite"] {
                    var (old, new) = (stat(), stat())
                    guard stat(origin + file, &old) == 0, stat(place + file, &new) == 0 else { continue }
                    text = text.replacingOccurrences(of: "\"inode\":\(old.st_ino)", with: "\"inode\":\(new.st_ino)")
                    text = text.replacingOccurrences(of: "\"inode\" : \(old.st_ino)", with: "\"inode\" : \(new.st_ino)")
                    // The copy gets the same times, so that the store counts as unchanged.
                    var times = [old.st_atim, old.st_mtim]
                    utimensat(AT_FDCWD, place + file, &times, 0)
                }
                try write(Array(text.utf8), to: path)
            }
        }

        private static func escaped(_ path: String) -> String { path.replacingOccurrences(of: "/", with: "\\/") }

        /// Hashes of the store's files, without what a change of the journal mode and back changes.
        private static func contents(_ place: String) -> [String: UInt64] {
            var contents: [String: UInt64] = [:]
            for suffix in ["", "-wal", "-journal"] {
                let path = "\(place)/\(ProgramCase.store)\(suffix)"
                var info = stat()
                guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size > 0 || suffix.isEmpty,
                    let bytes = FileManager.default.contents(atPath: path)
                else { continue }
                contents[suffix] = fnv(suffix.isEmpty ? withoutCounters([UInt8](bytes)) : [UInt8](bytes))
            }
            return contents
        }

        /// The bytes of a store in WAL mode without the header's counters.
        ///
        /// A step in place runs with a rollback journal. When it fails, the store returns to WAL mode; SQLite then has
        /// raised the change counter, and has written what belongs to it: the number of pages, and its own version.
        private static func withoutCounters(_ bytes: [UInt8]) -> [UInt8] {
            guard DatabaseHeader(bytes)?.usesWriteAheadLog == true else { return bytes }
            var bytes = bytes
            for range in [24..<32, 92..<100] { bytes.replaceSubrange(range, with: repeatElement(0, count: 8)) }
            return bytes
        }

        func run(_ program: String) throws -> Child.End {
            let words = command.words.map { $0.replacingOccurrences(of: "{}", with: place) }
            return try Child(program, words, output: folder + "/ferry.out").wait(limit: ProgramRun.secondsToEnd)
        }

        /// Returns the failure of a run that may hold `allowedMemory` beside its input; nil for a correct run.
        func problem(after end: Child.End, allowedMemory: Int) -> String? {
            if end.tookTooLong { return "it did not end" }
            if let signal = end.signal { return "signal \(signal)" }
            guard let code = end.exitCode, ProgramRun.exitCodes.contains(code) else {
                return "exit code \(end.exitCode ?? -1)"
            }
            if end.seconds > ProgramRun.secondsPerRun {
                return "it took \(Int(end.seconds * 1_000)) ms of processor time"
            }
            if end.peakMemory > allowedMemory + inputBytes {
                return "it held \(end.peakMemory >> 10) KiB for \(inputBytes) bytes"
            }
            if !(command.changesStore && [0, 75].contains(code)), Self.contents(place) != before {
                return "exit code \(code), but the store is not as before"
            }
            return nil
        }

        var description: String {
            "\(target) \(change): ferry \(command.words.joined(separator: " ")) (\(name), {} is the case's folder)"
        }

        func keep(at path: String) throws {
            try FileManager.default.copyItem(atPath: place, toPath: path)
            try write(Array((description + "\n").utf8), to: path + "/command.txt")
            try? FileManager.default.copyItem(atPath: folder + "/ferry.out", toPath: path + "/output.txt")
        }

        func remove() { try? FileManager.default.removeItem(atPath: place) }
    }
}
