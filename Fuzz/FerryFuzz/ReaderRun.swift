import Foundation

/// Runs the workers of readers, and records every input that ends a worker.
struct ReaderRun {
    let executions: Int
    let seconds: Double?
    let seed: UInt64
    let corpus: String?
    let findings: String
    let readers: [any FuzzReader.Type]
    let program: String

    /// The time limit of an input.
    private static let secondsPerInput = 20.0
    private static let findingLimit = 20

    private struct Tally {
        var executions = 0
        var accepted = 0
        var kept = 0
        var longest = 0
        var findings: [String] = []
        var seconds = 0.0
    }

    /// - Returns: Whether no input failed.
    func run() throws -> Bool {
        print("seed \(seed), \(executions) executions of each of \(readers.count) readers")
        try FileManager.default.createDirectory(atPath: findings, withIntermediateDirectories: true)
        var total = 0
        var found = 0
        for reader in readers {
            let tally = try run(reader)
            total += tally.executions
            found += tally.findings.count
            let rate = Int(Double(tally.executions) / max(tally.seconds, 0.001))
            print(
                "\(reader.name): \(tally.executions) executions (\(rate)/s), \(tally.accepted) accepted, \(tally.kept) kept, "
                    + "longest \(tally.longest / 1_000) ms, \(tally.findings.count) found")
            for finding in tally.findings { print("  \(finding)") }
            fflush(nil)
        }
        print("\(total) executions, \(found) found")
        return found == 0
    }

    private func run(_ reader: any FuzzReader.Type) throws -> Tally {
        let folder = FileManager.default.temporaryDirectory.path + "/ferry-fuzz-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let blackboard = try Blackboard(path: folder + "/blackboard")
        blackboard.reset()
        var tally = Tally()
        let start = FerryFuzz.seconds()
        let end = seconds.map { start + $0 / Double(readers.count) }
        var next = 0
        while next < executions, tally.findings.count < Self.findingLimit, end.map({ FerryFuzz.seconds() < $0 }) ?? true
        {
            var words = ["worker", reader.name, String(seed), String(next), String(executions - next), folder]
            if let corpus { words.append(corpus) }
            let child = try Child(program, words)
            let begunBefore = blackboard.begun
            let (outcome, isOver) = watch(child, blackboard, until: end)
            // A worker that ended before its first input would end there again.
            if outcome != nil, blackboard.begun == begunBefore {
                throw FuzzFailure("The worker of \(reader.name) does not start: \(outcome ?? "").")
            }
            next = blackboard.begun
            if let outcome {
                tally.findings.append(try keep(blackboard.input, reader.name, outcome, execution: next - 1))
            }
            if isOver { break }
        }
        tally.executions = blackboard.begun
        (tally.accepted, tally.kept, tally.longest) = (blackboard.accepted, blackboard.kept, blackboard.longest)
        tally.seconds = FerryFuzz.seconds() - start
        return tally
    }

    /// - Returns: The failure on the worker's last input, and whether the time for the reader is up.
    private func watch(_ child: Child, _ blackboard: Blackboard, until end: Double?) -> (String?, Bool) {
        var (begun, since) = (blackboard.begun, FerryFuzz.seconds())
        while true {
            if let ended = child.end() {
                if let signal = ended.signal { return ("signal \(signal)", false) }
                if blackboard.usedTooMuchMemory { return ("more than \(Worker.memoryLimit >> 20) MiB", false) }
                return ended.exitCode == 0 && blackboard.isDone ? (nil, false) : ("exit \(ended.exitCode ?? -1)", false)
            }
            let now = FerryFuzz.seconds()
            if blackboard.begun != begun { (begun, since) = (blackboard.begun, now) }
            // The worker also needs time to make its corpus.
            if now - since > (begun == 0 ? 60 : Self.secondsPerInput) {
                _ = child.stop()
                return ("over \(Int(Self.secondsPerInput)) s", false)
            }
            if let end, now > end {
                _ = child.stop()
                return (nil, true)
            }
            usleep(20_000)
        }
    }

    private func keep(_ input: [UInt8], _ reader: String, _ outcome: String, execution: Int) throws -> String {
        let path = "\(findings)/\(reader)-\(String(fnv(input), radix: 16))"
        try write(input, to: path)
        return "\(outcome) at execution \(execution): \(input.count) bytes, kept as \(path)"
    }
}
