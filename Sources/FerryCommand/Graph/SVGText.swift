/// A place in a drawing.
package struct Rect: Sendable, Equatable {
    package var x: Double
    package var y: Double
    package var width: Double
    package var height: Double

    var right: Double { x + width }
    var bottom: Double { y + height }
    var middle: Double { y + height / 2 }

    package func overlaps(_ other: Rect) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }

    /// A width for the longest of some names; wide characters take about two places.
    static func width(of names: [String], most: Double) -> Double {
        let longest =
            names.map { name in name.unicodeScalars.reduce(0) { $0 + ($1.value >= 0x1100 ? 2 : 1) } }.max() ?? 0
        return min(most, max(120, Double(longest) * 7.6 + 28))
    }
}

/// The elements of drawings that stand by themselves.
enum SVGText {
    private static let style: StaticString = """
        svg { --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --main: #0b62a8; --good: #116329; --bad: #a40e26;
          background: var(--paper); font: 13px system-ui, sans-serif; }
        @media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --soft: #a3adb8; --paper: #0d1117; --main: #6cb6ff;
          --good: #56d364; --bad: #ff7b72; } }
        @media print { svg { --ink: #000000; --soft: #444444; --paper: #ffffff; --main: #0b62a8; --good: #116329;
          --bad: #a40e26; } }
        text { fill: var(--ink); unicode-bidi: isolate; } .soft { fill: var(--soft); font-size: 12px; }
        rect { fill: var(--paper); stroke: var(--main); stroke-width: 1.5; }
        rect.current { stroke-width: 3.5; } rect.mapping { stroke: var(--soft); rx: 14px; }
        rect.added { stroke: var(--good); stroke-width: 2.5; } rect.removed { stroke: var(--bad); stroke-dasharray: 6 4; }
        rect.renamed { stroke-width: 2.5; }
        .way { stroke: var(--ink); stroke-width: 1.5; fill: none; } .arrow { fill: var(--ink); }
        .noneway { stroke: var(--bad); stroke-width: 2; stroke-dasharray: 1 5; fill: none; stroke-linecap: round; }
        .equalway { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 6 4; fill: none; }
        .curve { stroke: var(--soft); stroke-width: 1.2; fill: none; }
        """

    static func document(width: Double, height: Double, _ parts: [Markup]) -> String {
        let (width, height) = (short(width), short(height))
        return GraphCommand.Form.svg.sign + "\n"
            + Markup.element(
                "svg",
                [
                    ("xmlns", "http://www.w3.org/2000/svg"), ("viewBox", "0 0 \(width) \(height)"), ("width", width),
                    ("height", height), ("role", "img"),
                ], [.style(style)] + parts
            ).written
    }

    /// A box with a name in it; as much of the name as fits, and all of it where a pointer rests.
    static func box(_ rect: Rect, _ name: String, style: String) -> [Markup] {
        let shape = Markup.element(
            "rect",
            [
                ("class", style), ("x", short(rect.x)), ("y", short(rect.y)), ("width", short(rect.width)),
                ("height", short(rect.height)), ("rx", "5"),
            ])
        if name.isEmpty { return [shape] }
        let fits = Int((rect.width - 20) / 7.6)
        return [shape, label(name, rect.x + 12, rect.middle + 5, most: fits)]
    }

    static func label(
        _ text: String, _ x: Double, _ y: Double, isSoft: Bool = false, style: String? = nil, most: Int = 200
    ) -> Markup {
        let shown = Drawing.shortened(text, to: max(4, most))
        let content: [Markup] =
            shown == text ? [.text(text)] : [.element("title", [], text), .text(shown)]
        return .element(
            "text",
            [("x", short(x)), ("y", short(y))] + (isSoft ? [("class", "soft")] : [])
                + (style.map { [("style", $0)] } ?? []),
            content)
    }

    static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ style: String) -> Markup {
        .element(
            "line",
            [("class", style), ("x1", short(x1)), ("y1", short(y1)), ("x2", short(x2)), ("y2", short(y2))])
    }

    /// Straight pieces from point to point.
    static func path(_ points: [(Double, Double)], _ style: String) -> Markup {
        .element(
            "polyline",
            [("class", style), ("points", points.map { "\(short($0.0)),\(short($0.1))" }.joined(separator: " "))])
    }

    static func curve(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> Markup {
        let middle = short((x1 + x2) / 2)
        return .element(
            "path",
            [
                ("class", "curve"),
                (
                    "d",
                    "M\(short(x1)) \(short(y1)) C\(middle) \(short(y1)) \(middle) \(short(y2)) \(short(x2)) \(short(y2))"
                ),
            ])
    }

    static func arrowDown(_ x: Double, _ y: Double) -> Markup {
        polygon([(x, y), (x - 4, y - 8), (x + 4, y - 8)])
    }

    static func arrowLeft(_ x: Double, _ y: Double) -> Markup {
        polygon([(x, y), (x + 8, y - 4), (x + 8, y + 4)])
    }

    static func arrowRight(_ x: Double, _ y: Double) -> Markup {
        polygon([(x, y), (x - 8, y - 4), (x - 8, y + 4)])
    }

    private static func polygon(_ points: [(Double, Double)]) -> Markup {
        .element(
            "polygon",
            [("class", "arrow"), ("points", points.map { "\(short($0.0)),\(short($0.1))" }.joined(separator: " "))])
    }

    private static func short(_ number: Double) -> String { Quantity.decimal(number, places: 1) }
}

/// Texts of the language of Graphviz.
enum DotText {
    static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

    /// Lines that begin at the left.
    static func leftLines(_ lines: [String]) -> String {
        "\"" + lines.map { escaped($0) + "\\l" }.joined() + "\""
    }

    private static func escaped(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n", "\t": output += " "
            default: output.unicodeScalars.append(Markup.isShown(scalar) ? scalar : "\u{FFFD}")
            }
        }
        return output
    }
}
