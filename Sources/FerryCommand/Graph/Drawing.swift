struct Rect: Sendable, Equatable {
    var x: Double
    var y: Double
    var width: Double
    var height: Double

    var right: Double { x + width }
    var bottom: Double { y + height }
}

enum Drawing {
    static let size = 13.0
    static let inset = 12.0

    /// A text that is cut to keep within a room in any common font, or to 200 characters.
    ///
    /// A name is cut in its middle; the type behind it stays whole, and of a relationship both names are seen. A tooltip
    /// has the whole text.
    static func text(
        _ text: String, _ x: Double, _ y: Double, within room: Double? = nil, size: Double = Drawing.size,
        isBold: Bool = false, anchor: String? = nil, isSoft: Bool = false, style: String? = nil
    ) -> Markup {
        let mark = [": ", " → "].compactMap { text.firstRange(of: $0)?.lowerBound }.min() ?? text.endIndex
        let shown =
            room.map { room in
                let (name, rest) = (String(text[..<mark]), String(text[mark...]))
                let least = room * (rest.hasPrefix(": ") ? 0.7 : 0.6)
                let free = room - TextMetrics.width(name, size: size, isBold: isBold)
                let end = TextMetrics.fitted(rest, into: max(least, free), size: size, isBold: isBold)
                let left = room - TextMetrics.width(end, size: size, isBold: isBold)
                return TextMetrics.fitted(name, into: left, size: size, isBold: isBold) + end
            } ?? shortened(text, to: 200)
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

    static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ style: String) -> Markup {
        .element("line", ["class": style, "x1": x1, "y1": y1, "x2": x2, "y2": y2])
    }

    static func points(_ name: String, _ points: [(Double, Double)], _ style: String) -> Markup {
        let list = points.map { "\($0.0.inMarkup),\($0.1.inMarkup)" }.joined(separator: " ")
        return .element(name, ["class": style, "points": list])
    }

    static func route(_ points: [(x: Double, y: Double)], _ style: String) -> [Markup] {
        guard let last = points.last else { return [] }
        return [
            Self.points("polyline", points.map { ($0.x, $0.y) }, style),
            .element("circle", ["class": "end", "cx": last.x, "cy": last.y, "r": "3"]),
        ]
    }

    static func move(_ letter: String, _ places: Double...) -> String {
        letter + places.map(\.inMarkup).joined(separator: " ")
    }

    static func figure(_ title: String, _ caption: String, width: Double, height: Double, _ parts: [Markup]) -> Markup {
        .element(
            "figure", [:],
            .element(
                "svg", ["viewBox": "0 0 \(Int(width)) \(height.inMarkup)", "role": "img", "aria-label": title],
                [.element("title", [:], title)] + parts),
            .element("figcaption", [:], caption))
    }

    static func document(width: Double, height: Double, _ parts: [Markup]) -> String {
        let text = Template.drawing.around(parts, ["width": width.inMarkup, "height": height.inMarkup])
        return String(text.dropLast())
    }
}

enum DotText {
    static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

    static func leftLines(_ lines: [String]) -> String { "\"\(lines.map { escaped($0) + "\\l" }.joined())\"" }

    private static func escaped(_ text: String) -> String {
        text.shown(with: ["\"": "\\\"", "\\": "\\\\", "\n": " ", "\t": " "])
    }
}
