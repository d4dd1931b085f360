internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// What `tune` measured, and what it recommends.
package struct TuneResult {
    let store: String
    let sample: Int64?
    let judge: Judge
    var runs: [Run] = []
    /// Why there are no runs.
    var note: String?

    package init(store: String, sample: Int64?, judge: Judge) {
        self.store = store
        self.sample = sample
        self.judge = judge
    }

    /// One chunk size.
    package struct Run: Decodable {
        package var chunkRows: Int
        package var rows: Int64
        package var rowsPerSecond: Double?
        package var peakResidentBytes: Int64?
        package var longestChunkSeconds: Double
        package var worstLostSeconds: Double

        package init(
            chunkRows: Int, rows: Int64, rowsPerSecond: Double?, peakResidentBytes: Int64?, longestChunkSeconds: Double,
            worstLostSeconds: Double
        ) {
            self.chunkRows = chunkRows
            self.rows = rows
            self.rowsPerSecond = rowsPerSecond
            self.peakResidentBytes = peakResidentBytes
            self.longestChunkSeconds = longestChunkSeconds
            self.worstLostSeconds = worstLostSeconds
        }

        init(chunkRows: Int, _ report: RehearsalReport) {
            self.init(
                chunkRows: chunkRows, rows: report.rows, rowsPerSecond: report.rowsPerSecond,
                peakResidentBytes: report.peakResidentBytes, longestChunkSeconds: report.longestChunk.inSeconds,
                worstLostSeconds: report.longestUnit.inSeconds)
        }

        /// Reads what a process of one size printed.
        init(from lines: [String]) throws {
            struct Printed: Decodable { var runs: [Run] }
            let printed = try JSONDecoder().decode(Printed.self, from: Data(lines.joined(separator: "\n").utf8))
            guard let run = printed.runs.first else {
                throw FerryError(.internalError, "A process of one chunk size measured nothing.")
            }
            self = run
        }
    }

    /// What a size must keep to.
    package struct Judge {
        var chunkSeconds: Double
        var memoryLimit: Int64
        /// How much slower than the quickest a smaller size may be.
        private static let tolerance = 0.95

        package init(chunkSeconds: Double, memoryLimit: Int64) {
            self.chunkSeconds = chunkSeconds
            self.memoryLimit = memoryLimit
        }

        func fits(_ run: Run) -> Bool {
            run.longestChunkSeconds <= chunkSeconds && run.peakResidentBytes ?? 0 <= memoryLimit
        }

        /// The rows of the size to take; nil when none fits.
        package func recommended(_ runs: [Run]) -> Int? {
            let fitting = runs.filter { fits($0) && $0.rowsPerSecond != nil }
            guard let quickest = fitting.compactMap(\.rowsPerSecond).max() else { return nil }
            return fitting.filter { $0.rowsPerSecond ?? 0 >= quickest * Self.tolerance }.map(\.chunkRows).min()
        }
    }

    struct Failure: Decodable { var message, remedy: String }

    /// The error in what a process printed.
    static func error(in lines: [String]) -> Failure? {
        struct Printed: Decodable { var error: Failure }
        do {
            return try JSONDecoder().decode(Printed.self, from: Data(lines.joined(separator: "\n").utf8)).error
        } catch {
            return nil
        }
    }

    // MARK: Showing

    var recommended: Int? { judge.recommended(runs) }

    var json: [(String, JSON)] {
        let runs = runs.map { run in
            JSON.object([
                "chunkRows": run.chunkRows, "rowsPerSecond": run.rowsPerSecond,
                "peakResidentBytes": run.peakResidentBytes, "longestChunkSeconds": run.longestChunkSeconds,
                "worstLostSeconds": run.worstLostSeconds, "rows": run.rows,
            ])
        }
        return JSON.members([
            "runs": runs, "recommended": recommended, "store": store, "sample": sample,
            "chunkSeconds": judge.chunkSeconds, "memoryLimit": judge.memoryLimit, "note": note,
        ])
    }

    func text(width: Int) -> [String] {
        if let note { return [note] }
        var table = TextTable(
            TuneResult.header, [.right, .right, .right, .right, .right, .right])
        for run in runs { table.add(TuneResult.cells(run)) }
        return table.lines(width: width) + ["", advice]
    }

    static let header = ["Chunk rows", "Rows", "Rows/s", "Peak memory", "Longest chunk", "Redone after a kill"]

    static func cells(_ run: Run) -> [String] {
        [
            Quantity.grouped(Int64(run.chunkRows)), Quantity.grouped(run.rows),
            run.rowsPerSecond.map { Quantity.grouped(Quantity.whole($0)) } ?? "?",
            run.peakResidentBytes.map { Quantity.sizeText($0) } ?? "?",
            Quantity.durationText(seconds: run.longestChunkSeconds),
            Quantity.durationText(seconds: run.worstLostSeconds),
        ]
    }

    var advice: String {
        let bounds = "\(Quantity.durationText(seconds: judge.chunkSeconds)) and \(Quantity.sizeText(judge.memoryLimit))"
        guard let recommended else {
            return "No size keeps within \(bounds); smaller chunks, or more time or memory, may."
        }
        return "Recommended: --chunk-size \(recommended), within \(bounds)."
    }
}

