internal import BenchmarkHarness
internal import Ferry

/// Verification beside the rest of the migration that it belongs to.
struct VerifyCase: BenchmarkCase {
    let name = "verify"
    let summary = "the library store in its place, with snapshot: verification against everything before it"
    let sides = [
        Side("full", "rows and relationships recomputed and compared"),
        Side("quick", "everything but that"),
    ]
    let measures: [Measure] = [
        share(of: "full", budget: 0.4), share(of: "quick", budget: 0.15), .work(of: "full", against: "quick"),
        .peak(of: "full"), .peak(of: "quick"),
    ]

    func prepare(_ point: Point, in folder: String) throws {
        try Subject.booksAndUsers.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: Point, data: String, work: String, probe: Probe) throws {
        let report = try MigratorJob.inPlace(
            data, work: work, rows: point.rows, Configuration(verify: side == "full" ? .full : .quick), probe: probe)
        let seconds = Dictionary(report.phases.map { ($0.name, $0.seconds) }, uniquingKeysWith: +)
        let before = ["snapshot", "rows", "relationships", "indexes"].reduce(0) { $0 + (seconds[$1] ?? 0) }
        if before > 0, let verify = seconds["verify"] { probe.note("share", verify / before) }
    }

    private static func share(of side: String, budget: Double) -> Measure {
        Measure("time \(side)/rest", .ratio, better: .lower, budget: budget, gate: .atFullScale) { round in
            round.points.last.flatMap { round.sample(side, at: $0)?.notes["share"] }
        }
    }
}
