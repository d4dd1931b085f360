/// Breaks lines of text for a terminal.
enum TextWrap {
    /// A line as one or more of at most `width` characters, broken between words where there is one that fits.
    ///
    /// What follows is indented below the text of the first line: behind its label (two spaces or more after it), else
    /// by two spaces more than the line itself.
    static func lines(_ line: String, width: Int) -> [String] {
        guard line.count > width, width > 0 else { return [line] }
        let margin = String(repeating: " ", count: margin(of: line, width: width))
        return broken(line, width: width, margin: margin)
    }

    /// The words of a text on lines of at most `width` characters; a line end in the text ends a line.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - width: The longest line.
    ///   - margin: What every line begins with, counted in its width.
    /// - Returns: The lines.
    static func paragraphs(_ text: String, width: Int, margin: String = "") -> [String] {
        text.split(separator: "\n").flatMap { broken(margin + $0, width: width, margin: margin) }
    }

    private static func broken(_ text: String, width: Int, margin: String) -> [String] {
        var lines: [String] = []
        var rest = Substring(text)
        while rest.count > width {
            // A break must leave something behind the margin, or nothing would ever be done.
            let from = lines.isEmpty ? text.prefix { $0 == " " }.count : margin.count
            let end = rest.index(rest.startIndex, offsetBy: width)
            let start = rest.index(rest.startIndex, offsetBy: min(from + 1, width))
            // A space just behind the last place is a break, too.
            let cut = rest[start...end].lastIndex(of: " ") ?? end
            var line = rest[..<cut]
            while line.last == " " { line.removeLast() }
            lines.append(String(line))
            rest = Substring(margin + rest[cut...].drop { $0 == " " })
        }
        if rest.contains(where: { $0 != " " }) || lines.isEmpty { lines.append(String(rest)) }
        return lines
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
