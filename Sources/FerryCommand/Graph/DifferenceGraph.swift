internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// The entities in which two versions differ.
struct DifferenceGraph {
    enum Kind: String, CaseIterable {
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

    struct Box {
        var kind: Kind
        /// The entity's name in the version that has the entity; the newer name of a renamed entity.
        var entity: String
        var title: String
        var lines: [String]
        /// The destination entities of new or changed relationships.
        var related: [String]
    }

    private let names: (from: String, to: String)
    private let boxes: [Box]
    /// The number of entities that are equal in both versions.
    private let unchanged: Int

    init(from source: ModelVersion, to destination: ModelVersion, names: (from: String, to: String)) {
        let difference = ModelDifference(from: source.model, to: destination.model)
        // A removed entity and a new one may have the same name.
        let groups = difference.changes.groups { [$0.entity, $0.kind == .entityRemoved ? "-" : ""] }
        let words = ChangeWords(source: source.model, destination: destination.model)
        let boxes = groups.map { words.box($0.elements) }
        self.names = names
        self.boxes = Kind.allCases.flatMap { kind in boxes.filter { $0.kind == kind } }
        unchanged = destination.model.entities.count - boxes.count(where: { $0.kind != .removed })
    }

    private var heading: String {
        let counts = Kind.allCases.compactMap { kind -> String? in
            let count = boxes.count { $0.kind == kind }
            return count > 0 ? "\(count) \(kind.rawValue)" : nil
        }
        return (counts + ["\(unchanged) unchanged"]).joined(separator: ", ")
    }

    var json: JSON {
        [
            "from": names.from, "to": names.to,
            "entities": JSON.list(boxes) { ["entity": $0.entity, "kind": $0.kind.rawValue, "lines": $0.lines] },
            "unchanged": unchanged,
        ]
    }

    var drawing: BoxDrawing {
        BoxDrawing(
            title: "\(names.from) → \(names.to)", legend: heading,
            boxes: boxes.map {
                BoxDrawing.Box(style: $0.kind.rawValue, title: "\($0.kind.sign) \($0.title)", lines: $0.lines)
            }, links: BoxDrawing.Link.pairs(boxes.map { box in (box.entity, box.related.map { (nil, $0) }) }))
    }
}

/// The changes of an entity, one line each.
struct ChangeWords {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel

    func box(_ changes: [ModelDifference.Change]) -> DifferenceGraph.Box {
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
        return DifferenceGraph.Box(
            kind: old == nil ? .changed : .renamed, entity: entity, title: old.map { "\($0) → \(entity)" } ?? entity,
            lines: lines, related: related)
    }

    private func whole(
        _ kind: DifferenceGraph.Kind, _ entity: String, in model: ManagedObjectModel
    ) -> DifferenceGraph.Box {
        let relationships = model.relationships(of: entity)
        let described = model.attributes(of: entity).map(Self.described) + relationships.map(Self.described)
        return DifferenceGraph.Box(
            kind: kind, entity: entity, title: entity, lines: described.map { "\(kind.sign) \($0)" },
            related: relationships.map(\.destinationEntity))
    }

    private func line(_ change: ModelDifference.Change) -> String {
        guard let property = change.property else { return "~ \(Self.spaced(change.kind.rawValue))" }
        let entity = change.entity
        switch change.kind {
        case .attributeAdded:
            return "+ " + (destination.attribute(property, of: entity).map(Self.described) ?? property)
        case .relationshipAdded:
            return "+ " + (destination.relationship(property, of: entity).map(Self.described) ?? property)
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

    static func described(_ attribute: Attribute) -> String {
        "\(attribute.name): \(spaced("\(attribute.type)"))" + (attribute.isOptional ? "" : ", mandatory")
    }

    static func described(_ relationship: Relationship) -> String {
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
