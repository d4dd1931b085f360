internal import Ferry
internal import FerryBase

/// The measurements of `tune` and its recommendation.
package struct TuneResult: CommandReport {
    static let title = "Chunk sizes"

    /// The measurements of one chunk size, under the names that they have in the JSON.
    package struct Run: Codable, JSONConvertible, Sendable {
        var chunkRows: Int64
        var rowsPerSecond: Double?
        var peakResidentBytes: Int64?
        var longestChunkSeconds: Double
        /// The longest time between two commits, which a kill loses.
        var worstLostSeconds: Double
        var rows: Int64

        package init(
            chunkRows: Int64, rowsPerSecond: Double?, peakResidentBytes: Int64?, longestChunkSeconds: Double,
            worstLostSeconds: Double = 0, rows: Int64 = 0
        ) {
            (self.chunkRows, self.rowsPerSecond, self.rows) = (chunkRows, rowsPerSecond, rows)
            (self.peakResidentBytes, self.longestChunkSeconds) = (peakResidentBytes, longestChunkSeconds)
            self.worstLostSeconds = worstLostSeconds
        }

        init(of chunkRows: Int, _ report: RehearsalReport) {
            self.init(
                chunkRows: Int64(chunkRows), rowsPerSecond: report.rowsPerSecond,
                peakResidentBytes: report.peakResidentBytes, longestChunkSeconds: report.longestChunk.inSeconds,
                worstLostSeconds: report.longestUnit.inSeconds, rows: report.rows)
        }

        package var json: JSON {
            [
                "chunkRows": chunkRows, "rowsPerSecond": rowsPerSecond, "peakResidentBytes": peakResidentBytes,
                "longestChunkSeconds": longestChunkSeconds, "worstLostSeconds": worstLostSeconds, "rows": rows,
            ]
        }

        fileprivate var cells: [String] {
            [
                chunkRows.grouped, rows.grouped, rowsPerSecond.map { Quantity.whole($0).grouped } ?? "?",
                peakResidentBytes.map { Quantity.sizeText($0) } ?? "?",
                Quantity.durationText(seconds: longestChunkSeconds), Quantity.durationText(seconds: worstLostSeconds),
            ]
        }
    }

    /// The least part of the highest speed that a smaller size must reach.
    private static let tolerance = 0.95

    let store: String
    let sample: Int64?
    /// The limits for a chunk size.
    let chunkSeconds: Double
    let memoryLimit: Int64
    var runs: [Run] = []
    /// The reason for having no runs.
    var note: String?

    package init(
        store: String, sample: Int64?, chunkSeconds: Double, memoryLimit: Int64, runs: [Run] = [], note: String? = nil
    ) {
        (self.store, self.sample, self.runs, self.note) = (store, sample, runs, note)
        (self.chunkSeconds, self.memoryLimit) = (chunkSeconds, memoryLimit)
    }

    /// The recommended rows in one chunk; nil if no size fits.
    package var recommended: Int64? {
        let fitting = runs.filter { $0.longestChunkSeconds <= chunkSeconds && $0.peakResidentBytes ?? 0 <= memoryLimit }
        guard let quickest = fitting.compactMap(\.rowsPerSecond).max() else { return nil }
        return fitting.filter { $0.rowsPerSecond ?? 0 >= quickest * Self.tolerance }.map(\.chunkRows).min()
    }

    package var json: JSON {
        [
            "runs": runs, "recommended": recommended, "store": store, "sample": sample,
            "chunkSeconds": chunkSeconds, "memoryLimit": memoryLimit, "note": note,
        ]
    }

    package func text(width: Int) -> [String] {
        if let note { return [note] }
        return TextTable(Self.columns, runs.map(\.cells)).lines(width: width) + ["", advice]
    }

    private static let columns = [
        "Chunk rows", "Rows", "Rows/s", "Peak memory", "Longest chunk", "Repeated after a kill",
    ].map(TableColumn.number)

    private var advice: String {
        let bounds = "\(Quantity.durationText(seconds: chunkSeconds)) and \(Quantity.sizeText(memoryLimit))"
        guard let recommended else {
            return "No size stays within \(bounds). Try smaller chunks, or allow more time or memory."
        }
        return "Recommended: --chunk-size \(recommended), within \(bounds)."
    }
}

// MARK: The page

extension TuneResult {
    package var page: Page {
        var page = Page(Self.title, subject: store)
        page.verdict(recommended == nil ? .caution : .good, note ?? advice)
        guard !runs.isEmpty else { return page }
        page.facts([
            (
                "Rows",
                sample.map { "the first \($0.grouped), copied once for each size" } ?? "all, copied once for each size"
            )
        ])
        page.heading("Measured")
        page.table(
            Self.columns, runs.map { $0.cells.map(Markup.name) },
            best: recommended.flatMap { best in runs.firstIndex { $0.chunkRows == best } })
        page.heading("Over the chunk sizes")
        page.charts([
            chart("Rows per second", up: "rows per second", runs.map(\.rowsPerSecond), in: .rows),
            chart("Longest chunk", up: "time", runs.map(\.longestChunkSeconds), in: .seconds, limit: chunkSeconds),
            chart(
                "Peak memory", up: "bytes", runs.map { $0.peakResidentBytes.map { Double($0) } }, in: .bytes,
                limit: Double(memoryLimit)),
        ])
        return page
    }

    /// A chart of one measure over the sizes, at even distances.
    private func chart(
        _ title: String, up: String, _ values: [Double?], in unit: LineChart.Unit, limit: Double? = nil
    ) -> Markup {
        let sizes = runs.map(\.chunkRows.grouped)
        func place(_ index: Int) -> Double {
            sizes.count > 1 ? 0.06 + 0.88 * Double(index) / Double(sizes.count - 1) : 0.5
        }
        // Every size has its point, but only seven labels have room.
        let every = (sizes.count + 6) / 7
        return LineChart(
            title: title, across: "rows per chunk", up: up, unit: unit,
            points: values.enumerated().map { (place($0.offset), $0.element) },
            ticks: sizes.enumerated().filter { $0.offset % every == 0 }.map { (place($0.offset), $0.element) },
            limit: limit, showsDots: true
        ).markup
    }
}
