internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// The entities in which two versions differ, as boxes with the differences.
package struct DifferenceDrawing {
    package enum Kind: String, Sendable, CaseIterable {
        case changed, renamed, added, removed

        /// The sign of the kind, readable without colour.
        var sign: String {
            switch self {
            case .changed: "~"
            case .renamed: "→"
            case .added: "+"
            case .removed: "−"
            }
        }
    }

    package struct Box: Sendable {
        package var kind: Kind
        /// The entity's name in the version that has the entity; the newer name of a renamed entity.
        package var entity: String
        package var title: String
        package var lines: [String]
        /// The destination entities of new or changed relationships.
        package var related: [String]
        /// The lines for which the box has no room; their number is its last line.
        var rest: [String]
        var allLines: [String] { (rest.isEmpty ? lines : lines.dropLast()) + rest }

        package init(
            kind: Kind, entity: String, title: String, lines: [String], related: [String], rest: [String] = []
        ) {
            (self.kind, self.entity, self.title, self.lines) = (kind, entity, title, lines)
            (self.related, self.rest) = (related, rest)
        }
    }

    package let names: (from: String, to: String)
    package let boxes: [Box]
    /// The number of entities that are equal in both versions.
    package let unchanged: Int

    package init(names: (from: String, to: String), boxes: [Box], unchanged: Int) {
        (self.names, self.boxes, self.unchanged) = (names, boxes, unchanged)
    }

    init(from source: ModelVersion, to destination: ModelVersion, names: (from: String, to: String)) {
        let difference = ModelDifference(from: source.model, to: destination.model)
        // A removed entity and a new one may have the same name.
        let groups = difference.changes.groups { [$0.entity, $0.kind == .entityRemoved ? "-" : ""] }
        let words = ChangeWords(source: source.model, destination: destination.model)
        let boxes = groups.map { words.box($0.elements) }
        self.init(
            names: names, boxes: Kind.allCases.flatMap { kind in boxes.filter { $0.kind == kind } },
            unchanged: destination.model.entities.count - boxes.count(where: { $0.kind != .removed }))
    }

    var heading: String {
        let counts = Kind.allCases.compactMap { kind -> String? in
            let count = boxes.count { $0.kind == kind }
            return count > 0 ? "\(count) \(kind.rawValue)" : nil
        }
        return (counts + ["\(unchanged) unchanged"]).joined(separator: ", ")
    }

    var json: JSON {
        [
            "from": names.from, "to": names.to,
            "entities": JSON.list(boxes) {
                // An added or removed entity is told in short.
                let isWhole = [.added, .removed].contains($0.kind)
                return ["entity": $0.entity, "kind": $0.kind.rawValue, "lines": isWhole ? $0.lines : $0.allLines]
            },
            "unchanged": unchanged,
        ]
    }

    package var dot: String {
        var lines = [
            GraphCommand.Form.dot.sign, "digraph difference {",
            "  label=\(DotText.quoted("\(names.from) → \(names.to): \(heading)"));",
            "  node [shape=box, fontname=\"sans-serif\"];",
        ]
        for (index, box) in boxes.enumerated() {
            let style =
                switch box.kind {
                case .added: "style=bold"
                case .removed: "style=dashed"
                case .renamed, .changed: "style=solid"
                }
            let text = DotText.leftLines(["\(box.kind.sign) \(box.title)"] + box.lines)
            lines.append("  e\(index) [label=\(text), \(style)];")
        }
        for (from, to) in edges { lines.append("  e\(from) -> e\(to) [style=solid];") }
        return (lines + ["}"]).joined(separator: "\n")
    }

    /// Relationships between two drawn entities, each pair once.
    private var edges: [(from: Int, to: Int)] {
        var places: [String: Int] = [:]
        for (index, box) in boxes.enumerated() where places[box.entity] == nil || box.kind != .removed {
            places[box.entity] = index
        }
        var seen: Set<[Int]> = []
        var edges: [(from: Int, to: Int)] = []
        for (index, box) in boxes.enumerated() {
            for name in box.related {
                guard let other = places[name], other != index,
                    seen.insert([min(index, other), max(index, other)]).inserted
                else { continue }
                edges.append((index, other))
            }
        }
        return edges
    }

    private static let (top, boxWidth, gap, lineHeight) = (64.0, 270.0, 28.0, 16.0)

    /// The boxes in columns, each box in the column with the most room; boxes do not overlap.
    package var layout: (boxes: [Rect], width: Double, height: Double) {
        let columns = min(6, max(1, Int(Double(boxes.count).squareRoot().rounded(.up))))
        var ends = [Double](repeating: Self.top, count: columns)
        let rects = boxes.map { box in
            let column = ends.indices.min { ends[$0] < ends[$1] } ?? 0
            let height = 30 + Double(box.lines.count) * Self.lineHeight + 8
            let rect = Rect(
                x: 16 + Double(column) * (Self.boxWidth + Self.gap), y: ends[column], width: Self.boxWidth,
                height: height)
            ends[column] += height + Self.gap
            return rect
        }
        let width = max(560, 16 + Double(columns) * (Self.boxWidth + Self.gap))
        return (rects, width, (ends.max() ?? Self.top) + 8)
    }

    /// The lines between related entities, in the gaps between the columns and above them, never behind a box.
    package var routes: [[(x: Double, y: Double)]] {
        let rects = layout.boxes
        func column(_ rect: Rect) -> Int { Int(((rect.x - 16) / (Self.boxWidth + Self.gap)).rounded()) }
        return edges.enumerated().map { index, edge in
            var (one, other) = (rects[edge.from], rects[edge.to])
            if column(one) > column(other) { swap(&one, &other) }
            // Lines beside each other, in the middle of a gap.
            let shift = Double(index * 5 % 17) - 8
            func gap(after column: Int) -> Double {
                16 + Double(column + 1) * (Self.boxWidth + Self.gap) - Self.gap / 2 + shift
            }
            let (first, last) = (column(one), column(other))
            let out = gap(after: first)
            guard first + 1 < last else {
                let end = first < last ? other.x : other.right
                return [(one.right, one.middle), (out, one.middle), (out, other.middle), (end, other.middle)]
            }
            let (lane, back) = (Self.top - 4 - Double(index % 4) * 3, gap(after: last - 1))
            return [
                (one.right, one.middle), (out, one.middle), (out, lane), (back, lane), (back, other.middle),
                (other.x, other.middle),
            ]
        }
    }

    package var svg: String {
        Drawing.document(width: layout.width, height: layout.height, parts())
    }

    /// The parts of the drawing; `link` gives the address to which the box of an index leads.
    func parts(link: (Int) -> String? = { _ in nil }) -> [Markup] {
        var parts = [
            Markup.element("title", [:], "What changed from \(names.from) to \(names.to)"),
            Drawing.text("\(names.from) → \(names.to)", 16, 22, style: "font-weight:600;font-size:15px"),
            Drawing.text("\(heading).  + added  − removed  → renamed  ~ changed", 16, 42, isSoft: true),
        ]
        for route in routes { parts += Drawing.route(route) }
        for (index, (box, rect)) in zip(boxes, layout.boxes).enumerated() {
            parts += Drawing.linked(drawn(box, in: rect), to: link(index))
        }
        return parts
    }

    private func drawn(_ box: Box, in rect: Rect) -> [Markup] {
        let room = Self.boxWidth - 20
        let title = Drawing.text(
            "\(box.kind.sign) \(box.title)", rect.x + 10, rect.y + 20, within: room, isBold: true,
            style: "font-weight:600")
        let lines = box.lines.enumerated().map { index, line in
            Drawing.text(line, rect.x + 10, rect.y + 40 + Double(index) * Self.lineHeight, within: room)
        }
        return [Drawing.rect(rect, box.kind.rawValue, corner: "5"), title] + lines
    }
}

