/// Rows of text in aligned columns.
struct TextTable {
    enum Alignment { case left, right }

    /// Two spaces before every column.
    private static let gap = 2
    /// No column is made narrower; with less room the rows stand below each other, cell by cell.
    private static let narrowest = 8

    private let alignments: [Alignment]
    private var rows: [[String]]

    init(_ header: [String], _ alignments: [Alignment]) {
        precondition(header.count == alignments.count, "a table needs one alignment for each column")
        self.alignments = alignments
        rows = [header]
    }

    mutating func add(_ row: [String]) {
        precondition(row.count == alignments.count, "a row has as many cells as the header")
        rows.append(row)
    }

    var isEmpty: Bool { rows.count == 1 }

    /// The lines, each indented by two spaces and at most `width` characters long.
    func lines(width: Int) -> [String] {
        let wanted = alignments.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        guard let widths = fitting(wanted, into: width) else { return records(width: width) }
        return rows.flatMap { lines($0, widths) }
    }

    /// Takes from the widest columns of text what is too much; nil when that is not enough.
    private func fitting(_ wanted: [Int], into width: Int) -> [Int]? {
        var widths = wanted
        var excess = wanted.reduce(0) { $0 + $1 + Self.gap } - width
        while excess > 0 {
            let columns = widths.indices.filter { alignments[$0] == .left && widths[$0] > Self.narrowest }
            guard let widest = columns.max(by: { widths[$0] < widths[$1] }) else { return nil }
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }

    private func lines(_ row: [String], _ widths: [Int]) -> [String] {
        let cells = zip(row, widths).map { $0.isEmpty ? [] : TextWrap.paragraphs($0, width: $1) }
        return (0..<max(1, cells.map(\.count).max() ?? 0)).map { number in
            var line = ""
            for (column, cell) in cells.enumerated() {
                let text = number < cell.count ? cell[number] : ""
                let gap = String(repeating: " ", count: widths[column] - text.count)
                line +=
                    String(repeating: " ", count: Self.gap) + (alignments[column] == .left ? text + gap : gap + text)
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }

    /// Each row as lines of its own, `Header: cell`.
    private func records(width: Int) -> [String] {
        rows.dropFirst().flatMap { row in
            zip(rows[0], row).enumerated().flatMap { column, pair -> [String] in
                let (header, cell) = pair
                guard !cell.isEmpty else { return [] }
                let text = header.isEmpty ? cell : "\(header): \(cell)"
                return TextWrap.lines((column == 0 ? "  " : "    ") + text, width: width)
            }
        }
    }
}
