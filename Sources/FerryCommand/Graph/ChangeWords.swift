internal import FerryModel

/// What changed in an entity, in a line for each change.
struct ChangeWords {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel

    /// More properties of an entity that is all new, or all gone, tell nothing more.
    private static let mostProperties = 12

    func box(_ changes: [ModelDifference.Change]) -> DifferenceDrawing.Box {
        let entity = changes[0].entity
        if changes.contains(where: { $0.kind == .entityAdded }) {
            return whole(.added, entity, in: destination, sign: "+")
        }
        if changes.contains(where: { $0.kind == .entityRemoved }) {
            return whole(.removed, entity, in: source, sign: "−")
        }
        let old = changes.first { $0.kind == .entityRenamed }?.oldName
        var related: [String] = []
        var lines: [String] = []
        for change in changes where change.kind != .entityRenamed {
            lines.append(line(change))
            guard let property = change.property,
                change.kind.rawValue.hasPrefix("relationship") || isDestination(change)
            else { continue }
            let found =
                destination.relationship(property, of: entity)
                ?? source.relationship(change.oldName ?? property, of: old ?? entity)
            if let found { related.append(found.destinationEntity) }
        }
        return DifferenceDrawing.Box(
            kind: old == nil ? .changed : .renamed, entity: entity, title: old.map { "\($0) → \(entity)" } ?? entity,
            lines: lines, related: related)
    }

    private func isDestination(_ change: ModelDifference.Change) -> Bool { change.kind == .destinationEntityChanged }

    private func whole(
        _ kind: DifferenceDrawing.Kind, _ entity: String, in model: ManagedObjectModel, sign: String
    ) -> DifferenceDrawing.Box {
        let relationships = model.relationships(of: entity)
        let lines =
            model.attributes(of: entity).map { "\(sign) \(described($0))" }
            + relationships.map { "\(sign) \(described($0))" }
        let rest = lines.count - Self.mostProperties
        return DifferenceDrawing.Box(
            kind: kind, entity: entity, title: entity,
            lines: lines.prefix(Self.mostProperties) + (rest > 0 ? ["and \(rest) more"] : []),
            related: relationships.map(\.destinationEntity))
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

    /// The kind without the word that says which sort of property it is.
    private static func words(_ kind: ModelDifference.Kind) -> String {
        let words = spaced(kind.rawValue)
        for prefix in ["attribute ", "relationship "] where words.hasPrefix(prefix) {
            return String(words.dropFirst(prefix.count))
        }
        return words
    }

    /// `attributeTypeChanged` as words.
    private static func spaced(_ name: String) -> String {
        var words = ""
        for character in name {
            if character.isUppercase || (character.isNumber && words.last?.isNumber == false) { words += " " }
            words += character.lowercased()
        }
        return words
    }
}
