/// A rectangle of a drawing.
package struct Rect: Sendable, Equatable {
    package var x: Double
    package var y: Double
    package var width: Double
    package var height: Double

    var right: Double { x + width }
    var bottom: Double { y + height }
    var middle: Double { y + height / 2 }

    /// A width for the longest name in any font.
    static func width(of names: [String]) -> Double {
        let longest = names.map { TextMetrics.width($0, size: Drawing.size) }.max() ?? 0
        return min(340, max(120, (longest + 2 * Drawing.inset).rounded(.up)))
    }
}

/// The elements of drawings, in pages and in files of their own.
enum Drawing {
    /// The font size of a drawing in a file of its own.
    static let size = 13.0
    /// The room between a box and its text.
    static let inset = 12.0

    /// A text that is cut in its middle to keep within a room in any common font, or to 200 characters.
    ///
    /// A tooltip has the whole text.
    static func text(
        _ text: String, _ x: Double, _ y: Double, within room: Double? = nil, size: Double = Drawing.size,
        isBold: Bool = false, anchor: String? = nil, isSoft: Bool = false, style: String? = nil
    ) -> Markup {
        let shown =
            room.map { TextMetrics.fitted(text, into: $0, size: size, isBold: isBold) } ?? shortened(text, to: 200)
        // Without a textLength, which would stretch the letters of a narrow font.
        return .element(
            "text",
            ["x": x, "y": y, "text-anchor": anchor, "class": isSoft ? "soft" : nil, "style": style],
            shown == text ? [.text(text)] : [.element("title", [:], text), .text(shown)])
    }

    /// A name cut to a number of characters; the middle is left out, since names mostly differ at their ends.
    static func shortened(_ name: String, to length: Int) -> String {
        guard name.count > length else { return name }
        let tail = (length - 1) / 2
        return name.prefix(length - 1 - tail) + "…" + name.suffix(tail)
    }

    static func rect(_ rect: Rect, _ style: String, corner: String? = nil) -> Markup {
        .element(
            "rect",
            [
                "class": style, "x": rect.x, "y": rect.y, "width": rect.width, "height": rect.height, "rx": corner,
            ])
    }

    /// A box with a name; a name that is too long is shortened, and a tooltip has the whole name.
    static func box(_ place: Rect, _ name: String, style: String) -> [Markup] {
        [
            rect(place, style, corner: "5"),
            text(name, place.x + inset, place.middle + 5, within: place.width - 2 * inset),
        ]
    }

    static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ style: String) -> Markup {
        .element("line", ["class": style, "x1": x1, "y1": y1, "x2": x2, "y2": y2])
    }

    static func polyline(_ points: [(Double, Double)], _ style: String) -> Markup {
        .element("polyline", ["class": style, "points": list(points)])
    }

    static func polygon(_ points: [(Double, Double)], _ style: String) -> Markup {
        .element("polygon", ["class": style, "points": list(points)])
    }

    private static func list(_ points: [(Double, Double)]) -> String {
        points.map { "\($0.0.inMarkup),\($0.1.inMarkup)" }.joined(separator: " ")
    }

    /// A line of straight pieces with a small dot at its end.
    static func route(_ points: [(x: Double, y: Double)]) -> [Markup] {
        guard let last = points.last else { return [] }
        return [
            polyline(points.map { ($0.x, $0.y) }, "curve"),
            .element("circle", ["class": "arrow", "cx": last.x, "cy": last.y, "r": "2.5"]),
        ]
    }

    static func curve(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> Markup {
        let middle = (x1 + x2) / 2
        let path = "\(move("M", x1, y1)) \(move("C", middle, y1, middle, y2, x2, y2))"
        return .element("path", ["class": "curve", "d": path])
    }

    /// A command of a path: its letter and its coordinates.
    static func move(_ letter: String, _ places: Double...) -> String {
        letter + places.map(\.inMarkup).joined(separator: " ")
    }

    static func arrowDown(_ x: Double, _ y: Double) -> Markup {
        polygon([(x, y), (x - 4, y - 8), (x + 4, y - 8)], "arrow")
    }

    /// An arrow whose tip is at the point and whose shaft is at its right or left.
    static func arrow(_ x: Double, _ y: Double, isFromRight: Bool) -> Markup {
        let end = x + (isFromRight ? 8 : -8)
        return polygon([(x, y), (end, y - 4), (end, y + 4)], "arrow")
    }

    static func figure(_ title: String, width: Double, height: Double, _ parts: [Markup]) -> Markup {
        .element(
            "svg", ["viewBox": "0 0 \(Int(width)) \(height.inMarkup)", "role": "img", "aria-label": title], parts)
    }

    /// Parts that lead to an address, if there is one.
    static func linked(_ parts: [Markup], to address: String?) -> [Markup] {
        address.map { [.element("a", ["href": $0], parts)] } ?? parts
    }

    /// The drawing of a graph in a page, in its own size: a narrow page scrolls it.
    static func graph(_ title: String, width: Double, height: Double, _ parts: [Markup]) -> Markup {
        .element(
            "div", ["class": "wide"],
            .element(
                "svg",
                [
                    "class": "graph", "viewBox": "0 0 \(width.inMarkup) \(height.inMarkup)", "width": width,
                    "height": height, "role": "img", "aria-label": title,
                ], parts))
    }

    /// A drawing in a file of its own.
    static func document(width: Double, height: Double, _ parts: [Markup]) -> String {
        let drawing = Markup.element(
            "svg",
            [
                "xmlns": "http://www.w3.org/2000/svg", "viewBox": "0 0 \(width.inMarkup) \(height.inMarkup)",
                "width": width, "height": height, "role": "img",
            ], [.style(style), .style(marks)] + parts)
        return GraphCommand.Form.svg.sign + "\n" + drawing.written
    }

    private static let style: StaticString = """
        svg { --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --main: #0b62a8; --good: #116329; --bad: #a40e26;
          background: var(--paper); font: 13px system-ui, sans-serif; }
        @media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --soft: #a3adb8; --paper: #0d1117; --main: #6cb6ff;
          --good: #56d364; --bad: #ff7b72; } }
        @media print { svg { --ink: #000000; --soft: #444444; --paper: #ffffff; --main: #0b62a8; --good: #116329;
          --bad: #a40e26; } }
        text { fill: var(--ink); unicode-bidi: isolate; } .soft { fill: var(--soft); font-size: 12px; }
        """

    /// The style of boxes and lines.
    static let marks: StaticString = """
        rect { fill: var(--paper); stroke: var(--main); stroke-width: 1.5; }
        rect.current { stroke-width: 3.5; } rect.mapping { stroke: var(--soft); rx: 14px; }
        rect.added { stroke: var(--good); stroke-width: 2.5; } rect.removed { stroke: var(--bad); stroke-dasharray: 6 4; }
        rect.renamed { stroke-width: 2.5; }
        .way { stroke: var(--ink); stroke-width: 1.5; fill: none; } .arrow { fill: var(--ink); }
        .noneway { stroke: var(--bad); stroke-width: 2; stroke-dasharray: 1 5; fill: none; stroke-linecap: round; }
        .equalway { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 6 4; fill: none; }
        .curve { stroke: var(--soft); stroke-width: 1.2; fill: none; }
        """
}

/// Texts of Graphviz's DOT language.
enum DotText {
    static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

    /// Lines aligned at the left.
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
