internal import BenchmarkHarness
internal import Ferry

/// The plan of a large store, which must not read it.
struct PlanCase: BenchmarkCase {
    let name = "plan"
    let summary = "the plan for the library store"
    let sides = [Side("ferry", "models and mapping file read, version found, rows estimated", isCounted: true)]
    let measures: [Measure] = [
        Measure("time of the plan", .seconds, better: .lower, budget: 2, gate: .atFullScale) { round in
            round.points.last.flatMap { round.sample("ferry", at: $0)?.seconds }
        },
        .peak(), .statements(),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.booksAndUsers.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        _ = try probe.measure(rows: point.rows) {
            try Subject.migrator(data).plan(Configuration { $0.trace = probe.trace })
        }
    }
}
