internal import FerryExpression
package import FerryModel

/// A mapping file to begin with, for what a mapping model leaves to migration policies.
///
/// Entity mappings that Ferry can run as they are stay in the mapping model, which the file extends.
package struct StandIn: Sendable {
    /// What only the policy tells.
    package struct Open: Sendable, Hashable {
        package var entityMapping: String
        package var property: String
        package var isRelationship: Bool
        /// The property's type, and what the mapping model has for it.
        package var text: String
    }

    /// Without the properties that are open.
    package private(set) var entityMappings: [EntityMapping] = []
    package private(set) var open: [Open] = []
    /// What has no place in the file, one line each.
    package private(set) var notes: [String] = []

    package init(for model: MappingModel, source: ModelVersion, destination: ModelVersion) {
        for mapping in model.entityMappings where mapping.policyClassName != nil || !mapping.unreadable.isEmpty {
            let policy = mapping.policyClassName.map { "policy \($0)" } ?? "unreadable parts"
            let user =
                mapping.userInfo.isEmpty
                ? ""
                : ", user info \(mapping.userInfo.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", "))"
            notes.append(
                "\(mapping.name): \(mapping.source ?? "nothing") to \(mapping.destination ?? "nothing"), \(policy)\(user)."
            )
            guard let from = mapping.source, let to = mapping.destination, source.model.entities[from] != nil,
                destination.model.entities[to] != nil
            else {
                notes.append("\(mapping.name): name the source entity whose objects these are made of.")
                continue
            }
            var standIn = mapping
            (standIn.policyClassName, standIn.userInfo, standIn.unreadable) = (nil, [:], [])
            (standIn.attributes, standIn.relationships) = ([:], [:])
            add(attributes: mapping, from, to, source.model, destination.model, to: &standIn)
            add(relationships: mapping, from, to, source.model, destination.model, to: &standIn)
            entityMappings.append(standIn)
        }
    }

    private mutating func add(
        attributes mapping: EntityMapping, _ from: String, _ to: String, _ source: ManagedObjectModel,
        _ destination: ManagedObjectModel, to standIn: inout EntityMapping
    ) {
        for attribute in destination.attributes(of: to)
        where !attribute.isTransient && !destination.isComputedByStore(attribute, of: to) {
            let type = attribute.type.sourceName
            let own = source.attribute(attribute.name, of: from).flatMap { $0.isTransient ? nil : $0 }
            switch mapping.attributes[attribute.name] ?? .automatic {
            case .value(let expression) where !expression.asksPolicy:
                standIn.attributes[attribute.name] = .value(expression)
            case .value(let expression):
                add(open: mapping, attribute.name, "\(type), where the policy has \(expression)")
            case .empty, .automatic:
                if let own, own.type.converts(to: attribute.type) {
                    standIn.attributes[attribute.name] = .value(Expression(sourceKeys: attribute.name))
                } else if let own {
                    add(
                        open: mapping, attribute.name,
                        "\(type), of $source.\(attribute.name), which is \(own.type.sourceName)")
                } else {
                    add(
                        open: mapping, attribute.name,
                        attribute.isOptional || attribute.defaultValue != nil ? "\(type), or null" : type)
                }
            }
        }
    }

    private mutating func add(
        relationships mapping: EntityMapping, _ from: String, _ to: String, _ source: ManagedObjectModel,
        _ destination: ManagedObjectModel, to standIn: inout EntityMapping
    ) {
        for relationship in destination.relationships(of: to) where !relationship.isTransient {
            let rule = mapping.relationships[relationship.name] ?? .automatic
            if rule != .automatic && rule != .empty {
                standIn.relationships[relationship.name] = rule
            } else if source.relationship(relationship.name, of: from) == nil {
                let count = relationship.isToMany ? "objects" : "an object"
                open.append(
                    Open(
                        entityMapping: mapping.name, property: relationship.name, isRelationship: true,
                        text: "? \(count) of \(relationship.destinationEntity), or null"))
            }
        }
    }

    private mutating func add(open mapping: EntityMapping, _ property: String, _ text: String) {
        open.append(Open(entityMapping: mapping.name, property: property, isRelationship: false, text: "? \(text)"))
    }
}

extension Expression {
    fileprivate var asksPolicy: Bool {
        self == .variable("entityPolicy") || parts.contains(where: \.asksPolicy)
    }
}
