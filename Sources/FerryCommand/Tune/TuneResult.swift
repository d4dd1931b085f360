internal import Ferry
internal import FerryBase

/// The measurements of `tune` and its recommendation.
struct TuneResult: CommandReport {
    static let title = "Chunk sizes"

    /// The measurements of one chunk size, under the names that they have in the JSON.
    struct Run: Codable, JSONConvertible, Sendable {
        var chunkRows: Int64
        var rowsPerSecond: Double?
        var peakResidentBytes: Int64?
        var longestChunkSeconds: Double
        /// The longest time between two commits, which a kill loses.
        var worstLostSeconds = 0.0
        var rows: Int64 = 0

        var json: JSON {
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
    /// The reason for having no runs, or not all.
    var note: String?

    /// The recommended rows in one chunk; nil if no size fits.
    var recommended: Int64? {
        let fitting = runs.filter { $0.longestChunkSeconds <= chunkSeconds && $0.peakResidentBytes ?? 0 <= memoryLimit }
        guard let quickest = fitting.compactMap(\.rowsPerSecond).max() else { return nil }
        return fitting.filter { $0.rowsPerSecond ?? 0 >= quickest * Self.tolerance }.map(\.chunkRows).min()
    }

    var json: JSON {
        [
            "runs": runs, "recommended": recommended, "store": store, "sample": sample,
            "chunkSeconds": chunkSeconds, "memoryLimit": memoryLimit, "note": note,
        ]
    }

    var report: Report {
        let rows = sample.map { "the first \($0.grouped) of each entity in each step" } ?? "all"
        let parts: [Report.Part] = [
            .space,
            .table(
                Self.columns, runs.map(\.cells),
                best: recommended.flatMap { best in runs.firstIndex { $0.chunkRows == best } }),
            .space, .facts(margin: 7, [("Store", store), ("Rows", rows)]),
        ]
        return Report(
            Self.title, recommended == nil ? .caution : .good,
            [runs.isEmpty && note != nil ? nil : advice, note].compactMap { $0 }.joined(separator: " "),
            runs.isEmpty ? [] : parts)
    }

    private static let columns = [
        "Chunk rows", "Rows", "Rows/s", "Peak memory", "Longest chunk", "Lost by a kill",
    ].map(TableColumn.number)

    private var advice: String {
        let bounds = "\(Quantity.durationText(seconds: chunkSeconds)) and \(Quantity.sizeText(memoryLimit))"
        guard let recommended else {
            return "No size stays within \(bounds). Try smaller chunks, or allow more time or memory."
        }
        return "Recommended: --chunk-size \(recommended), within \(bounds)."
    }
}

extension TuneResult.Run {
    init(of chunkRows: Int, _ report: RehearsalReport) {
        self.init(
            chunkRows: Int64(chunkRows), rowsPerSecond: report.rowsPerSecond,
            peakResidentBytes: report.peakResidentBytes, longestChunkSeconds: report.longestChunk.inSeconds,
            worstLostSeconds: report.longestUnit.inSeconds, rows: report.rows)
    }

    /// The run of the middle speed, with the middle of the longest chunks and the highest peak.
    init(medianOf runs: [TuneResult.Run]) {
        func middle(_ value: (TuneResult.Run) -> Double) -> Double { runs.map(value).sorted()[runs.count / 2] }
        self = runs.sorted { $0.rowsPerSecond ?? 0 < $1.rowsPerSecond ?? 0 }[runs.count / 2]
        longestChunkSeconds = middle(\.longestChunkSeconds)
        worstLostSeconds = middle(\.worstLostSeconds)
        peakResidentBytes = runs.compactMap(\.peakResidentBytes).max()
    }
}
