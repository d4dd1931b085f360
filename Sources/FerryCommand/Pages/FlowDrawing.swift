internal import FerryBase

/// The objects that flow from source entities to destination entities, as ribbons whose widths are their numbers.
struct FlowDrawing {
    struct Flow {
        var source: String?
        /// Nil for objects that get no destination object.
        var destination: String?
        var count: Int64?
        var isEstimated = false
        /// The entity mapping of the flow; several entity mappings may read the same objects.
        var mapping = ""
        var end = "left out"
    }

    let title: String
    let flows: [Flow]

    /// Whether objects split, merge, are left out or are new: else the drawing would only repeat the table.
    private var branches: Bool {
        let real = flows.filter { $0.count ?? 1 > 0 }
        let isOneSided = real.contains { $0.source == nil || $0.destination == nil }
        func isShared(_ ends: [String?]) -> Bool { Set(ends).count < ends.count }
        return isOneSided || isShared(real.map(\.source)) || isShared(real.map(\.destination))
    }

    /// The most flows drawn, as more cannot be told apart; the table below has all.
    private static let most = 60
    private static let (width, leftBar, rightBar, bar) = (400.0, 132.0, 260.0, 8.0)
    /// `least` has room for a name above a number.
    private static let (least, gap, top) = (28.0, 8.0, 26.0)

    var markup: Markup? {
        let drawn = flows.enumerated().filter { $0.element.count ?? 1 > 0 }
            .inOrder { ($0.element.count ?? 0, $1.offset) > ($1.element.count ?? 0, $0.offset) }
            .prefix(Self.most).inOrder { $0.offset < $1.offset }.map(\.element)
        guard !drawn.isEmpty, branches else { return nil }
        let left = column(drawn.map { $0.source ?? "new" }, drawn)
        let right = column(drawn.map { $0.destination ?? $0.end }, drawn)
        let height = max(left.height, right.height) + Self.top + 8
        var parts: [Markup] = [
            Drawing.text("from", Self.leftBar + Self.bar, 12, anchor: "end", isSoft: true),
            Drawing.text("to", Self.rightBar, 12, isSoft: true),
        ]
        for index in drawn.indices {
            let height = thickness(drawn[index], drawn)
            parts.append(ribbon(drawn[index], left.places[index], right.places[index], height: height))
        }
        for node in left.nodes { parts += shown(node, isLeft: true) }
        for node in right.nodes { parts += shown(node, isLeft: false) }
        let rest = flows.count(where: { $0.count ?? 1 > 0 }) - drawn.count
        let caption = rest > 0 ? "\(title); \(Int64(rest).counting("smaller flow")) more in the table" : title
        let ends = drawn.contains { $0.destination == nil } ? ". Dashed: left out or merged." : "."
        return Drawing.figure(title, caption + ends, width: Self.width, height: height, parts)
    }

    private struct Node {
        var name: String
        var y: Double
        var height: Double
        var flows: [Flow]
    }

    /// The nodes of one side below each other, and the y coordinate of each flow at its node.
    private func column(_ names: [String], _ flows: [Flow]) -> (nodes: [Node], places: [Double], height: Double) {
        var places = [Double](repeating: 0, count: flows.count)
        var nodes: [Node] = []
        var y = Self.top
        for (name, own) in names.indices.groups(by: { names[$0] }) {
            let total = own.map { thickness(flows[$0], flows) }.reduce(0, +)
            let height = max(Self.least, total)
            var place = y + (height - total) / 2
            for index in own {
                places[index] = place
                place += thickness(flows[index], flows)
            }
            nodes.append(Node(name: name, y: y, height: height, flows: own.map { flows[$0] }))
            y += height + Self.gap
        }
        return (nodes, places, y - Self.top)
    }

    private func thickness(_ flow: Flow, _ flows: [Flow]) -> Double {
        let total = max(1, Double(flows.compactMap(\.count).clampedSum))
        return max(2, Double(flow.count ?? 0) / total * 150)
    }

    private func ribbon(_ flow: Flow, _ from: Double, _ to: Double, height: Double) -> Markup {
        let (start, end) = (Self.leftBar + Self.bar, Self.rightBar)
        let middle = (start + end) / 2
        let path = [
            Drawing.move("M", start, from), Drawing.move("C", middle, from, middle, to, end, to),
            Drawing.move("V", to + height),
            Drawing.move("C", middle, to + height, middle, from + height, start, from + height), "Z",
        ]
        let number = flow.count.map { ": " + Quantity.rowsText($0, isEstimated: flow.isEstimated) }
        let words = "\(flow.source ?? "new") → \(flow.destination ?? flow.end)" + (number ?? "")
        return .element(
            "g", [:], .element("title", [:], words),
            .element(
                "path",
                ["class": flow.destination == nil ? "gone" : "ribbon", "d": path.joined(separator: " ")]))
    }

    private func shown(_ node: Node, isLeft: Bool) -> [Markup] {
        let x = isLeft ? Self.leftBar : Self.rightBar
        let labelX = isLeft ? Self.leftBar - 6 : Self.rightBar + Self.bar + 6
        let anchor = isLeft ? "end" : "start"
        let middle = node.y + node.height / 2
        let (counts, mappings) = (node.flows.compactMap(\.count), Set(node.flows.map(\.mapping)))
        var number =
            counts.count < node.flows.count
            ? "" : Quantity.rowsText(counts.clampedSum, isEstimated: node.flows.contains { $0.isEstimated })
        // Several mappings mostly read the same objects: the sum of their numbers would mean nothing.
        if isLeft, mappings.count > 1 { number = "by \(mappings.count) mappings" }
        let room = isLeft ? labelX - 2 : Self.width - labelX - 2
        let name = Drawing.text(
            node.name, labelX, number.isEmpty ? middle + 4 : middle - 2, within: room, size: 11, anchor: anchor)
        return [Drawing.rect(Rect(x: x, y: node.y, width: Self.bar, height: node.height), "node"), name]
            + (number.isEmpty ? [] : [Drawing.text(number, labelX, middle + 11, anchor: anchor, isSoft: true)])
    }
}
