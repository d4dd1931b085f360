internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import Foundation

/// Ferry's side of a budget for the executor: the engine alone, to the finished destination.
enum EngineJob {
    static func run(
        _ data: String, work: String, rows: Int, chunk: Int = 10_000,
        policy: PolicyFactory? = nil, probe: Probe
    ) throws {
        let run = try Subject.stepRun(
            data, work: work, chunkSize: .rows(chunk), policy: policy, trace: probe.trace)
        let report = try probe.measure(rows: rows) {
            let report = try run.run()
            try run.finish()
            return report
        }
        probe.note("chunks", Double(report.chunks))
        if let median = report.chunkTimes.percentile(0.5) { probe.note("median chunk, s", Double(median) / 1e9) }
        if let slow = report.chunkTimes.percentile(0.9) { probe.note("90th chunk, s", Double(slow) / 1e9) }
    }
}

/// Ferry's side of a budget for a migration: the library as a program uses it.
enum MigratorJob {
    /// Migrates to a new file, without snapshot and verification, as a floor in plain SQL does.
    static func output(_ data: String, work: String, rows: Int, probe: Probe) throws {
        let migrator = try Subject.migrator(data)
        let output = URL(fileURLWithPath: "\(work)/New.sqlite")
        let report = try probe.measure(rows: rows) {
            try migrator.migrate(
                Configuration {
                    $0.losses = .allow
                    $0.target = Subject.target
                    $0.output = output
                    $0.executor = .set
                    $0.verification = .none
                    $0.trace = probe.trace
                })
        }
        try note(report, rows: rows, probe)
    }

    /// Migrates a copy of the store in its place, with everything that is on by default.
    ///
    /// - Parameters:
    ///   - data: The folder with models, mapping file and store.
    ///   - work: The folder for the copy.
    ///   - rows: The number of rows that the migration must have read.
    ///   - configuration: The configuration of the migration.
    ///   - probe: Measures the migration.
    /// - Returns: The report.
    /// - Throws: ``FerryError``.
    @discardableResult
    static func inPlace(
        _ data: String, work: String, rows: Int, _ configuration: Configuration = Configuration { $0.losses = .allow },
        probe: Probe
    ) throws -> MigrationReport {
        let store = try Subject.copyStore(data, work: work)
        let migrator = try Subject.migrator(data, store: store)
        var configuration = configuration
        configuration.target = Subject.target
        configuration.trace = probe.trace
        let report = try probe.measure(rows: rows) { [configuration] in try migrator.migrate(configuration) }
        try note(report, rows: rows, probe)
        return report
    }

    /// Notes the report's figures; throws when the migration read fewer rows, because it then measured nothing.
    private static func note(_ report: MigrationReport, rows: Int, _ probe: Probe) throws {
        let read = report.entityMappings.map(\.read).max() ?? 0
        guard report.outcome == .migrated, read >= Int64(rows) else {
            throw FerryError(.internalError, "The migration carried \(read) of \(rows) rows.")
        }
        for phase in report.phases { probe.note("\(phase.phase.rawValue), s", phase.time.inSeconds) }
        probe.note("chunks", Double(report.chunks.count))
    }
}
