internal import BenchmarkHarness
internal import CFloor
internal import FerryBase

/// The set executor over books: rename, compute, drop, default.
struct CopyCase: BenchmarkCase {
    let name = "copy"
    let summary = "books renamed, computed, dropped and defaulted by the set executor, chunks of 10,000"
    let sides = [
        Side("ferry", "the engine, crash-safe, with its progress", isCounted: true),
        Side("chunks", "the same statement over the same chunks, each durable, without progress"),
        Side("statement", "one durable INSERT … SELECT"),
        Side("loop", "step, bind each column, step in C, one durable transaction"),
    ]
    let measures: [Measure] = [
        .speed(against: "chunks", budget: 0.9), .speed(against: "statement", budget: 0.7),
        .speed(against: "loop", gate: .never), .work(against: "chunks"), .work(against: "statement"),
        .written(against: "chunks"), .peak(), .statements(),
        .allocationsPerRow(),
    ]

    static let chunk = 10_000

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.books.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        if side == "ferry" { return try EngineJob.run(data, work: work, rows: point.rows, probe: probe) }
        let plan = try SQLFloor.Plan(data)
        let sql = try BookSQL.carry(plan)
        let loop = try BookSQL.loop(plan)
        try probe.measure(rows: point.rows) {
            let floor = try SQLFloor(plan, work: work)
            switch side {
            case "chunks": try floor.chunked(sql + BookSQL.range, table: "ZBOOK", rows: Self.chunk)
            case "statement": try floor.together([sql])
            default: try floor.carry(loop.read, loop.write, scaled: loop.price, by: 1.2)
            }
        }
        try SQLFloor.require(point.rows, in: "ZBOOK", work: work)
    }
}
