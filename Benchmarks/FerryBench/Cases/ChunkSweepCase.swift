internal import BenchmarkHarness

/// The cost and the gain of a chunk's size.
struct ChunkSweepCase: BenchmarkCase {
    let name = "chunks"
    let summary = "the books of `copy` in chunks of 100 to 100,000 rows"
    let sides = [
        Side("ferry", "the engine, crash-safe, with its progress"),
        Side("chunks", "the same statement over the same chunks, each durable, without progress"),
    ]
    let measures: [Measure] = sizes.map(speed)
    let charts = [
        Chart(
            "chunks", "Rows per second by chunk size", horizontal: .parameter, label: "rows in a chunk",
            vertical: .rowsPerSecond)
    ]

    private static let sizes = [100, 1_000, 10_000, 100_000]

    func points(rows: Int) -> [BenchPoint] {
        Self.sizes.map { size in
            // A thousand commits show the cost of a commit; ten thousand take minutes and show no more.
            BenchPoint("\(Figure.grouped(size)) a chunk", rows: min(rows, size * 1_000), parameter: size)
        }
    }

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.books.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        if side == "ferry" {
            return try EngineJob.run(data, work: work, rows: point.rows, chunk: point.parameter, probe: probe)
        }
        let plan = try SQLFloor.Plan(data)
        let sql = try BookSQL.carry(plan) + BookSQL.range
        try probe.measure(rows: point.rows) {
            try SQLFloor(plan, work: work).chunked(sql, table: "ZBOOK", rows: point.parameter)
        }
        try SQLFloor.require(point.rows, in: "ZBOOK", work: work)
    }

    private static func speed(atChunksOf size: Int) -> Measure {
        // The design's budget is for chunks of 10,000 rows; smaller chunks show the cost of a commit.
        let isBudgeted = size == 10_000
        return Measure(
            "speed ferry/chunks, \(Figure.grouped(size)) a chunk", .ratio, better: .higher,
            budget: isBudgeted ? 0.9 : nil, gate: isBudgeted ? .atFullScale : .never
        ) { round in
            guard let point = round.points.first(where: { $0.parameter == size }),
                let own = round.sample("ferry", at: point), let floor = round.sample("chunks", at: point),
                own.seconds > 0
            else { return nil }
            return floor.seconds / own.seconds
        }
    }
}
