/// The results of a case as lines of text.
package struct ResultTable {
    private let result: CaseResult

    package init(_ result: CaseResult) { self.result = result }

    package var lines: [String] {
        var lines = ["", "\(result.name): \(result.summary)"]
        var legend: [String] = []
        for side in result.points.flatMap(\.sides) {
            let line = "  \(side.name): \(side.text)"
            if !legend.contains(line) { legend.append(line) }
        }
        lines += legend
        var table = [["", "rows", "median", "spread", "processor", "rows/s", "peak", "written", "statements"]]
        for point in result.points {
            for side in point.sides { table.append(row(side, point.point)) }
        }
        lines += Self.aligned(table)
        var measures = [["measure", "median", "spread", "budget", ""]]
        for measure in result.measures { measures.append(Self.cells(measure)) }
        return lines + Self.aligned(measures)
    }

    private func row(_ side: CaseResult.SideResult, _ point: BenchPoint) -> [String] {
        [
            point.label.isEmpty ? side.name : "\(side.name) \(point.label)", Figure.grouped(point.rows),
            Figure.time(side.seconds.median), Self.spread(side.seconds) { Figure.time($0) },
            side.processorSeconds.map { Figure.time($0.median) } ?? "", Figure.grouped(Int(side.rowsPerSecond.median)),
            side.peakBytes.map { Figure.size(Double($0)) } ?? "",
            side.writtenBytes.map { Figure.size($0.median) } ?? "", side.statements.map(Figure.grouped) ?? "",
        ]
    }

    /// Name, median, spread, budget, and whether the median meets the budget.
    static func cells(_ measure: CaseResult.MeasureResult) -> [String] {
        let budget = measure.budget.map {
            (measure.better == .higher ? "≥ " : "≤ ") + Figure.value($0, measure.unit)
        }
        let verdict = measure.meetsBudget.map { $0 ? "met" : "missed" }
        return [
            measure.name, Figure.value(measure.value.median, measure.unit),
            spread(measure.value) { Figure.value($0, measure.unit) }, budget ?? "", verdict ?? "",
        ]
    }

    private static func spread(_ spread: Spread, _ text: (Double) -> String) -> String {
        spread.lowest == spread.highest ? "" : "\(text(spread.lowest)) – \(text(spread.highest))"
    }

    /// Aligns the first column to the left, the others to the right, two spaces apart.
    package static func aligned(_ rows: [[String]]) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let gap = String(repeating: " ", count: widths[column] - cell.count)
                line += "  " + (column == 0 ? cell + gap : gap + cell)
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }
}
