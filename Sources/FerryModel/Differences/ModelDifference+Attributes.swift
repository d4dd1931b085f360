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
        var kinds: [Kind] = []
        if old.name != new.name { kinds.append(.attributeRenamed) }
        if isMoved(old.name, oldEntity, new.name, newEntity) { kinds.append(.attributeMoved) }
        if old.isTransient != new.isTransient {
            kinds.append(new.isTransient ? .attributeMadeTransient : .attributeMadePersistent)
        }
        if old.type != new.type { kinds.append(.attributeTypeChanged) }
        if old.isOptional != new.isOptional {
            kinds.append(new.isOptional ? .attributeMadeOptional : .attributeMadeMandatory)
        }
        if old.defaultValue != new.defaultValue { kinds.append(.defaultValueChanged) }
        if old.allowsExternalStorage != new.allowsExternalStorage {
            kinds.append(new.allowsExternalStorage ? .externalStorageAllowed : .externalStorageDisallowed)
        }
        if old.preservesValueAfterDeletion != new.preservesValueAfterDeletion { kinds.append(.preservationChanged) }
        if old.derivationExpression.map(VersionHash.printed(derivation:))
            != new.derivationExpression.map(VersionHash.printed(derivation:))
        {
            kinds.append(.derivationChanged)
        }
        if old.type == .composite, new.type == .composite, !matching.haveEqualElements(old, new) {
            kinds.append(.compositeChanged)
        }
        if old.versionHashModifier != new.versionHashModifier { kinds.append(.hashModifierChanged) }
        for kind in kinds { add(kind, newEntity.name, new.name, oldName: old.name) }
    }
}

extension ModelMatching {
    /// Whether two composite attributes unfold to the same stored elements.
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
            .sorted { codeUnitOrder($0.name, $1.name) }
    }
}