extension ReportPage {
    func addTuning(to page: inout Page) {
        guard report["error"].isNull else { return }
        let runs = report["runs"].elements
        let recommended = report["recommended"].whole
        let limits = [seconds(report["chunkSeconds"]), bytes(report["memoryLimit"])].compactMap { $0 }
            .joined(separator: " and ")
        if let note = report["note"].text {
            page.verdict(.caution, note)
        } else if let recommended {
            page.verdict(.good, "Recommended: --chunk-size \(recommended), within \(limits).")
        } else {
            page.verdict(.caution, "No size keeps within \(limits); smaller chunks, or more time or memory, may.")
        }
        guard !runs.isEmpty else { return }
        page.facts([
            (
                "Rows",
                report["sample"].whole.map { "the first \(Quantity.grouped($0)), carried once for each size" }
                    ?? "all, carried once for each size"
            )
        ])
        page.heading("Measured")
        var table = PageTable([
            .number("Chunk rows"), .number("Rows"), .number("Rows/s"), .number("Peak memory"), .number("Longest chunk"),
            .number("Redone after a kill"),
        ])
        for run in runs {
            table.add(
                [
                    count(run["chunkRows"]), count(run["rows"]),
                    run["rowsPerSecond"].number.map { Quantity.grouped(Quantity.whole($0)) } ?? "?",
                    bytes(run["peakResidentBytes"]) ?? "?", seconds(run["longestChunkSeconds"]) ?? "?",
                    seconds(run["worstLostSeconds"]) ?? "?",
                ], isBest: recommended != nil && run["chunkRows"].whole == recommended)
        }
        page.table(table)
        page.heading("Over the chunk sizes")
        page.charts([
            chart("Rows a second", up: "rows a second", runs.map { $0["rowsPerSecond"].number }) {
                Quantity.grouped(Quantity.whole($0))
            },
            chart(
                "Longest chunk", up: "time", runs.map { $0["longestChunkSeconds"].number },
                limit: report["chunkSeconds"].number.map { ($0, "limit \(Quantity.durationText(seconds: $0))") }
            ) { Quantity.durationText(seconds: $0) },
            chart(
                "Peak memory", up: "bytes", runs.map { $0["peakResidentBytes"].number },
                limit: report["memoryLimit"].whole.map { (Double($0), "limit \(Quantity.sizeText($0))") },
                steps: ChartScale.binary
            ) { Quantity.sizeText(Quantity.whole($0)) },
        ])
    }

    /// One measure over the sizes, which stand at even distances.
    private func chart(
        _ title: String, up: String, _ values: [Double?], limit: (value: Double, name: String)? = nil,
        steps: ChartScale.Steps = ChartScale.decimal, words: @escaping (Double) -> String
    ) -> Markup {
        let sizes = report["runs"].elements.map { count($0["chunkRows"]) }
        func place(_ index: Int) -> Double {
            sizes.count > 1 ? 0.06 + 0.88 * Double(index) / Double(sizes.count - 1) : 0.5
        }
        // Every size has its point, but only so many words stand beside each other.
        let every = (sizes.count + 6) / 7
        return LineChart(
            title: title, across: "rows in one chunk", up: up,
            points: values.enumerated().map { (place($0.offset), $0.element) },
            ticks: sizes.enumerated().filter { $0.offset % every == 0 }.map { (place($0.offset), $0.element) },
            limit: limit, showsDots: true, steps: steps, words: words
        ).markup
    }
}
