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
        var kinds: [Kind] = []
        if old.name != new.name { kinds.append(.relationshipRenamed) }
        if isMoved(old.name, oldEntity, new.name, newEntity) { kinds.append(.relationshipMoved) }
        if old.isTransient != new.isTransient {
            kinds.append(new.isTransient ? .relationshipMadeTransient : .relationshipMadePersistent)
        }
        if old.isToMany != new.isToMany {
            kinds.append(new.isToMany ? .relationshipMadeToMany : .relationshipMadeToOne)
        }
        if old.isOrdered != new.isOrdered {
            kinds.append(new.isOrdered ? .relationshipMadeOrdered : .relationshipMadeUnordered)
        }
        if matching.sourceEntities[new.destinationEntity] != old.destinationEntity {
            kinds.append(.destinationEntityChanged)
        }
        if !haveSameInverse(old, new) { kinds.append(.inverseChanged) }
        if old.isOptional != new.isOptional {
            kinds.append(new.isOptional ? .relationshipMadeOptional : .relationshipMadeMandatory)
        }
        if old.isToMany == new.isToMany, old.limits != new.limits { kinds.append(.countsChanged) }
        if old.deleteRule != new.deleteRule { kinds.append(.deleteRuleChanged) }
        if old.versionHashModifier != new.versionHashModifier { kinds.append(.hashModifierChanged) }
        for kind in kinds { add(kind, newEntity.name, new.name, oldName: old.name) }
    }

    private func haveSameInverse(_ old: Relationship, _ new: Relationship) -> Bool {
        guard let name = new.inverseName else { return old.inverseName == nil }
        guard let before = old.inverseName else { return false }
        // The inverse may have moved to another entity of the hierarchy.
        for entity in [new.destinationEntity, matching.destinationEntities[old.destinationEntity]] {
            guard let entity, let continued = matching.sourceRelationship(of: name, in: entity) else { continue }
            return continued.name == before
        }
        // Of a destination entity that is new, the names have to tell.
        return matching.sourceEntities[new.destinationEntity] == nil && name == before
    }
}

extension Relationship {
    /// Least and most objects; zero stands for no limit, however the model writes that.
    fileprivate var limits: [Int] {
        guard isToMany else { return [0, 1] }
        return [minCount, maxCount < 0 || maxCount >= Int(Int32.max) ? 0 : maxCount]
    }
}
