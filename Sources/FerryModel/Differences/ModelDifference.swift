internal import FerryBase

/// The changes from one model version to another, entity by entity.
///
/// A change of an inherited property is listed only at the ancestor, if the ancestor's counterpart has the same change.
/// Added and removed entities are listed without properties; class names, validation and user info, which no store
/// holds, are ignored.
package struct ModelDifference: Sendable {
    package struct Change: Sendable, Hashable {
        package var kind: Kind
        /// The entity's name in the destination; for a removed entity, in the source.
        package var entity: String
        /// The property's name in the destination; for a removed property, in the source.
        package var property: String?
        /// The name in the source, if the entity or property exists in both models.
        package var oldName: String?
    }

    /// The kinds of changes; the command line prints the raw values.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case entityAdded, entityRemoved, entityRenamed
        /// The parent changed, was added or was removed.
        case entityMoved
        case entityMadeAbstract, entityMadeConcrete
        case attributeAdded, attributeRemoved, attributeRenamed
        /// Another entity of the hierarchy declares the attribute.
        case attributeMoved
        case attributeTypeChanged, attributeMadeOptional, attributeMadeMandatory, defaultValueChanged
        case attributeMadeTransient, attributeMadePersistent
        case externalStorageAllowed, externalStorageDisallowed
        case derivationChanged, compositeChanged
        /// Preserve After Deletion.
        case preservationChanged
        case relationshipAdded, relationshipRemoved, relationshipRenamed, relationshipMoved
        case relationshipMadeToMany, relationshipMadeToOne, relationshipMadeOrdered, relationshipMadeUnordered
        case relationshipMadeOptional, relationshipMadeMandatory
        case relationshipMadeTransient, relationshipMadePersistent
        case destinationEntityChanged, inverseChanged, countsChanged, deleteRuleChanged
        case indexesChanged, uniquenessConstraintsChanged, hashModifierChanged
    }

    package let matching: ModelMatching
    /// The changes, by entity name; for each entity, first its own changes, then those of its properties by name.
    package private(set) var changes: [Change] = []

    package init(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
        matching = ModelMatching(source: source, destination: destination)
        let removed = source.entities.keys.filter { matching.destinationEntities[$0] == nil }
        let names = Set(destination.entities.keys).union(removed)
        for name in names.inOrder(by: codeUnitOrder) {
            // A removed entity and a new one may have the same name.
            if removed.contains(name) { add(.entityRemoved, name) }
            guard let entity = destination.entities[name] else { continue }
            if let old = matching.sourceEntities[name].flatMap({ source.entities[$0] }) {
                compare(old, entity)
                compareAttributes(of: old, entity)
                compareRelationships(of: old, entity)
            } else {
                add(.entityAdded, name)
            }
        }
    }

    mutating func add(_ kind: Kind, _ entity: String, _ property: String? = nil, oldName: String? = nil) {
        changes.append(Change(kind: kind, entity: entity, property: property, oldName: oldName))
    }

    // MARK: Entities

    private mutating func compare(_ old: Entity, _ new: Entity) {
        let oldConstraints = old.uniquenessConstraints.map { $0.map { continued($0, in: new.name) } }
        let oldIndexes = Self.indexes(of: old) { continued($0, in: new.name) }
        let kinds: [(isChanged: Bool, kind: Kind)] = [
            (old.name != new.name, .entityRenamed),
            (!haveSameParent(old, new), .entityMoved),
            (old.isAbstract != new.isAbstract, new.isAbstract ? .entityMadeAbstract : .entityMadeConcrete),
            (Set(oldConstraints) != Set(new.uniquenessConstraints), .uniquenessConstraintsChanged),
            (oldIndexes != Self.indexes(of: new) { $0 }, .indexesChanged),
            (old.versionHashModifier != new.versionHashModifier, .hashModifierChanged),
        ]
        for (isChanged, kind) in kinds where isChanged { add(kind, new.name, oldName: old.name) }
    }

    private func haveSameParent(_ old: Entity, _ new: Entity) -> Bool {
        guard let parent = new.superentity else { return old.superentity == nil }
        return matching.sourceEntities[parent] != nil && matching.sourceEntities[parent] == old.superentity
    }

    /// Returns the name of a source property in the destination; a removed property keeps its name.
    private func continued(_ property: String, in entity: String) -> String {
        matching.continuedAttributes(in: entity)[property] ?? matching.continuedRelationships(in: entity)[property]
            ?? property
    }

    /// Whether a property is inherited, in both models, from a pair of entities that continue each other.
    func isInheritedAlike(_ oldProperty: String?, _ old: Entity, _ newProperty: String?, _ new: Entity) -> Bool {
        guard let oldParent = old.superentity, let newParent = new.superentity,
            matching.sourceEntities[newParent] == oldParent
        else { return false }
        let isOldInherited = oldProperty.map { name in
            matching.source.declaringEntity(of: name, in: oldParent) != nil && !old.declares(name)
        }
        let isNewInherited = newProperty.map { name in
            matching.destination.declaringEntity(of: name, in: newParent) != nil && !new.declares(name)
        }
        return isOldInherited ?? true && isNewInherited ?? true
    }

    /// Whether entities that do not continue each other declare the property.
    func isMoved(_ oldProperty: String, _ old: Entity, _ newProperty: String, _ new: Entity) -> Bool {
        guard let oldDeclaring = matching.source.declaringEntity(of: oldProperty, in: old.name),
            let newDeclaring = matching.destination.declaringEntity(of: newProperty, in: new.name)
        else { return false }
        return matching.sourceEntities[newDeclaring] != oldDeclaring
    }
}

