internal import FerryExpression
internal import FerryModel

extension EntityMapping {
    /// What a mapping file shows of an entity mapping whose policy is code: entities, user info, filter, and every
    /// property with a rule of its own; one item each.
    package var shown: [String] {
        var items = ["\(source ?? "no source entity") to \(destination ?? "no destination entity")"]
        items += userInfo.sorted { codeUnitOrder($0.key, $1.key) }.map { "user info \($0.key) = \($0.value)" }
        if let filter { items.append("where \(filter)") }
        items += attributes.sorted { codeUnitOrder($0.key, $1.key) }.compactMap { name, rule in
            if case .value(let expression) = rule { "\(name) = \(expression)" } else { nil }
        }
        items += relationships.sorted { codeUnitOrder($0.key, $1.key) }.compactMap { name, rule in
            rule.lookedUp.map { "\(name) = \($0)" }
        }
        items += unreadable.map { "\($0.part), which cannot be read: \($0.reason)" }
        return items
    }
}

extension RelationshipRule {
    /// What a rule that is neither automatic nor empty looks up, in words.
    package var lookedUp: String? {
        switch self {
        case .automatic, .empty: nil
        case .destinations(let mapping, let from): "what \(mapping) made of \(from)"
        case .destinationsOfAnyMapping(let from): "what any entity mapping made of \(from)"
        }
    }
}

extension ManagedObjectModel {
    /// The type of a property as a reader of a mapping file needs it: `Integer 16`, `to many User, ordered`.
    package func typeText(of property: String, in entity: String) -> String? {
        if let attribute = attribute(property, of: entity) { return attribute.type.sourceName }
        return relationship(property, of: entity)?.typeText
    }
}

extension Relationship {
    package var typeText: String {
        "to \(isToMany ? "many" : "one") \(destinationEntity)\(isOrdered ? ", ordered" : "")"
    }
}