/// The changes of an entity, one line each.
struct ChangeWords {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel

    /// The most properties listed for an added or removed entity.
    private static let mostProperties = 12
    /// The most lines of a changed entity, so that its box does not outgrow the drawing.
    private static let mostChanges = 24

    /// The lines for a box, and the others.
    private static func cut(_ lines: [String], to most: Int) -> (drawn: [String], rest: [String]) {
        guard lines.count > most else { return (lines, []) }
        let rest = Array(lines.dropFirst(most))
        return (lines.prefix(most) + ["and \(rest.count) more"], rest)
    }

    func box(_ changes: [ModelDifference.Change]) -> DifferenceDrawing.Box {
        let entity = changes[0].entity
        if changes.contains(where: { $0.kind == .entityAdded }) {
            return whole(.added, entity, in: destination)
        }
        if changes.contains(where: { $0.kind == .entityRemoved }) {
            return whole(.removed, entity, in: source)
        }
        let old = changes.first { $0.kind == .entityRenamed }?.oldName
        var related: [String] = []
        var lines: [String] = []
        for change in changes where change.kind != .entityRenamed {
            lines.append(line(change))
            guard let property = change.property,
                change.kind.rawValue.hasPrefix("relationship") || change.kind == .destinationEntityChanged
            else { continue }
            let found =
                destination.relationship(property, of: entity)
                ?? source.relationship(change.oldName ?? property, of: old ?? entity)
            if let found { related.append(found.destinationEntity) }
        }
        let (drawn, rest) = Self.cut(lines, to: Self.mostChanges)
        return DifferenceDrawing.Box(
            kind: old == nil ? .changed : .renamed, entity: entity, title: old.map { "\($0) → \(entity)" } ?? entity,
            lines: drawn, related: related, rest: rest)
    }