extension Entity {
    fileprivate func declares(_ property: String) -> Bool {
        attributes.contains { $0.name == property } || relationships.contains { $0.name == property }
    }
}

extension ModelDifference {
    mutating func compareAttributes(of old: Entity, _ new: Entity) {
        for attribute in matching.destination.attributes(of: new.name) {
            if let before = matching.sourceAttribute(of: attribute.name, in: new.name) {
                guard !isInheritedAlike(before.name, old, attribute.name, new) else { continue }
                compare(before, of: old, attribute, of: new)
            } else if !isInheritedAlike(nil, old, attribute.name, new) {
                add(.attributeAdded, new.name, attribute.name)
            }
        }
        let continued = matching.continuedAttributes(in: new.name)
        for attribute in matching.source.attributes(of: old.name)
        where continued[attribute.name] == nil && !isInheritedAlike(attribute.name, old, nil, new) {
            add(.attributeRemoved, new.name, attribute.name)
        }
    }

    private mutating func compare(_ old: Attribute, of oldEntity: Entity, _ new: Attribute, of newEntity: Entity) {
        let (oldDerivation, newDerivation) = (old.derivationExpression, new.derivationExpression)
        let kinds: [(isChanged: Bool, kind: Kind)] = [
            (old.name != new.name, .attributeRenamed),
            (isMoved(old.name, oldEntity, new.name, newEntity), .attributeMoved),
            (old.isTransient != new.isTransient, new.isTransient ? .attributeMadeTransient : .attributeMadePersistent),
            (old.type != new.type, .attributeTypeChanged),
            (old.isOptional != new.isOptional, new.isOptional ? .attributeMadeOptional : .attributeMadeMandatory),
            (old.defaultValue != new.defaultValue, .defaultValueChanged),
            (
                old.allowsExternalStorage != new.allowsExternalStorage,
                new.allowsExternalStorage ? .externalStorageAllowed : .externalStorageDisallowed
            ),
            (old.preservesValueAfterDeletion != new.preservesValueAfterDeletion, .preservationChanged),
            (
                oldDerivation.map(VersionHash.printed(derivation:))
                    != newDerivation.map(VersionHash.printed(derivation:)),
                .derivationChanged
            ),
            (
                old.type == .composite && new.type == .composite && !matching.haveEqualElements(old, new),
                .compositeChanged
            ),
            (old.versionHashModifier != new.versionHashModifier, .hashModifierChanged),
        ]
        for (isChanged, kind) in kinds where isChanged { add(kind, newEntity.name, new.name, oldName: old.name) }
    }
}

extension ModelMatching {
    /// Whether two composite attributes have the same stored elements.
    package func haveEqualElements(_ old: Attribute, _ new: Attribute) -> Bool {
        let before = elements(of: old, in: source)
        let after = elements(of: new, in: destination)
        guard before.count == after.count else { return false }
        return zip(before, after).allSatisfy { before, after in
            before.name == after.name && before.type == after.type && before.isOptional == after.isOptional
                && (before.type != .composite || haveEqualElements(before, after))
        }
    }

    private func elements(of attribute: Attribute, in model: ManagedObjectModel) -> [Attribute] {
        (attribute.compositeName.flatMap { model.composites[$0] } ?? []).filter { !$0.isTransient }
            .inOrder { codeUnitOrder($0.name, $1.name) }
    }
}

