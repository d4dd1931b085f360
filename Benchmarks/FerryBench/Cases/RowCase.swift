internal import BenchmarkHarness
internal import FerryBase
internal import FerryEngine
internal import FerryPlan

/// A migration policy that edits each object, over the books of ``CopyCase``.
struct RowCase: BenchmarkCase {
    let name = "row"
    let summary = "the books of copy through Swift by a policy, chunks of 10,000"
    let sides = [
        Side("policy", "a policy that makes each object by the default and sets one value", isCounted: true),
        Side("loop", "step, bind each column, step in C, one durable transaction"),
    ]
    let measures: [Measure] = [
        .speed(of: "policy", against: "loop", budget: 0.8), .work(of: "policy", against: "loop"),
        .peak(of: "policy", budget: 48 * 1024 * 1024), .allocationsPerRow(of: "policy"),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.books.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        switch side {
        case "policy":
            try EngineJob.run(data, work: work, rows: point.rows, policy: { TitlePolicy() }, probe: probe)
        default:
            let plan = try SQLFloor.Plan(data)
            let loop = try BookSQL.loop(plan)
            try probe.measure(rows: point.rows) {
                try SQLFloor(plan, work: work).carry(loop.read, loop.write, scaled: loop.price, by: 1.2)
            }
            try SQLFloor.require(point.rows, in: "ZBOOK", work: work)
        }
    }
}
