/// Rows of text in aligned columns.
struct TextTable {
    enum Alignment { case left, right }

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

    /// The lines, each indented by two spaces.
    var lines: [String] {
        let widths = alignments.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let gap = String(repeating: " ", count: widths[column] - cell.count)
                line += "  " + (alignments[column] == .left ? cell + gap : gap + cell)
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }
}