extension ModelDifference {
    mutating func compareRelationships(of old: Entity, _ new: Entity) {
        for relationship in matching.destination.relationships(of: new.name) {
            if let before = matching.sourceRelationship(of: relationship.name, in: new.name) {
                guard !isInheritedAlike(before.name, old, relationship.name, new) else { continue }
                compare(before, of: old, relationship, of: new)
            } else if !isInheritedAlike(nil, old, relationship.name, new) {
                add(.relationshipAdded, new.name, relationship.name)
            }
        }
        let continued = matching.continuedRelationships(in: new.name)
        for relationship in matching.source.relationships(of: old.name)
        where continued[relationship.name] == nil && !isInheritedAlike(relationship.name, old, nil, new) {
            add(.relationshipRemoved, new.name, relationship.name)
        }
    }

    private mutating func compare(
        _ old: Relationship, of oldEntity: Entity, _ new: Relationship, of newEntity: Entity
    ) {
        let kinds: [(isChanged: Bool, kind: Kind)] = [
            (old.name != new.name, .relationshipRenamed),
            (isMoved(old.name, oldEntity, new.name, newEntity), .relationshipMoved),
            (
                old.isTransient != new.isTransient,
                new.isTransient ? .relationshipMadeTransient : .relationshipMadePersistent
            ),
            (old.isToMany != new.isToMany, new.isToMany ? .relationshipMadeToMany : .relationshipMadeToOne),
            (old.isOrdered != new.isOrdered, new.isOrdered ? .relationshipMadeOrdered : .relationshipMadeUnordered),
            (matching.sourceEntities[new.destinationEntity] != old.destinationEntity, .destinationEntityChanged),
            (!haveSameInverse(old, new), .inverseChanged),
            (old.isOptional != new.isOptional, new.isOptional ? .relationshipMadeOptional : .relationshipMadeMandatory),
            (old.isToMany == new.isToMany && old.limits != new.limits, .countsChanged),
            (old.deleteRule != new.deleteRule, .deleteRuleChanged),
            (old.versionHashModifier != new.versionHashModifier, .hashModifierChanged),
        ]
        for (isChanged, kind) in kinds where isChanged { add(kind, newEntity.name, new.name, oldName: old.name) }
    }

    private func haveSameInverse(_ old: Relationship, _ new: Relationship) -> Bool {
        guard let name = new.inverseName else { return old.inverseName == nil }
        guard let before = old.inverseName else { return false }
        // The inverse may have moved to another entity of the hierarchy.
        for entity in [new.destinationEntity, matching.destinationEntities[old.destinationEntity]] {
            guard let entity, let continued = matching.sourceRelationship(of: name, in: entity) else { continue }
            return continued.name == before
        }
        // If the destination entity is new, only the names can match.
        return matching.sourceEntities[new.destinationEntity] == nil && name == before
    }
}

extension Relationship {
    /// The least and the most objects; zero means no limit, in each notation of the model.
    fileprivate var limits: [Int] {
        guard isToMany else { return [0, 1] }
        return [minCount, maxCount < 0 || maxCount >= Int(Int32.max) ? 0 : maxCount]
    }
}

extension ModelDifference {
    private struct Index: Hashable {
        var elements: [FetchIndex.Element]
        var predicate: String?
    }

    /// Returns an entity's indexes in a form independent of the file's notation, with properties renamed; drops the
    /// repetitions of fetch indexes (`indexed`, `compoundIndexes`) in compiled models.
    private static func indexes(of entity: Entity, renamed: (String) -> String) -> Set<Index> {
        var indexes: Set<Index> = []
        var repeated: Set<[String]> = []
        for index in entity.fetchIndexes {
            let elements = index.elements.map { element in
                var element = element
                element.property = element.property.map(renamed)
                return element
            }
            indexes.insert(Index(elements: elements, predicate: index.partialIndexPredicate))
            let properties = elements.compactMap(\.property)
            repeated.insert(properties)
            for property in properties { repeated.insert([property]) }
        }
        let single = entity.attributes.filter { $0.isIndexed && !$0.isTransient }.map { [$0.name] }
        for names in single + entity.compoundIndexes {
            let properties = names.map(renamed)
            if repeated.contains(properties) { continue }
            indexes.insert(Index(elements: properties.map { FetchIndex.Element(property: $0) }, predicate: nil))
        }
        return indexes
    }
}
