/// A piece of a page or a drawing: elements and texts, written as HTML and SVG alike.
///
/// Names of entities and files may hold anything: every text passes ``escaped(_:)``, which is the only way into the output.
package indirect enum Markup: Sendable {
    case text(String)
    case node(String, [(String, String)], [Markup])
    /// A style sheet of ours; never made of anything that was read.
    case style(StaticString)

    /// Attributes in their order; one that is nil is left out.
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

    /// A name from a model or a path: apart from the text around it, whatever direction it is written in.
    static func name(_ text: String) -> Markup { .element("bdi", [:], text) }

    /// Elements that are written without an end; of SVG, as XML wants them.
    private static let empty: Set<String> = [
        "meta", "rect", "line", "path", "circle", "polyline", "br", "polygon",
    ]

    package var written: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to output: inout String) {
        switch self {
        case .text(let text): output += Self.escaped(text)
        case .style(let sheet): output += "<style>\n\(sheet)\n</style>\n"
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

    /// Elements after which a line ends, so that a page can be read and compared as text.
    private static let lines: Set<String> = [
        "head", "title", "h1", "h2", "h3", "p", "tr", "table", "section", "svg", "li", "ol", "dl", "dd", "g", "figure",
    ]

    /// A text that no reader of HTML or XML takes for anything else.
    ///
    /// Characters that are not shown but change how others are (controls, directions) become U+FFFD: they could make one
    /// name look like another one.
    package static func escaped(_ text: String) -> String {
        var output = ""
        output.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            case "\n", "\t": output.unicodeScalars.append(scalar)
            default: output.unicodeScalars.append(isShown(scalar) ? scalar : "\u{FFFD}")
            }
        }
        return output
    }

    static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfffe...0xffff: false
        default: true
        }
    }
}

/// What an attribute can be.
protocol MarkupValue: Sendable {
    var inMarkup: String { get }
}

extension String: MarkupValue { var inMarkup: String { self } }
/// A place in a drawing, to a tenth.
extension Double: MarkupValue { var inMarkup: String { Quantity.decimal(self, places: 1) } }
