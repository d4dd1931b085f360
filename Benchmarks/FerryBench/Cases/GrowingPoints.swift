internal import BenchmarkHarness

extension BenchPoint {
    /// Returns 100,000 rows and each higher power of ten up to the wanted rows; for fewer rows, a tenth and all of
    /// them.
    static func growing(to rows: Int) -> [BenchPoint] {
        guard rows > 100_000 else { return [max(1, rows / 10), rows].map(Self.named) }
        var sizes: [Int] = []
        var size = 100_000
        while size < rows {
            sizes.append(size)
            size *= 10
        }
        return (sizes + [rows]).map(Self.named)
    }

    private static func named(_ rows: Int) -> BenchPoint { BenchPoint("\(Figure.grouped(rows)) rows", rows: rows) }
}
