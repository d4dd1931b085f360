struct TableColumn {
    var title: String
    var isNumber = false
    /// Names are cut in the middle instead of broken, so that a row has one line.
    var isCut = false
    /// Paths and sentences, each on a line of its own with its title where the table is too wide.
    var isBelow = false

    static func name(_ title: String) -> TableColumn { TableColumn(title: title, isCut: true) }
    static func text(_ title: String) -> TableColumn { TableColumn(title: title) }
    static func below(_ title: String) -> TableColumn { TableColumn(title: title, isBelow: true) }
    static func number(_ title: String) -> TableColumn { TableColumn(title: title, isNumber: true) }
}

struct TextTable {
    private static let gap = 2
    /// Characters of a name that is cut; in less room each row is printed cell by cell, below each other.
    private static let narrowest = 8

    let columns: [TableColumn]
    let rows: [[String]]

    init(_ columns: [TableColumn], _ rows: [[String]]) {
        precondition(rows.allSatisfy { $0.count == columns.count }, "a row has as many cells as the header")
        self.columns = columns
        self.rows = [columns.map(\.title)] + rows
    }

    /// The lines, each indented by two spaces and no longer than `width` characters; no word but a name is broken.
    func lines(width: Int) -> [String] {
        let rows = rows.map { $0.map(WorkFolder.shortened) }
        var widths = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var excess: Int { widths.reduce(0) { $0 + $1 + Self.gap } - width }
        let below = excess > 0 ? columns.indices.filter { columns[$0].isBelow } : []
        for column in below { widths[column] = -Self.gap }
        while excess > 0 {
            let names = widths.indices.filter { columns[$0].isCut && widths[$0] > Self.narrowest }
            guard let widest = names.max(by: { widths[$0] < widths[$1] }) else {
                return rows.dropFirst().flatMap { record($0, Array(columns.indices), width) }
            }
            widths[widest] -= 1
        }
        return rows.enumerated().flatMap { number, row in
            [line(row, widths)] + (number == 0 ? [] : record(row, below, width))
        }
    }

    private func line(_ row: [String], _ widths: [Int]) -> String {
        var line = ""
        for column in columns.indices where widths[column] >= 0 {
            let text = columns[column].isCut ? Drawing.shortened(row[column], to: widths[column]) : row[column]
            let gap = String(repeating: " ", count: widths[column] - text.count)
            line += String(repeating: " ", count: Self.gap) + (columns[column].isNumber ? gap + text : text + gap)
        }
        while line.hasSuffix(" ") { line.removeLast() }
        return line
    }

    /// Cells of a row as lines of their own, `Header: cell`.
    private func record(_ row: [String], _ columns: [Int], _ width: Int) -> [String] {
        columns.filter { !row[$0].isEmpty }.flatMap { column in
            let title = rows[0][column].isEmpty ? "" : "\(rows[0][column]): "
            return TextWrap.lines((column == 0 ? "  " : "    ") + title + row[column], width: width)
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
        return broken(line, width: width, margin: margin)
    }

    /// A command on several lines that a shell reads as one: each but the last line ends with a backslash.
    static func command(_ line: String, width: Int) -> [String] {
        let end = " \\"
        guard line.count > width, width > end.count else { return [line] }
        let longest = line.split(separator: " ").map(\.count).max() ?? 0
        let indent = min(line.prefix { $0 == " " }.count + 4, width - end.count - longest)
        let margin = String(repeating: " ", count: max(0, indent))
        let lines = broken(line, width: width - end.count, margin: margin)
        return lines.dropLast().map { $0 + end } + lines.suffix(1)
    }

    /// Breaks a text into lines of at most `width` characters, margin included, also at newlines.
    static func paragraphs(_ text: String, width: Int, margin: String = "") -> [String] {
        text.split(separator: "\n").flatMap { broken(margin + $0, width: width, margin: margin) }
    }

    private static func broken(_ text: String, width: Int, margin: String) -> [String] {
        var lines: [String] = []
        var rest = Substring(text)
        while rest.count > width {
            // A break must follow a character behind the margin, or the loop would not end.
            let from = lines.isEmpty ? text.prefix { $0 == " " }.count : margin.count
            let end = rest.index(rest.startIndex, offsetBy: width)
            let start = rest.index(rest.startIndex, offsetBy: min(from + 1, width))
            let places = breaks(in: rest, from: start)
            // A space directly after the last place is a break, too.
            guard let cut = places.last(where: { $0 <= end }) ?? places.first else { break }
            var line = rest[..<cut]
            while line.last == " " { line.removeLast() }
            lines.append(String(line))
            rest = Substring(margin + rest[cut...].drop { $0 == " " })
        }
        if rest.contains(where: { $0 != " " }) || lines.isEmpty { lines.append(String(rest)) }
        return lines
    }

    private static let units: Set<Substring> = ["ms", "s", "min", "h", "KiB", "MiB", "GiB", "bytes"]
    /// The spaces at which a text may be broken; none in commands between backticks or quotes, or before a unit.
    private static func breaks(in text: Substring, from start: Substring.Index) -> [Substring.Index] {
        var places: [Substring.Index] = []
        var place = text.startIndex
        var last: Character = " "
        while place < text.endIndex {
            let character = text[place]
            // An apostrophe within a word is not a quote.
            let opens = character == "`" || "'\"".contains(character) && " (=\\".contains(last)
            let next = text.index(after: place)
            if opens, let end = text[next...].firstIndex(of: character) {
                last = character
                place = text.index(after: end)
                continue
            }
            let isBeforeUnit = last.isNumber && units.contains(text[next...].prefix { $0.isLetter })
            if character == " ", place >= start, !isBeforeUnit { places.append(place) }
            last = character
            place = next
        }
        return places
    }

    private static func margin(of line: String, width: Int) -> Int {
        let indent = line.prefix { $0 == " " }.count
        var (place, spaces) = (indent, 0)
        for character in line.dropFirst(indent).prefix(width / 3) {
            if spaces >= 2, character != " " { return place }
            spaces = character == " " ? spaces + 1 : 0
            place += 1
        }
        return min(indent + 2, width / 2)
    }
}
