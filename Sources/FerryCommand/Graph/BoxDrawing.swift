internal import FerryBase

/// Boxes of text in columns, and lines between them that never run behind a box.
struct BoxDrawing {
    struct Box: Sendable {
        /// The class of its rectangle, and in DOT its style.
        var style: String
        var title: String
        var lines: [String]

        fileprivate var shown: [String] {
            let most = BoxDrawing.mostLines
            return lines.count > most ? lines.prefix(most) + ["and \(lines.count - most) more"] : lines
        }
    }

    struct Link: Sendable {
        var from: Int
        var to: Int
        var style: String
        /// Only DOT has it: a drawing has it in the box at which the line begins.
        var label = ""
        var row: Int?
    }

    let title: String
    let legend: String
    let boxes: [Box]
    let links: [Link]

    fileprivate static let mostLines = 80
    private static let (left, top, gap, pitch, head) = (28.0, 76.0, 44.0, 16.0, 38.0)

    private var width: Double {
        let texts = boxes.flatMap { [$0.title] + $0.shown }
        let longest = texts.map { TextMetrics.width($0, size: Drawing.size, isBold: true) }.max() ?? 0
        return min(420, max(140, (longest + 2 * Drawing.inset).rounded(.up)))
    }

    /// The boxes in their order, from top to bottom, in as many columns as make a picture of about four by three.
    var layout: (boxes: [Rect], width: Double, height: Double) {
        let width = width
        let heights = boxes.map { Self.head + Double($0.shown.count) * Self.pitch }
        let sum = heights.reduce(0) { $0 + $1 + Self.gap / 2 }
        let columns = max(1, (sum * 4 / 3 / (width + Self.gap)).squareRoot().rounded())
        let most = max(heights.max() ?? 0, sum / columns)
        var (x, y, bottom) = (Self.left, Self.top, Self.top)
        var rects: [Rect] = []
        for height in heights {
            if y > Self.top, y + height > Self.top + most {
                x += width + Self.gap
                y = Self.top
            }
            rects.append(Rect(x: x, y: y, width: width, height: height))
            y += height + Self.gap / 2
            bottom = max(bottom, y)
        }
        return (rects, max(600, x + width + Self.gap), bottom + 8)
    }

    /// The lines: within the gaps beside the columns and above all boxes; between two boxes below each other, straight.
    var routes: [[(x: Double, y: Double)]] {
        let rects = layout.boxes
        let step = (rects.first?.width ?? 0) + Self.gap
        func column(_ rect: Rect) -> Int { Int(((rect.x - Self.left) / step).rounded()) }
        return links.enumerated().map { index, link in
            let (one, other) = (rects[link.from], rects[link.to])
            let (first, last) = (column(one), column(other))
            if first == last, link.to == link.from + 1 {
                let x = one.x + 20
                return [(x, one.bottom), (x, other.y)]
            }
            // Lines beside each other, in the middle of a gap; the gap with the number -1 is at the left of all.
            let shift = Double(index * 7 % 29) - 14
            func gap(after column: Int) -> Double { Self.left + Double(column + 1) * step - Self.gap / 2 + shift }
            func side(_ rect: Rect, isRight: Bool, salt: Int) -> (x: Double, y: Double) {
                (isRight ? rect.right : rect.x, rect.y + 8 + Double((index * 5 + salt) % max(1, Int(rect.height) - 16)))
            }
            var start = side(one, isRight: last >= first, salt: 0)
            if let row = link.row {
                start.y = one.y + 36 + Double(min(row, boxes[link.from].shown.count - 1)) * Self.pitch
            }
            let end = side(other, isRight: last <= first, salt: 3)
            let out = gap(after: last >= first ? first : first - 1)
            let back = gap(after: last <= first ? last : last - 1)
            if out == back { return [start, (out, start.y), (out, end.y), end] }
            let lane = Self.top - 6 - Double(index % 5) * 3
            return [start, (out, start.y), (out, lane), (back, lane), (back, end.y), end]
        }
    }

    var svg: String {
        let layout = layout
        var parts = [
            Markup.element("title", [:], title),
            Drawing.text(
                title, 16, 22, within: layout.width - 32, size: 15, isBold: true,
                style: "font-weight:600;font-size:15px"),
            Drawing.text(legend, 16, 42, isSoft: true),
        ]
        for (box, rect) in zip(boxes, layout.boxes) { parts += drawn(box, in: rect) }
        for (link, route) in zip(links, routes) { parts += Drawing.route(route, link.style) }
        return Drawing.document(width: layout.width, height: layout.height, parts)
    }

    private func drawn(_ box: Box, in rect: Rect) -> [Markup] {
        let (x, room) = (rect.x + Drawing.inset, rect.width - 2 * Drawing.inset)
        let title = Drawing.text(box.title, x, rect.y + 20, within: room, isBold: true, style: "font-weight:600")
        return [Drawing.rect(rect, box.style, corner: "5"), title]
            + box.shown.enumerated().map { index, line in
                Drawing.text(line, x, rect.y + 40 + Double(index) * Self.pitch, within: room)
            }
    }

    var dot: String {
        let styles = [
            "added": "bold", "current": "bold", "removed": "dashed", "equalway": "dashed", "noneway": "dotted",
            "mapping": "bold",
        ]
        let nodes = boxes.enumerated().map { index, box in
            let text = DotText.leftLines([box.title] + box.shown)
            return "  b\(index) [label=\(text), style=\(styles[box.style] ?? "solid")];"
        }
        let edges = links.map { link in
            let label = link.label.isEmpty ? "" : "label=\(DotText.quoted(link.label)), "
            return "  b\(link.from) -> b\(link.to) [\(label)style=\(styles[link.style] ?? "solid")];"
        }
        return
            ([
                GraphCommand.Form.dot.sign, "digraph ferry {",
                "  label=\(DotText.quoted("\(title): \(legend)"));", "  node [shape=box, fontname=\"sans-serif\"];",
                "  edge [fontname=\"sans-serif\", fontsize=10];",
            ] + nodes + edges + ["}"]).joined(separator: "\n")
    }
}
