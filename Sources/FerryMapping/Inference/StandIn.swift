internal import FerryExpression
package import FerryModel

/// The entity mappings of a mapping model that need code, with the contents that the mapping model shows.
///
/// Ferry begins a mapping file from them, or a package with the policies' hooks.
package struct StandIn: Sendable {
    /// One entity mapping that needs a stand-in.
    package struct Part: Sendable {
        /// The entity mapping in the mapping model.
        package var original: EntityMapping
        /// Its replacement, without open properties; nil without a source entity.
        package var replacement: EntityMapping?
        /// All properties of the destination entity that a mapping sets.
        package var properties: [Property] = []
        /// Whether no entity mapping makes objects of the destination entity, so that code may have.
        package var isUnfilled = false
    }

    /// One destination property of an entity mapping that needs code.
    package struct Property: Sendable, Hashable {
        package var name: String
        package var type: String
        /// The destination entity of a relationship; nil for an attribute.
        package var destinationEntity: String?
        package var isToMany = false
        /// The value in the mapping model; nil if the author must give it.
        package var given: String?
        /// The text after the type, if the author must give the value.
        package var hint = ""
        /// The selectors and keys of the policy that its expression uses.
        package var asks: [String] = []

        package var isOpen: Bool { given == nil }
        /// The text of an open property in a file: it begins with a question mark.
        package var openText: String { "? \(destinationEntity == nil ? type : objects)\(hint)" }

        private var objects: String { "\(isToMany ? "objects" : "an object") of \(destinationEntity ?? "")" }
    }

    package private(set) var parts: [Part] = []
    /// Facts that have no place in the file, one line each.
    package private(set) var notes: [String] = []

    private let source: ManagedObjectModel
    private let destination: ManagedObjectModel

    package init(for model: MappingModel, source: ModelVersion, destination: ModelVersion) {
        (self.source, self.destination) = (source.model, destination.model)
        for mapping in model.entityMappings where mapping.policyClassName != nil || !mapping.unreadable.isEmpty {
            add(mapping)
        }
        guard parts.contains(where: { $0.original.policyClassName != nil }) else { return }
        addUnfilled(of: model)
    }

    // MARK: Entity mappings with a policy

    private mutating func add(_ mapping: EntityMapping) {
        let policy = mapping.policyClassName.map { "policy \($0)" } ?? "parts that cannot be read"
        notes.append("\(mapping.name): \(policy); \(mapping.shown.joined(separator: "; ")).")
        var part = Part(original: mapping)
        defer { parts.append(part) }
        guard let from = mapping.source, let to = mapping.destination, source.entities[from] != nil,
            destination.entities[to] != nil
        else {
            notes.append("\(mapping.name): name the source entity that these objects are created from.")
            return
        }
        var standIn = mapping
        (standIn.attributes, standIn.relationships, standIn.userInfo) = ([:], [:], [:])
        standIn.unreadable = mapping.unreadable.filter { $0.property == nil }
        // The reader refuses the file until the author removes the line, so that the code is not overlooked.
        let userInfo = mapping.shown.filter { $0.hasPrefix("user info ") }
        standIn.policyClassName = mapping.policyClassName.map { name in
            "? \(([name] + userInfo).joined(separator: ", ")): "
                + "write in this entity mapping, or in others, what it did, then remove this line"
        }
        for attribute in destination.attributes(of: to)
        where !attribute.isTransient && !destination.isComputedByStore(attribute, of: to) {
            part.properties.append(property(attribute, mapping, from, &standIn))
        }
        for relationship in destination.relationships(of: to) where !relationship.isTransient {
            part.properties.append(property(relationship, mapping, from, &standIn))
        }
        part.replacement = standIn
    }

    private func property(
        _ attribute: Attribute, _ mapping: EntityMapping, _ from: String, _ standIn: inout EntityMapping
    ) -> Property {
        var property = Property(name: attribute.name, type: attribute.type.sourceName)
        let own = source.attribute(attribute.name, of: from).flatMap { $0.isTransient ? nil : $0 }
        if let unreadable = mapping.unreadable.first(where: { $0.property == attribute.name }) {
            property.hint = ", where the mapping model is unreadable: \(unreadable.reason)"
            return property
        }
        switch mapping.attributes[attribute.name] ?? .automatic {
        case .value(let expression):
            property.asks = expression.policyCalls
            guard !property.asks.isEmpty else {
                standIn.attributes[attribute.name] = .value(expression)
                property.given = "\(expression)"
                break
            }
            property.hint = ", where the policy has \(expression)"
        case .empty, .automatic:
            guard let own else {
                property.hint = attribute.isOptional || attribute.defaultValue != nil ? ", or null" : ""
                break
            }
            guard own.type.converts(to: attribute.type) else {
                property.hint = ", of $source.\(attribute.name), which is \(own.type.sourceName)"
                break
            }
            standIn.attributes[attribute.name] = .value(Expression(sourceKeys: attribute.name))
            property.given = "$source.\(attribute.name)"
        }
        return property
    }

    private func property(
        _ relationship: Relationship, _ mapping: EntityMapping, _ from: String, _ standIn: inout EntityMapping
    ) -> Property {
        var property = Property(relationship)
        if let unreadable = mapping.unreadable.first(where: { $0.property == relationship.name }) {
            property.hint = ", where the mapping model is unreadable: \(unreadable.reason)"
            return property
        }
        let rule = mapping.relationships[relationship.name] ?? .automatic
        if let lookedUp = rule.lookedUp {
            standIn.relationships[relationship.name] = rule
            property.given = lookedUp
        } else if source.relationship(relationship.name, of: from) != nil {
            property.given = "$source.\(relationship.name)"
        } else {
            property.hint = ", or null"
        }
        return property
    }

    // MARK: Entities without a mapping

    /// Adds new entities, and destinations of open relationships, whose objects only code can have made.
    private mutating func addUnfilled(of model: MappingModel) {
        let filled = Set(model.entityMappings.filter { $0.source != nil }.compactMap(\.destination))
        let added = model.entityMappings.filter { $0.source == nil && $0.policyClassName == nil }
        let related = parts.flatMap(\.properties).filter(\.isOpen).compactMap(\.destinationEntity)
        var listed: Set<String> = []
        for entity in added.compactMap(\.destination) + related where listed.insert(entity).inserted {
            guard destination.entities[entity]?.isAbstract == false, !filled.contains(entity) else { continue }
            addUnfilled(entity, added.first { $0.destination == entity }?.name ?? entity)
        }
        let silent = destination.sortedEntityNames.filter { name in
            destination.entities[name]?.isAbstract == false && !filled.contains(name) && !listed.contains(name)
        }
        for name in silent {
            notes.append("No entity mapping creates objects of \(name): it will be empty unless you write one.")
        }
    }

    private mutating func addUnfilled(_ entity: String, _ name: String) {
        var standIn = EntityMapping(name: name, source: nil, destination: entity)
        standIn.source =
            "? the entity that objects of \(entity) are created from; remove this entity mapping if there is none"
        var part = Part(original: EntityMapping(name: name, source: nil, destination: entity), isUnfilled: true)
        for attribute in destination.attributes(of: entity)
        where !attribute.isTransient && !destination.isComputedByStore(attribute, of: entity) {
            let isFree = attribute.isOptional || attribute.defaultValue != nil
            part.properties.append(
                Property(name: attribute.name, type: attribute.type.sourceName, hint: isFree ? ", or null" : ""))
        }
        // A relationship and its inverse are stored once, so only one side is open.
        let asked = Set(parts.flatMap { part in part.properties.filter(\.isOpen).compactMap(\.destinationEntity) })
        for relationship in destination.relationships(of: entity) where !relationship.isTransient {
            var property = Property(relationship)
            property.hint = ", or null"
            if asked.contains(entity) { property.given = "what its inverse gives" }
            part.properties.append(property)
        }
        part.replacement = standIn
        parts.append(part)
    }
}

extension StandIn.Property {
    fileprivate init(_ relationship: Relationship) {
        self.init(
            name: relationship.name, type: relationship.typeText, destinationEntity: relationship.destinationEntity,
            isToMany: relationship.isToMany)
    }
}

extension Expression {
    /// The selectors and keys of `$entityPolicy` in the expression, each once.
    fileprivate var policyCalls: [String] {
        let own: [String] =
            switch self {
            case .function(receiver: .variable("entityPolicy"), let selector, _): [selector]
            case .keyPath(.variable("entityPolicy"), let steps):
                steps.first.flatMap { if case .key(let key) = $0 { [key] } else { nil } } ?? ["?"]
            case .variable("entityPolicy"): ["?"]
            default: []
            }
        let inner = parts.filter { own.isEmpty || $0 != .variable("entityPolicy") }.flatMap(\.policyCalls)
        return (own + inner).reduce(into: []) { calls, call in if !calls.contains(call) { calls.append(call) } }
    }
}
