internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import Foundation

/// Verification beside the rest of its migration.
struct VerifyCase: BenchmarkCase {
    let name = "verify"
    let summary = "a store in its place, with snapshot: verification against everything before it"
    let sides = [
        Side("full", "the library store: rows and relationships recomputed and compared"),
        Side("quick", "the library store: all checks but these two"),
        Side("objects", "authors found or created, a file for each book and user: compared in full"),
        Side("command", "the library store, migrated before: `ferry verify --source`"),
    ]
    let measures: [Measure] = [
        share(of: "full", budget: 0.4), share(of: "quick", budget: 0.15), share(of: "objects", budget: 0.6),
        endurance, .work(of: "full", against: "quick"), .peak(of: "full"), .peak(of: "quick"), .peak(of: "objects"),
        .growth(of: "full"), .growth(of: "quick"), .growth(of: "objects"),
        .peak(of: "command"), .growth(of: "command"),
    ]

    private static let migrated = "Migrated.sqlite"

    func points(rows: Int) -> [BenchPoint] { BenchPoint.growing(to: rows) }

    func prepare(_ point: BenchPoint, in folder: String) throws {
        // The two folders lie side by side: `objects` below `library` would add its mapping models to those of
        // `library`.
        try Subject.booksAndUsers.write(rows: point.rows, to: "\(folder)/library")
        try Subject.authorsAndFiles.write(rows: point.rows, to: "\(folder)/objects")
        _ = try Subject.migrator("\(folder)/library").migrate(
            Configuration {
                $0.losses = .allow
                $0.target = Subject.target
                $0.output = URL(fileURLWithPath: "\(folder)/\(Self.migrated)")
                $0.executor = .set
                $0.verification = .none
            })
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        if side == "command" {
            try CommandJob.verify(
                "\(data)/\(Self.migrated)", from: "\(data)/library", rows: point.rows, work: work, probe: probe)
            return
        }
        let report = try MigratorJob.inPlace(
            side == "objects" ? "\(data)/objects" : "\(data)/library", work: work, rows: point.rows,
            Configuration {
                $0.losses = .allow
                $0.executor = .set
                $0.verification = side == "quick" ? .quick : .full
            }, probe: probe)
        let seconds = Dictionary(report.phases.map { ($0.phase, $0.time.inSeconds) }, uniquingKeysWith: +)
        let before = [.snapshot, .rows, .relationships, .indexes].reduce(0) { $0 + (seconds[$1] ?? 0) }
        guard let verify = seconds[.verify], verify > 0 else { return }
        if before > 0 { probe.note("share", verify / before) }
        probe.note("rows/s", Double(report.verification.checked) / verify)
    }

    private static func share(of side: String, budget: Double) -> Measure {
        Measure("time \(side)/rest", .ratio, better: .lower, budget: budget, gate: .atFullScale) { round in
            round.points.last.flatMap { round.sample(side, at: $0)?.notes["share"] }
        }
    }

    /// Rows per second at the last point divided by rows per second at the first.
    ///
    /// With few rows the first point would only show the cost of verification before its first row.
    private static let endurance = Measure(
        "speed of full, most/fewest rows", .ratio, better: .higher, budget: 0.85, gate: .atFullScale
    ) { round in
        guard let first = round.points.first, let last = round.points.last, first.rows >= 100_000,
            let few = round.sample("full", at: first)?.notes["rows/s"],
            let many = round.sample("full", at: last)?.notes["rows/s"], few > 0
        else { return nil }
        return many / few
    }
}
