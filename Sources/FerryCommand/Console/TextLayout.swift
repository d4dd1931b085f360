struct TableColumn {
    var title: String
    var isNumber = false
    /// Names are cut in the middle instead of broken, so that a row has one line.
    var isCut = false

    static func name(_ title: String) -> TableColumn { TableColumn(title: title, isCut: true) }
    static func text(_ title: String) -> TableColumn { TableColumn(title: title) }
    static func number(_ title: String) -> TableColumn { TableColumn(title: title, isNumber: true) }
}

struct TextTable {
    private static let gap = 2
    /// Characters; in less room each row is printed cell by cell, below each other.
    private static let narrowest = 8

    let columns: [TableColumn]
    let rows: [[String]]

    init(_ columns: [TableColumn], _ rows: [[String]]) {
        precondition(rows.allSatisfy { $0.count == columns.count }, "a row has as many cells as the header")
        self.columns = columns
        self.rows = [columns.map(\.title)] + rows
    }

    /// The lines, each indented by two spaces and no longer than `width` characters.
    func lines(width: Int) -> [String] {
        let wanted = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        guard let widths = fitting(wanted, into: width) else { return records(width: width) }
        return rows.flatMap { lines($0, widths) }
    }

    /// Narrows the widest text columns until the table fits; nil if it cannot fit.
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
        let cells = columns.indices.map { column in
            columns[column].isCut
                ? [Drawing.shortened(row[column], to: widths[column])]
                : row[column].isEmpty ? [] : TextWrap.paragraphs(row[column], width: widths[column])
        }
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
            zip(rows[0], row).enumerated().filter { !$0.element.1.isEmpty }.flatMap { column, pair in
                TextWrap.lines(
                    (column == 0 ? "  " : "    ") + (pair.0.isEmpty ? "" : "\(pair.0): ") + pair.1, width: width)
            }
        }
    }
}

enum TextWrap {
    /// Breaks a line between words into lines of at most `width` characters.
    ///
    /// A longer word, such as a path, gets a line of its own and stays whole: the terminal folds it, and a user can
    /// copy it. Text between backticks or quotes stays whole, too.
    /// Further lines are indented to the text of the first line: behind a label with two spaces or more after it, else
    /// by two spaces more than the first line.
    static func lines(_ line: String, width: Int) -> [String] {
        guard line.count > width, width > 0 else { return [line] }
        let longest = line.split(separator: " ").map(\.count).max() ?? 0
        let indent = margin(of: line, width: width)
        let margin = String(repeating: " ", count: max(min(2, indent), min(indent, width - longest)))
        return broken(line, width: width, margin: margin, keepsLongWords: true)
    }

    /// A command on several lines that a shell reads as one: each but the last line ends with a backslash.
    static func command(_ line: String, width: Int) -> [String] {
        let end = " \\"
        guard line.count > width, width > end.count else { return [line] }
        let longest = line.split(separator: " ").map(\.count).max() ?? 0
        let indent = min(line.prefix { $0 == " " }.count + 4, width - end.count - longest)
        let margin = String(repeating: " ", count: max(0, indent))
        let lines = broken(line, width: width - end.count, margin: margin, keepsLongWords: true)
        return lines.dropLast().map { $0 + end } + lines.suffix(1)
    }

    /// Breaks a text into lines of at most `width` characters, margin included, also at newlines and within long words.
    static func paragraphs(_ text: String, width: Int, margin: String = "") -> [String] {
        text.split(separator: "\n").flatMap {
            broken(margin + $0, width: width, margin: margin, keepsLongWords: false)
        }
    }

    private static func broken(_ text: String, width: Int, margin: String, keepsLongWords: Bool) -> [String] {
        var lines: [String] = []
        var rest = Substring(text)
        while rest.count > width {
            // A break must follow a character behind the margin, or the loop would not end.
            let from = lines.isEmpty ? text.prefix { $0 == " " }.count : margin.count
            let end = rest.index(rest.startIndex, offsetBy: width)
            let start = rest.index(rest.startIndex, offsetBy: min(from + 1, width))
            let places = breaks(in: rest, from: start, keepsQuoted: keepsLongWords)
            // A space directly after the last place is a break, too.
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

    /// The spaces at which a text may be broken; with `keepsQuoted` none in commands between backticks or quotes.
    private static func breaks(
        in text: Substring, from start: Substring.Index, keepsQuoted: Bool
    ) -> [Substring.Index] {
        var places: [Substring.Index] = []
        var place = text.startIndex
        var last: Character = " "
        while place < text.endIndex {
            let character = text[place]
            // An apostrophe within a word is not a quote.
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
