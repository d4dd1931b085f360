internal import BenchmarkHarness
internal import FerryBase
internal import Foundation

/// Makes a shape's store, plans its migration, and measures it in several rounds.
struct ShapeRun {
    let shape: Shape
    let scale: Double
    let rounds: Int
    let folder: String
    /// The released program; nil: this program, which has the library.
    let tool: String?
    private let files = FileLayer()

    init(_ shape: Shape, scale: Double, rounds: Int, folder: String, tool: String?) {
        self.shape = shape
        self.scale = scale
        self.rounds = rounds
        self.folder = folder
        self.tool = tool
    }

    func run() throws -> ShapeResult {
        let work = "\(folder)/\(shape.name)"
        let made = "\(work).made"
        for path in [work, made] { try files.removeTree(path) }
        try files.createDirectory(work)
        // A failure leaves only temporary data behind; the first error is the one to report.
        defer { for path in [work, made] { try? files.removeTree(path) } }
        let own = try ProgramPath.own()
        try Tool.run(own, ShapeChild.make(shape, scale: scale, in: work))
        let input = try decode(Shape.Input.self, ShapeChild.input(work))
        let store = "\(work)/Store.sqlite"
        let result = ShapeResult(
            name: shape.name, mode: "", objects: input.objects, storeBytes: try bytes(of: store),
            memoryLimit: shape.memoryLimit)
        // A migration replaces the store that the next round begins with.
        if rounds > 1 { try Tool.run("/bin/cp", ["-Rp", work, made]) }

        let words = [store] + input.words + ["--config", "none", "--json"]
        var results: [ShapeResult] = []
        for round in 1...rounds {
            if round > 1 {
                try files.removeTree(work)
                try Tool.run("/bin/cp", ["-Rp", made, work])
            }
            results.append(try measure(words, in: work, result))
        }
        return .summary(of: results)
    }

    /// Plans and migrates the store once.
    private func measure(_ words: [String], in work: String, _ known: ShapeResult) throws -> ShapeResult {
        var result = known
        let planned = try measure(["plan"] + words, work)
        if planned.run.code != 0 { return refused(result, planned) }
        let plan = try decode(Plan.self, planned.output)
        let modes = plan.steps.map { $0.mode == "inPlace" ? "in place" : $0.mode }
        result.mode = modes.reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }.joined(separator: ", ")
        result.said.diskBytes = plan.peakDiskBytes.map { $0.values.reduce(0, +) }
        result.said.seconds = plan.estimatedSeconds

        let migrated = try measure(["migrate", "--accept-loss"] + words + ["--progress", "json"], work)
        if migrated.run.code != 0 { return refused(result, migrated) }
        let report = try decode(Report.self, migrated.output)
        let verification = report.phases.filter { $0.name == "verify" }.map(\.seconds).reduce(0, +)
        result.seconds = migrated.run.seconds
        result.peakBytes = migrated.run.peakBytes
        result.readBytes = migrated.run.readBytes
        result.writtenBytes = migrated.run.writtenBytes
        result.verificationSeconds = verification
        result.otherSeconds = report.phases.map(\.seconds).reduce(0, +) - verification
        result.came.seconds = migrated.run.seconds
        result.came.diskBytes = Double(migrated.run.folderBytes)
        result.timeAfterTenth = migrated.log.timeAfterTenth(of: migrated.run.seconds)
        return result
    }

    // MARK: The program

    private struct Command {
        var run: MeasuredRun
        var log: ProgressLog
        /// The file of standard output.
        var output: String
    }

    private func measure(_ words: [String], _ work: String) throws -> Command {
        let own = try ProgramPath.own()
        let program = shape.hasPolicy ? [own] + ShapeChild.tool : tool.map { [$0] } ?? ([own] + ShapeChild.tool)
        let (output, errors, usage) = ("\(work)/answer.json", "\(work)/errors.txt", "\(work)/usage.json")
        let request = ShapeChild.measure(program + words, output: output, errors: errors, folder: work)
        try Tool.run(own, request, output: usage)
        let log = ProgressLog(String(decoding: try files.read(errors, limit: 256 << 20), as: UTF8.self))
        return Command(run: try decode(MeasuredRun.self, usage), log: log, output: output)
    }

    private func refused(_ result: ShapeResult, _ command: Command) -> ShapeResult {
        var result = result
        guard let code = command.run.code else {
            result.failure = "ended by a signal after \(Figure.time(command.run.seconds))"
            return result
        }
        let answer = try? decode(Failure.self, command.output)
        let message =
            answer?.error?.message ?? answer?.refusals?.first?.message ?? command.log.messages.first ?? "no message"
        result.peakBytes = command.run.peakBytes
        // The table is published; where the data lay on this machine is not.
        let said = message.replacingOccurrences(of: "\(folder)/\(shape.name)/", with: "")
        if shape.isRefused, code == 2 {
            (result.mode, result.refusal) = ("refused", said)
        } else {
            result.failure = "ended with \(code): \(said)"
        }
        return result
    }

    private func bytes(of store: String) throws -> Int64 {
        var bytes: Int64 = 0
        for path in [store, store + "-wal"] { bytes += try files.attributesIfPresent(path)?.size ?? 0 }
        let support = "\(FileLayer.parent(of: store))/.Store_SUPPORT/_EXTERNAL_DATA"
        guard try files.exists(support) else { return bytes }
        try files.forEachEntry(in: support) { bytes += try files.attributes("\(support)/\($0.name)").size }
        return bytes
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ path: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(files.read(path, limit: 256 << 20)))
    }

    // MARK: Answers

    private struct Plan: Decodable {
        struct Step: Decodable { var mode: String }
        var steps: [Step]
        var peakDiskBytes: [String: Double]?
        var estimatedSeconds: Double?
    }

    private struct Report: Decodable {
        struct Phase: Decodable {
            var name: String
            var seconds: Double
        }
        var phases: [Phase]
    }

    private struct Failure: Decodable {
        struct Problem: Decodable { var message: String }
        var error: Problem?
        var refusals: [Problem]?
    }
}
