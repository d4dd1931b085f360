/// The results of all shapes: the worst shape first, then the median and the worst of each column.
package struct ShapeTable: Sendable {
    package let results: [ShapeResult]

    package init(_ results: [ShapeResult]) {
        self.results = results.enumerated().sorted { one, other in
            let (left, right) = (Self.severity(one.element), Self.severity(other.element))
            return left != right ? left > right : one.offset < other.offset
        }.map(\.element)
    }

    /// How near a shape is to the limit that it comes nearest to, or how far beyond; a failure is worst.
    private static func severity(_ result: ShapeResult) -> Double {
        if result.failure != nil { return .infinity }
        return ShapeColumn.allCases.filter(\.hasLimit).compactMap { $0.badness(of: result) }.max() ?? 0
    }

    /// The columns that any shape has a figure for.
    package var columns: [ShapeColumn] {
        ShapeColumn.allCases.filter { column in results.contains { column.value(of: $0) != nil } }
    }

    package struct Summary: Sendable, Equatable {
        package var median: Double
        package var worst: String
        package var worstText: String
        package var isMet: Bool

        package init(median: Double, worst: String, worstText: String, isMet: Bool) {
            self.median = median
            self.worst = worst
            self.worstText = worstText
            self.isMet = isMet
        }
    }

    /// The median and the worst figure of a column, over the shapes where the figure says something.
    package func summary(_ column: ShapeColumn) -> Summary? {
        let judged = results.filter { column.badness(of: $0) != nil }
        let values = judged.compactMap { column.value(of: $0) }
        let worst = judged.max { (column.badness(of: $0) ?? 0) < (column.badness(of: $1) ?? 0) }
        guard let spread = Spread(values), let worst else { return nil }
        let isMedianMet = column.medianLimit.map { spread.median <= $0 } ?? true
        return Summary(
            median: spread.median, worst: worst.name, worstText: column.text(worst),
            isMet: isMedianMet && !judged.contains { column.misses($0) })
    }

    // MARK: Rows

    private var head: [String] { ["shape", "steps", "objects", "store"] + columns.map(\.title) }

    private func row(_ result: ShapeResult) -> [String] {
        [result.name, result.mode, Figure.grouped(Int(result.objects)), Figure.size(Double(result.storeBytes))]
            + columns.map { column in column.text(result) + (column.misses(result) ? " !" : "") }
    }

    private var medians: [String] {
        ["median", "", "", ""] + columns.map { column in summary(column).map { column.text($0.median) } ?? "–" }
    }

    private var worst: [String] {
        ["worst", "", "", ""]
            + columns.map { column in summary(column).map { "\($0.worstText) (\($0.worst))" } ?? "–" }
    }

    /// The table for a terminal; `!` marks a figure beyond its limit.
    package var lines: [String] {
        let figures = results.filter { $0.failure == nil }
        var lines = ResultTable.aligned([head] + figures.map(row) + [medians])
        for column in columns {
            guard let summary = summary(column) else { continue }
            let verdict = column.hasLimit ? (summary.isMet ? ", met" : ", missed") : ""
            lines.append(
                "  \(column.title): median \(column.text(summary.median)), worst \(summary.worstText) of "
                    + "\(summary.worst)\(verdict)")
        }
        return lines
            + results.compactMap { result in (result.failure ?? result.refusal).map { "  \(result.name): \($0)" } }
    }

    /// The table as Markdown.
    package var markdown: [String] {
        let figures = results.filter { $0.failure == nil }.map { result in
            ["`\(result.name)`"] + row(result).dropFirst()
        }
        let rows = figures + [medians.map { $0.isEmpty ? "" : "**\($0)**" }, worst]
        return ["| \(head.joined(separator: " | ")) |", "|" + String(repeating: "---|", count: head.count)]
            + rows.map { "| \($0.joined(separator: " | ")) |" }
            + results.compactMap { result in (result.failure ?? result.refusal).map { "\n`\(result.name)`: \($0)" } }
    }

    // MARK: Limits

    /// Returns the figures of these columns that are beyond their limits, as sentences.
    ///
    /// In the small form only the single shapes count, and what is measured in seconds has room for a busy machine.
    package func misses(in columns: [ShapeColumn] = ShapeColumn.allCases, isSmall: Bool = false) -> [String] {
        let failed = results.compactMap { result in result.failure.map { "\(result.name): \($0)" } }
        let single = columns.flatMap { column in
            let room = isSmall && column == .verification ? 2.0 : 1.0
            return results.filter { column.misses($0) && (column.badness(of: $0) ?? 0) > room }.map {
                "\($0.name): \(column.title) \(column.text($0))"
            }
        }
        let medians = columns.compactMap { column -> String? in
            guard let limit = column.medianLimit, let summary = summary(column), summary.median > limit else {
                return nil
            }
            return "median of all shapes: \(column.title) \(column.text(summary.median))"
        }
        return failed + single + (isSmall ? [] : medians)
    }
}
