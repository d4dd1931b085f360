internal import BenchmarkHarness

/// Peak memory and throughput as the store grows, with everything on.
struct MemoryCase: BenchmarkCase {
    let name = "memory"
    let summary = "peak memory and throughput as rows grow: snapshot, migration, full verification"
    let sides = [
        Side("plain", "books carried, nothing to look up"),
        Side("tenth", "an author for every ten books, found or created"),
        Side("distinct", "an author for every book: all keys distinct"),
    ]
    let measures: [Measure] = [
        .peak(of: "plain"), .peak(of: "tenth"), .peak(of: "distinct"), .growth(of: "plain"),
        .growth(of: "tenth"), .growth(of: "distinct"), endurance(of: "plain", budget: 0.95),
        endurance(of: "tenth", budget: 0.85), endurance(of: "distinct", budget: 0.85),
    ]
    let charts = [
        Chart("memory", "Peak memory", horizontal: .rows, label: "books", vertical: .peakBytes),
        Chart("throughput", "Rows per second", horizontal: .rows, label: "books", vertical: .rowsPerSecond),
    ]

    let defaultRows = 1_000_000

    func points(rows: Int) -> [BenchPoint] { BenchPoint.growing(to: rows) }

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.books.write(rows: point.rows, to: "\(folder)/plain")
        for (side, share) in [("tenth", 10), ("distinct", 1)] {
            try Subject.authors(booksPerAuthor: share).write(rows: point.rows, to: "\(folder)/\(side)")
        }
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        try CommandJob.inPlace("\(data)/\(side)", work: work, rows: point.rows, probe: probe)
    }

    /// Throughput at the last point divided by throughput at the first.
    ///
    /// With few rows the first point would only show the cost of a migration before its first row.
    private static func endurance(of side: String, budget: Double) -> Measure {
        Measure("speed of \(side), most/fewest rows", .ratio, better: .higher, budget: budget, gate: .atFullScale) {
            round in
            guard let first = round.points.first, let last = round.points.last, first.rows >= 100_000,
                let small = round.sample(side, at: first), let large = round.sample(side, at: last),
                small.rowsPerSecond > 0
            else { return nil }
            return large.rowsPerSecond / small.rowsPerSecond
        }
    }
}
