internal import FerryBase

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
