internal import Ferry
internal import FerryBase

/// What `tune` measured, and what it recommends.
package struct TuneResult {
    let store: String
    let sample: Int64?
    let judge: Judge
    /// One for each chunk size, as JSON has it.
    var runs: [JSON] = []
    /// Why there are no runs.
    var note: String?

    static func run(of chunkRows: Int, _ report: RehearsalReport) -> JSON {
        [
            "chunkRows": chunkRows, "rowsPerSecond": report.rowsPerSecond,
            "peakResidentBytes": report.peakResidentBytes, "longestChunkSeconds": report.longestChunk.inSeconds,
            "worstLostSeconds": report.longestUnit.inSeconds, "rows": report.rows,
        ]
    }

    /// What a size must keep to.
    package struct Judge {
        var chunkSeconds: Double
        var memoryLimit: Int64
        /// How much slower than the quickest a smaller size may be.
        private static let tolerance = 0.95

        package init(chunkSeconds: Double, memoryLimit: Int64) {
            (self.chunkSeconds, self.memoryLimit) = (chunkSeconds, memoryLimit)
        }

        /// The rows of the size to take; nil when none fits.
        package func recommended(_ runs: [JSON]) -> Int64? {
            let fitting = runs.filter { run in
                run["longestChunkSeconds"].number ?? 0 <= chunkSeconds
                    && run["peakResidentBytes"].whole ?? 0 <= memoryLimit
            }
            guard let quickest = fitting.compactMap({ $0["rowsPerSecond"].number }).max() else { return nil }
            return fitting.filter { $0["rowsPerSecond"].number ?? 0 >= quickest * Self.tolerance }
                .compactMap { $0["chunkRows"].whole }.min()
        }
    }

    var json: JSON {
        [
            "runs": runs, "recommended": judge.recommended(runs), "store": store, "sample": sample,
            "chunkSeconds": judge.chunkSeconds, "memoryLimit": judge.memoryLimit, "note": note,
        ]
    }

    func text(width: Int) -> [String] {
        if let note { return [note] }
        return TextTable(Self.columns, runs.map(Self.cells)).lines(width: width) + ["", Self.advice(json)]
    }

    // MARK: What text and page share

    static let columns = [
        "Chunk rows", "Rows", "Rows/s", "Peak memory", "Longest chunk", "Redone after a kill",
    ].map(TableColumn.number)

    static func cells(_ run: JSON) -> [String] {
        [
            run["chunkRows"].countText(), run["rows"].countText(),
            run["rowsPerSecond"].number.map { Quantity.whole($0).grouped } ?? "?",
            run["peakResidentBytes"].sizeText ?? "?", run["longestChunkSeconds"].durationText ?? "?",
            run["worstLostSeconds"].durationText ?? "?",
        ]
    }

    static func advice(_ report: JSON) -> String {
        let bounds = [report["chunkSeconds"].durationText, report["memoryLimit"].sizeText].compactMap { $0 }
            .joined(separator: " and ")
        guard let recommended = report["recommended"].whole else {
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
        page.verdict(recommended == nil ? .caution : .good, report["note"].text ?? TuneResult.advice(report))
        guard !runs.isEmpty else { return }
        page.facts([
            (
                "Rows",
                report["sample"].whole.map { "the first \($0.grouped), carried once for each size" }
                    ?? "all, carried once for each size"
            )
        ])
        page.heading("Measured")
        page.table(
            TuneResult.columns, runs.map { TuneResult.cells($0).map(Markup.name) },
            best: recommended.flatMap { best in runs.firstIndex { $0["chunkRows"].whole == best } })
        page.heading("Over the chunk sizes")
        page.charts([
            chart("Rows a second", up: "rows a second", "rowsPerSecond", in: .rows),
            chart("Longest chunk", up: "time", "longestChunkSeconds", in: .seconds, limit: report["chunkSeconds"]),
            chart("Peak memory", up: "bytes", "peakResidentBytes", in: .bytes, limit: report["memoryLimit"]),
        ])
    }

    /// One measure over the sizes, which stand at even distances.
    private func chart(
        _ title: String, up: String, _ key: String, in unit: LineChart.Unit, limit: JSON = .null
    ) -> Markup {
        let values = report["runs"].elements.map { $0[key].number }
        let sizes = report["runs"].elements.map { $0["chunkRows"].countText() }
        func place(_ index: Int) -> Double {
            sizes.count > 1 ? 0.06 + 0.88 * Double(index) / Double(sizes.count - 1) : 0.5
        }
        // Every size has its point, but only so many words stand beside each other.
        let every = (sizes.count + 6) / 7
        return LineChart(
            title: title, across: "rows in one chunk", up: up, unit: unit,
            points: values.enumerated().map { (place($0.offset), $0.element) },
            ticks: sizes.enumerated().filter { $0.offset % every == 0 }.map { (place($0.offset), $0.element) },
            limit: limit.number, showsDots: true
        ).markup
    }
}
