/// A piece of a page or a drawing, written as HTML and SVG.
///
/// Names of entities and files may hold any character: every text passes ``escaped(_:)`` on its way to the output.
indirect enum Markup: Sendable {
    case text(String)
    case node(String, [(String, String)], [Markup])

    /// Attributes in their order; a nil attribute is left out.
    typealias Attributes = KeyValuePairs<String, (any MarkupValue)?>

    static func element(_ name: String, _ attributes: Attributes, _ content: [Markup]) -> Markup {
        .node(name, attributes.compactMap { key, value in value.map { (key, $0.inMarkup) } }, content)
    }

    static func element(_ name: String, _ attributes: Attributes, _ content: Markup...) -> Markup {
        element(name, attributes, content)
    }

    static func element(_ name: String, _ attributes: Attributes, _ text: String) -> Markup {
        element(name, attributes, [.text(text)])
    }

    /// A name from a model or a path, isolated from the writing direction of the text around it.
    ///
    /// A long one may break behind a part of a path and before a word of a name.
    static func name(_ text: String) -> Markup {
        guard text.count > longestLine else { return .element("bdi", [:], text) }
        var parts = [""]
        for character in text {
            let last = parts[parts.count - 1].last ?? character
            if "/_".contains(last) || last.isLowercase && character.isUppercase { parts.append("") }
            parts[parts.count - 1].append(character)
        }
        return .element("bdi", [:], Array(parts.flatMap { [.text($0), .node("wbr", [], [])] }.dropLast()))
    }

    /// Characters of a name that fit a card of a narrow page.
    private static let longestLine = 20

    /// Elements without an end tag; the SVG elements among them end with `/>`, as XML requires.
    private static let empty: Set<String> = [
        "meta", "wbr", "rect", "line", "path", "circle", "polyline", "br", "polygon",
    ]

    var written: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to output: inout String) {
        switch self {
        case .text(let text): output += Self.escaped(text)
        case .node(let name, let attributes, let content):
            output += "<" + name
            for (key, value) in attributes { output += " \(key)=\"\(Self.escaped(value))\"" }
            guard !Self.empty.contains(name) else { return output += "/>" }
            output += ">"
            for part in content { part.write(to: &output) }
            output += "</\(name)>"
            if Self.lines.contains(name) { output += "\n" }
        }
    }

    /// Elements that end a line, so that a page can be read and compared as text.
    private static let lines: Set<String> = [
        "head", "title", "h1", "h2", "h3", "p", "tr", "table", "section", "svg", "li", "ol", "dl", "dd", "g", "figure",
    ]

    private static let entities: [Unicode.Scalar: String] = [
        "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;",
    ]

    static func escaped(_ text: String) -> String { text.shown(with: entities) }
}

extension String {
    /// The text with replacements of scalars, not of characters: a mark that combines with a quote must not hide it.
    ///
    /// Invisible scalars that change others (controls, directions) become U+FFFD: they could make names look alike.
    func shown(with replacements: [Unicode.Scalar: String]) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar.value {
            case _ where replacements[scalar] != nil: text += replacements[scalar] ?? ""
            case 0..<0x9, 0xb..<0x20, 0x7f..<0xa0, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfffe...0xffff:
                text.unicodeScalars.append("\u{FFFD}")
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

protocol MarkupValue: Sendable {
    var inMarkup: String { get }
}

extension String: MarkupValue { var inMarkup: String { self } }
extension Double: MarkupValue { var inMarkup: String { Quantity.decimal(self, places: 1) } }
