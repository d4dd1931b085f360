internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import Foundation

/// Ferry's side of a budget for a whole command: the released program where the caller named one, else the same work by
/// the library within the sample's own process.
enum CommandJob {
    /// Migrates a copy of the store in its place; `copies` fills every table anew, also where rows could stay.
    static func inPlace(
        _ data: String, work: String, rows: Int, takesSnapshot: Bool = true, copies: Bool = true,
        verify: VerifyMode = .full, probe: Probe
    ) throws {
        let executor: ExecutorChoice = copies ? .set : .automatic
        // This process cannot count the program's statements and allocations.
        guard let tool = probe.tool, !probe.isCounting else {
            try MigratorJob.inPlace(
                data, work: work, rows: rows,
                Configuration {
                    $0.losses = .allow
                    $0.executor = executor
                    $0.verification = verify
                    $0.snapshots.form = takesSnapshot ? .archive : .none
                }, probe: probe)
            return
        }
        let store = try Subject.copyStore(data, work: work)
        var words = [
            "migrate", store, "--accept-loss", "--models", Subject.old(data), "--models", Subject.new(data), "--to",
            Subject.target,
        ]
        // The program takes the executor from the environment, which it inherits.
        setenv("FERRY_EXECUTOR", executor.rawValue, 1)
        words += ["--verify", verify.rawValue]
        words += ["--progress", "none", "--json"] + (takesSnapshot ? [] : ["--snapshot", "none"])
        if try FileLayer().exists(Subject.mapping(data)) { words += ["--mappings", Subject.mapping(data)] }
        let output = "\(work)/answer.json"
        try probe.measure(rows: rows) { try Tool.run(tool, words, output: output) }
        probe.notePeak(ofChildren: ProcessFigures.peakBytesOfChildren())
        try require(rows, in: Data(FileLayer().read(output)))
    }

    /// Verifies a migrated store against its source store.
    static func verify(_ migrated: String, from data: String, rows: Int, work: String, probe: Probe) throws {
        guard let tool = probe.tool, !probe.isCounting else {
            let verifier = try Subject.verifier(data, of: migrated)
            let summary = try probe.measure(rows: rows) {
                try verifier.verifyMigration(from: URL(fileURLWithPath: Subject.store(data)))
            }
            try require(rows, compared: summary.checked, summary.differences.isEmpty)
            return
        }
        var words = ["verify", migrated, "--source", Subject.store(data)]
        words += ["--models", Subject.old(data), "--models", Subject.new(data), "--progress", "none", "--json"]
        if try FileLayer().exists(Subject.mapping(data)) { words += ["--mappings", Subject.mapping(data)] }
        let output = "\(work)/answer.json"
        try probe.measure(rows: rows) { try Tool.run(tool, words, output: output) }
        probe.notePeak(ofChildren: ProcessFigures.peakBytesOfChildren())
        struct Answer: Decodable {
            var checked: Int64
        }
        let answer = try JSONDecoder().decode(Answer.self, from: Data(FileLayer().read(output)))
        // Differences have an exit code of their own, for which the tool throws an error.
        try require(rows, compared: answer.checked, true)
    }

    private static func require(_ rows: Int, compared: Int64, _ isEqual: Bool) throws {
        guard compared >= rows, isEqual else {
            throw FerryError(.internalError, "Verification compared \(compared) of \(rows) rows, or found differences.")
        }
    }

    /// Throws when the program carried another number of rows: a migration without work measured nothing.
    private static func require(_ rows: Int, in answer: Data) throws {
        struct Answer: Decodable {
            struct Mapping: Decodable { var read: Int }
            var outcome: String
            var entityMappings: [Mapping]
        }
        let answer = try JSONDecoder().decode(Answer.self, from: answer)
        let read = answer.entityMappings.map(\.read).max() ?? 0
        guard answer.outcome == "migrated", read >= rows else {
            throw FerryError(.internalError, "The program carried \(read) of \(rows) rows.")
        }
    }
}