    private func whole(
        _ kind: DifferenceDrawing.Kind, _ entity: String, in model: ManagedObjectModel
    ) -> DifferenceDrawing.Box {
        let relationships = model.relationships(of: entity)
        let described = model.attributes(of: entity).map(described) + relationships.map(described)
        let lines = described.map { "\(kind.sign) \($0)" }
        let (drawn, rest) = Self.cut(lines, to: Self.mostProperties)
        return DifferenceDrawing.Box(
            kind: kind, entity: entity, title: entity, lines: drawn,
            related: relationships.map(\.destinationEntity), rest: rest)
    }

    private func line(_ change: ModelDifference.Change) -> String {
        guard let property = change.property else { return "~ \(Self.spaced(change.kind.rawValue))" }
        let entity = change.entity
        switch change.kind {
        case .attributeAdded:
            return "+ " + (destination.attribute(property, of: entity).map(described) ?? property)
        case .relationshipAdded:
            return "+ " + (destination.relationship(property, of: entity).map(described) ?? property)
        case .attributeRemoved, .relationshipRemoved: return "− \(property)"
        case .attributeRenamed, .relationshipRenamed: return "→ \(change.oldName ?? "?") → \(property)"
        case .attributeTypeChanged:
            let old = ModelMatching(source: source, destination: destination).sourceAttribute(of: property, in: entity)
            let types = [old, destination.attribute(property, of: entity)].map {
                $0.map { Self.spaced("\($0.type)") } ?? "?"
            }
            return "~ \(property): \(types[0]) → \(types[1])"
        default: return "~ \(property): \(Self.words(change.kind))"
        }
    }

    private func described(_ attribute: Attribute) -> String {
        "\(attribute.name): \(Self.spaced("\(attribute.type)"))" + (attribute.isOptional ? "" : ", mandatory")
    }

    private func described(_ relationship: Relationship) -> String {
        "\(relationship.name) → \(relationship.destinationEntity)" + (relationship.isToMany ? " (to-many)" : "")
    }

    /// The kind in words, without the prefix `attribute` or `relationship`.
    private static func words(_ kind: ModelDifference.Kind) -> String {
        let words = spaced(kind.rawValue)
        for prefix in ["attribute ", "relationship "] where words.hasPrefix(prefix) {
            return String(words.dropFirst(prefix.count))
        }
        return words
    }

    /// Splits a camel-case name such as `attributeTypeChanged` into words.
    static func spaced(_ name: String) -> String {
        var words = ""
        for character in name {
            if character.isUppercase || (character.isNumber && words.last?.isNumber == false) { words += " " }
            words += character.lowercased()
        }
        return words
    }
}
