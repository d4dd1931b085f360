internal import FerryBase
package import FerryExpression
package import FerryModel

/// The mapping that follows from two model versions alone, as in Core Data's lightweight migration.
package struct InferredMapping: Sendable {
    /// A difference between the versions, and whether a mapping can be inferred over it.
    package struct Change: Sendable, Hashable {
        /// The entity's name in the destination; in the source if it is removed.
        package var entity: String
        package var property: String?
        package var kind: ModelDifference.Kind
        package var isInferable: Bool
        /// The reason against inference, or the condition that the store's rows must meet.
        package var reason: String?
    }

    /// Nil if a change prevents inference, or if the versions have no entity in common.
    package var mappingModel: MappingModel?
    package var changes: [Change]

    package var obstacles: [Change] { changes.filter { !$0.isInferable } }

    /// Infers the mapping of one version to another.
    ///
    /// Entity mappings have Core Data's names: `IEM_Add_E`, `IEM_Remove_E`, `IEM_Copy_E`, `IEM_Transform_E`.
    package static func infer(source: ModelVersion, destination: ModelVersion) -> InferredMapping {
        let difference = ModelDifference(from: source.model, to: destination.model)
        let changes = InferenceRules(difference).verdicts()
        guard changes.allSatisfy(\.isInferable) else { return InferredMapping(mappingModel: nil, changes: changes) }
        let all = InferredEntityMappings(
            source: source, destination: destination, matching: difference.matching
        ).all()
        // Versions without a common entity do not succeed each other, whatever the order of their files.
        guard all.contains(where: { $0.source != nil && $0.destination != nil }) || all.allSatisfy({ $0.source == nil })
        else { return InferredMapping(mappingModel: nil, changes: changes) }
        var mappingModel = MappingModel(
            name: "inferred", path: "inferred mapping", sourceVersion: source.qualifiedName,
            destinationVersion: destination.qualifiedName, entityMappings: all)
        mappingModel.isInferred = true
        return InferredMapping(mappingModel: mappingModel, changes: changes)
    }
}

extension InferredMapping.Change {
    /// `Entity.property: reason`, for a refusal.
    package var sentence: String {
        let place = property.map { "\(entity).\($0)" } ?? entity
        return "\(place): \(reason ?? kind.rawValue)"
    }
}

struct InferredEntityMappings {
    let source: ModelVersion
    let destination: ModelVersion
    let matching: ModelMatching

    /// By entity name, removed entities last; without abstract entities, unless they had objects before.
    func all() -> [EntityMapping] {
        destination.model.sortedEntityNames.compactMap(mapping(of:))
            + removed.map { EntityMapping(name: "IEM_Remove_\($0)", source: $0, destination: nil) }
    }

    private var removed: [String] {
        source.model.sortedEntityNames.filter {
            matching.destinationEntities[$0] == nil && source.model.entities[$0]?.isAbstract == false
        }
    }

    private func mapping(of entity: String) -> EntityMapping? {
        let isAbstract = destination.model.entities[entity]?.isAbstract == true
        // An abstract entity has no objects; an entity that becomes abstract must have none.
        guard let old = matching.sourceEntities[entity], source.model.entities[old]?.isAbstract == false else {
            return isAbstract ? nil : EntityMapping(name: "IEM_Add_\(entity)", source: nil, destination: entity)
        }
        var mapping = EntityMapping(
            name: EntityMapping.inferredName(from: old, of: source, to: entity, of: destination), source: old,
            destination: entity)
        guard !isAbstract else { return mapping }
        for attribute in destination.model.leaves(of: entity) {
            mapping.attributes[attribute.name] = rule(for: attribute, in: entity, old: old)
        }
        for relationship in destination.model.relationships(of: entity) {
            mapping.relationships[relationship.name] = rule(for: relationship, in: entity, old: old)
        }
        return mapping
    }

    /// Nil if the automatic rule does the same.
    private func rule(for attribute: Attribute, in entity: String, old: String) -> AttributeRule? {
        guard !attribute.isTransient, !destination.model.isComputedByStore(attribute, of: entity) else { return nil }
        guard let before = matching.sourceAttribute(of: attribute.name, in: entity), !before.isTransient else {
            // The source attribute of this name is another attribute, which is renamed or removed.
            return source.model.attribute(attribute.name, of: old) == nil ? nil : .empty
        }
        let path = Expression(sourceKeys: before.name)
        if before.isOptional, !attribute.isOptional, !attribute.allowsExternalStorage,
            let value = attribute.defaultValue.flatMap({ Expression.Constant($0, of: attribute.type) })
        {
            return .value(.ifNil(path, then: .constant(value)))
        }
        return before.name == attribute.name ? nil : .value(path)
    }

    private func rule(for relationship: Relationship, in entity: String, old: String) -> RelationshipRule? {
        guard !relationship.isTransient else { return nil }
        guard let before = matching.sourceRelationship(of: relationship.name, in: entity), !before.isTransient else {
            return source.model.relationship(relationship.name, of: old) == nil ? nil : .empty
        }
        guard before.name != relationship.name else { return nil }
        return .destinationsOfAnyMapping(from: .keyPath(.variable("source"), [.key(before.name)]))
    }
}

extension Expression.Constant {
    /// A default value as a constant of the expression language; nil for binary data, which has none.
    package init?(_ value: DefaultValue, of type: AttributeType) {
        switch value {
        case .integer(let integer): self = type == .boolean ? .boolean(integer != 0) : .integer(integer)
        case .real(let real): self = .double(real)
        case .text(let text): self = .string(text)
        case .blob(let bytes):
            guard type == .uuid, bytes.count == 16 else { return nil }
            self = .string(bytes.uuidText)
        }
    }
}
