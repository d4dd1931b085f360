/// What changed from one model version to another, entity by entity.
///
/// A property that is inherited from an entity whose counterpart has the same change is reported there only; added and
/// removed entities are reported without their properties. What no store shows (class names, validation, user info) is
/// left out.
package struct ModelDifference: Sendable {
    package struct Change: Sendable, Hashable {
        package var kind: Kind
        /// The destination's name of the entity; of a removed one the source's.
        package var entity: String
        /// The destination's name of the property; of a removed one the source's.
        package var property: String?
        /// The name in the source, for what exists in both.
        package var oldName: String?

        package init(_ kind: Kind, entity: String, property: String? = nil, oldName: String? = nil) {
            self.kind = kind
            self.entity = entity
            self.property = property
            self.oldName = oldName
        }
    }

    /// The kinds of changes; the raw values are what the command line prints.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case entityAdded, entityRemoved, entityRenamed
        /// Another parent, or one where there was none, or none where there was one.
        case entityMoved
        case entityMadeAbstract, entityMadeConcrete
        case attributeAdded, attributeRemoved, attributeRenamed
        /// Declared by another entity of the hierarchy.
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
    /// Entities in name order; of each first what concerns it as a whole, then its properties in name order.
    package private(set) var changes: [Change] = []

    package init(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
        matching = ModelMatching(source: source, destination: destination)
        let removed = source.entities.keys.filter { matching.destinationEntities[$0] == nil }
        let names = Set(destination.entities.keys).union(removed)
        for name in names.sorted(by: codeUnitOrder) {
            // A name may be that of a removed entity and of a new one.
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
        changes.append(Change(kind, entity: entity, property: property, oldName: oldName))
    }

    // MARK: Entities

    private mutating func compare(_ old: Entity, _ new: Entity) {
        let add = { (difference: inout Self, kind: Kind) in difference.add(kind, new.name, oldName: old.name) }
        if old.name != new.name { add(&self, .entityRenamed) }
        if !haveSameParent(old, new) { add(&self, .entityMoved) }
        if old.isAbstract != new.isAbstract { add(&self, new.isAbstract ? .entityMadeAbstract : .entityMadeConcrete) }
        let oldConstraints = old.uniquenessConstraints.map { $0.map { continued($0, in: new.name) } }
        if Set(oldConstraints) != Set(new.uniquenessConstraints) { add(&self, .uniquenessConstraintsChanged) }
        let rename = { [self] in continued($0, in: new.name) }
        if EntityIndexes(old, renamed: rename) != EntityIndexes(new, renamed: { $0 }) { add(&self, .indexesChanged) }
        if old.versionHashModifier != new.versionHashModifier { add(&self, .hashModifierChanged) }
    }

    private func haveSameParent(_ old: Entity, _ new: Entity) -> Bool {
        guard let parent = new.superentity else { return old.superentity == nil }
        return matching.sourceEntities[parent] != nil && matching.sourceEntities[parent] == old.superentity
    }

    /// The name that a source property has in the destination; a removed one keeps its own.
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

    /// Whether a property is declared by entities that do not continue each other.
    func isMoved(_ oldProperty: String, _ old: Entity, _ newProperty: String, _ new: Entity) -> Bool {
        guard let oldHome = matching.source.declaringEntity(of: oldProperty, in: old.name),
            let newHome = matching.destination.declaringEntity(of: newProperty, in: new.name)
        else { return false }
        return matching.sourceEntities[newHome] != oldHome
    }
}

extension Entity {
    fileprivate func declares(_ property: String) -> Bool {
        attributes.contains { $0.name == property } || relationships.contains { $0.name == property }
    }
}
