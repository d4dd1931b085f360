/// What `tune` measured as one page that needs nothing else: a table and a chart for each measure.
package struct TunePage {
    package let result: TuneResult

    package init(result: TuneResult) { self.result = result }

    package var text: String {
        let recommended = result.recommended
        let rows = result.runs.map { run in
            let cells = TuneResult.cells(run).map { "<td>\(Self.escaped($0))</td>" }.joined()
            return run.chunkRows == recommended ? "<tr class=\"best\">\(cells)</tr>" : "<tr>\(cells)</tr>"
        }
        let header = TuneResult.header.map { "<th>\($0)</th>" }.joined()
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>Chunk sizes for \(Self.escaped(result.store))</title>
            <style>
            body { font: 14px sans-serif; margin: 2em; color: #222; }
            table { border-collapse: collapse; margin: 1em 0; }
            th, td { padding: 4px 12px; text-align: right; border-bottom: 1px solid #ddd; }
            .best { background: #e6f4ec; font-weight: bold; }
            svg { margin: 0 2em 2em 0; }
            </style></head><body>
            <h1>Chunk sizes for \(Self.escaped(result.store))</h1>
            <p>\(Self.escaped(result.sample.map { "The first \(Quantity.grouped($0)) rows" } ?? "All rows")), \
            carried once for each size. \(Self.escaped(result.advice))</p>
            <table><tr>\(header)</tr>
            \(rows.joined(separator: "\n"))
            </table>
            \(charts.map(\.svg).joined(separator: "\n"))
            </body></html>

            """
    }

    private var charts: [SweepChart] {
        let speed = result.runs.compactMap { run in run.rowsPerSecond.map { (Double(run.chunkRows), $0) } }
        let peak = result.runs.compactMap { run in
            run.peakResidentBytes.map { (Double(run.chunkRows), Double($0)) }
        }
        let longest = result.runs.map { (Double($0.chunkRows), $0.longestChunkSeconds) }
        return [
            SweepChart(title: "Rows a second", dots: speed) { Quantity.grouped(Quantity.whole($0)) },
            SweepChart(title: "Longest chunk", dots: longest, limit: result.judge.chunkSeconds) {
                Quantity.durationText(seconds: $0)
            },
            SweepChart(title: "Peak memory", dots: peak, limit: Double(result.judge.memoryLimit)) {
                Quantity.sizeText(Quantity.whole($0))
            },
        ]
    }

    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
    }
}

/// One measure over the chunk sizes: a line over evenly spaced sizes, from zero up, with the limit where there is one.
struct SweepChart {
    var title: String
    /// Chunk size and measure.
    var dots: [(x: Double, y: Double)]
    var limit: Double?
    var words: (Double) -> String

    private static let (width, height, left, bottom, top) = (420.0, 260.0, 90.0, 220.0, 40.0)

    var svg: String {
        let highest = max((dots.map(\.y) + [limit ?? 0]).max() ?? 0, .leastNormalMagnitude)
        func across(_ index: Int) -> Double {
            Self.left + 20 + (Self.width - Self.left - 50) * Double(index) / Double(max(1, dots.count - 1))
        }
        func up(_ y: Double) -> Double { Self.bottom - (Self.bottom - Self.top) * y / highest }
        var parts = [label(title, Self.left, 22, "start", size: 15)]
        for step in 0...4 {
            let y = highest * Double(step) / 4
            parts.append(line(up(y), "#dddddd"))
            parts.append(label(words(y), Self.left - 8, up(y) + 4, "end"))
        }
        if let limit { parts.append(line(up(limit), "#d55e00")) }
        let places = dots.enumerated().map { (across($0.offset), up($0.element.y)) }
        let path = places.map { "\(short($0.0)),\(short($0.1))" }.joined(separator: " ")
        parts.append("<polyline points=\"\(path)\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\"/>")
        for (index, place) in places.enumerated() {
            parts.append("<circle cx=\"\(short(place.0))\" cy=\"\(short(place.1))\" r=\"3\" fill=\"#0072b2\"/>")
            parts.append(label(Quantity.grouped(Quantity.whole(dots[index].x)), place.0, Self.bottom + 20, "middle"))
        }
        return "<svg width=\"\(short(Self.width))\" height=\"\(short(Self.height))\" font-family=\"sans-serif\" "
            + "font-size=\"12\">\(parts.joined())</svg>"
    }

    private func line(_ y: Double, _ color: String) -> String {
        "<line x1=\"\(short(Self.left))\" x2=\"\(short(Self.width - 20))\" y1=\"\(short(y))\" y2=\"\(short(y))\" "
            + "stroke=\"\(color)\"/>"
    }

    private func label(_ text: String, _ x: Double, _ y: Double, _ anchor: String, size: Int = 12) -> String {
        "<text x=\"\(short(x))\" y=\"\(short(y))\" text-anchor=\"\(anchor)\" font-size=\"\(size)\">"
            + "\(TunePage.escaped(text))</text>"
    }

    private func short(_ number: Double) -> String { Quantity.decimal(number, places: 1) }
}
