internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import Foundation

/// The commit that puts a finished store in the place of the old one, in both journals, beside a copy of the file.
struct SwapCase: BenchmarkCase {
    let name = "swap"
    let summary = "a finished store put in place of the old one; a mebibyte for every 500 rows asked for"
    let sides = [
        Side("log", "in one transaction through the -wal, written back"),
        Side("journal", "in one transaction under a rollback journal"),
        Side("copy", "the old store copied by the system to a new file, and synced"),
    ]
    let measures: [Measure] = [
        .time(of: "log", against: "copy"), .time(of: "journal", against: "copy"), .written(by: "log", against: "copy"),
        .written(by: "journal", against: "copy"), .peak(of: "log"), .peak(of: "journal"),
    ]

    func points(rows: Int) -> [BenchPoint] { [BenchPoint(rows: max(16, rows / 500))] }
    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.blobs.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        let store = try Subject.copyStore(data, work: work)
        if side == "copy" {
            let files = FileLayer()
            try probe.measure(rows: point.rows) {
                _ = try files.copy(store, to: "\(work)/Copy.sqlite")
                try files.syncFile("\(work)/Copy.sqlite")
            }
            return
        }
        let migrator = try Subject.migrator(data, store: store)
        var configuration = Configuration {
            $0.losses = .allow
            $0.target = Subject.target
            $0.executor = .set
            $0.verification = .none
            $0.snapshots.form = .none
            $0.holdsSwap = true
        }
        configuration.thresholds.largestLoggedSwap = side == "log" ? .max : 0
        do {
            _ = try migrator.migrate(configuration)
            throw FerryError(.internalError, "The migration did not hold its swap.")
        } catch let held as FerryError where held.code == .swapHeld {
            // The second call, below, runs the measured swap.
        }
        configuration.holdsSwap = false
        let report = try probe.measure(rows: point.rows) { [configuration] in try migrator.migrate(configuration) }
        guard report.outcome == .migrated else {
            throw FerryError(.internalError, "The swap was not made: \(report.outcome).")
        }
    }
}
