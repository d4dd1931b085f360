/// A column of a table, on a terminal or a page.
struct TableColumn {
    var title: String
    /// Numbers stand at the right.
    var isNumber = false

    static func text(_ title: String) -> TableColumn { TableColumn(title: title) }
    static func number(_ title: String) -> TableColumn { TableColumn(title: title, isNumber: true) }
}

/// Rows of text in aligned columns.
struct TextTable {
    /// Two spaces before every column.
    private static let gap = 2
    /// No column is made narrower; with less room the rows stand below each other, cell by cell.
    private static let narrowest = 8

    private let columns: [TableColumn]
    /// The header is the first one.
    private let rows: [[String]]

    init(_ columns: [TableColumn], _ rows: [[String]]) {
        precondition(rows.allSatisfy { $0.count == columns.count }, "a row has as many cells as the header")
        self.columns = columns
        self.rows = [columns.map(\.title)] + rows
    }

    /// The lines, each indented by two spaces and at most `width` characters long.
    func lines(width: Int) -> [String] {
        let wanted = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        guard let widths = fitting(wanted, into: width) else { return records(width: width) }
        return rows.flatMap { lines($0, widths) }
    }

    /// Takes from the widest columns of text what is too much; nil when that is not enough.
    private func fitting(_ wanted: [Int], into width: Int) -> [Int]? {
        var widths = wanted
        var excess = wanted.reduce(0) { $0 + $1 + Self.gap } - width
        while excess > 0 {
            let texts = widths.indices.filter { !columns[$0].isNumber && widths[$0] > Self.narrowest }
            guard let widest = texts.max(by: { widths[$0] < widths[$1] }) else { return nil }
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
                    String(repeating: " ", count: Self.gap) + (columns[column].isNumber ? gap + text : text + gap)
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

/// Breaks lines of text for a terminal.
enum TextWrap {
    /// A line as one or more of at most `width` characters, broken between words.
    ///
    /// A word that is longer, such as a path, stands on a line of its own and stays whole: the terminal folds it, and what
    /// is copied from there can be pasted. So does what stands between backticks or quotes.
    /// What follows is indented below the text of the first line: behind its label (two spaces or more after it), else
    /// by two spaces more than the line itself.
    static func lines(_ line: String, width: Int) -> [String] {
        guard line.count > width, width > 0 else { return [line] }
        let margin = String(repeating: " ", count: margin(of: line, width: width))
        return broken(line, width: width, margin: margin, keepsLongWords: true)
    }

    /// A command as lines that a shell reads as one: each but the last ends with a backslash.
    static func command(_ line: String, width: Int) -> [String] {
        let end = " \\"
        guard line.count > width, width > end.count else { return [line] }
        let longest = line.split(separator: " ").map(\.count).max() ?? 0
        let indent = min(line.prefix { $0 == " " }.count + 4, width - end.count - longest)
        let margin = String(repeating: " ", count: max(0, indent))
        let lines = broken(line, width: width - end.count, margin: margin, keepsLongWords: true)
        return lines.dropLast().map { $0 + end } + lines.suffix(1)
    }

    /// The words of a text on lines of at most `width` characters, the margin that each begins with included; a longer
    /// word is broken, too, and a line end in the text ends a line.
    static func paragraphs(_ text: String, width: Int, margin: String = "") -> [String] {
        text.split(separator: "\n").flatMap {
            broken(margin + $0, width: width, margin: margin, keepsLongWords: false)
        }
    }

    private static func broken(_ text: String, width: Int, margin: String, keepsLongWords: Bool) -> [String] {
        var lines: [String] = []
        var rest = Substring(text)
        while rest.count > width {
            // A break must leave something behind the margin, or nothing would ever be done.
            let from = lines.isEmpty ? text.prefix { $0 == " " }.count : margin.count
            let end = rest.index(rest.startIndex, offsetBy: width)
            let start = rest.index(rest.startIndex, offsetBy: min(from + 1, width))
            let places = breaks(in: rest, from: start, keepsQuoted: keepsLongWords)
            // A space just behind the last place is a break, too.
            let fitting = places.last { $0 <= end }
            guard let cut = fitting ?? (keepsLongWords ? places.first : end) else { break }
            var line = rest[..<cut]
            while line.last == " " { line.removeLast() }
            lines.append(String(line))
            rest = Substring(margin + rest[cut...].drop { $0 == " " })
        }
        if rest.contains(where: { $0 != " " }) || lines.isEmpty { lines.append(String(rest)) }
        return lines
    }

    /// The spaces where a text may be broken; with `keepsQuoted` none between backticks or quotes, where a command or a
    /// word for a shell stands.
    private static func breaks(
        in text: Substring, from start: Substring.Index, keepsQuoted: Bool
    ) -> [Substring.Index] {
        var places: [Substring.Index] = []
        var place = text.startIndex
        var last: Character = " "
        while place < text.endIndex {
            let character = text[place]
            // An apostrophe within a word opens nothing.
            let opens = character == "`" || "'\"".contains(character) && " (=\\".contains(last)
            let next = text.index(after: place)
            if keepsQuoted, opens, let end = text[next...].firstIndex(of: character) {
                last = character
                place = text.index(after: end)
                continue
            }
            if character == " ", place >= start { places.append(place) }
            last = character
            place = next
        }
        return places
    }

    private static func margin(of line: String, width: Int) -> Int {
        let indent = line.prefix { $0 == " " }.count
        var place = indent
        var spaces = 0
        for character in line.dropFirst(indent).prefix(width / 3) {
            if spaces >= 2, character != " " { return place }
            spaces = character == " " ? spaces + 1 : 0
            place += 1
        }
        return min(indent + 2, width / 2)
    }
}
