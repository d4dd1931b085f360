internal import BenchmarkHarness

/// The set executor over values that only Ferry's own SQL functions compute.
struct TransformCase: BenchmarkCase {
    let name = "transform"
    let summary = "books with a division, an integer product, a length and an upper case, chunks of 10,000"
    let sides = [
        Side("ferry", "the engine; each of the four values by a function of its own", isCounted: true),
        Side("statement", "one durable INSERT … SELECT with SQLite's own operators and functions"),
    ]
    let measures: [Measure] = [
        .speed(against: "statement", budget: 0.7), .work(against: "statement"), .peak(), .statements(),
        .allocationsPerRow(),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.computedBooks.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        if side == "ferry" { return try EngineJob.run(data, work: work, rows: point.rows, probe: probe) }
        let plan = try SQLFloor.Plan(data)
        let sql = try BookSQL.compute(plan)
        try probe.measure(rows: point.rows) { try SQLFloor(plan, work: work).together([sql]) }
        try SQLFloor.require(point.rows, in: "ZBOOK", work: work)
    }
}
