extension ManagedObjectModel {
    /// Whether an attribute's value follows from the rows of a store in a way that is known, so that it is computed and
    /// not carried over.
    ///
    /// The time of saving (`now()`) says something that no row says. What a function makes of a text, and what stands at
    /// the end of several relationships, only Core Data computes: such values are carried over as they were found.
    package func isComputedByStore(_ attribute: Attribute, of entity: String) -> Bool {
        attribute.isDerived && attribute.derivation != .now && !isCarriedAsFound(attribute, of: entity)
    }

    /// Whether an attribute is derived in a documented form for which only Core Data can write triggers.
    package func isCarriedAsFound(_ attribute: Attribute, of entity: String) -> Bool {
        switch attribute.derivation {
        case .function: true
        case .value(let path) where path.count > 2:
            relationship(path[0], of: entity).map { relationship(path[1], of: $0.destinationEntity) != nil } ?? false
        case .value, .count, .sum, .now, nil: false
        }
    }
}

extension ManagedObjectModel {
    /// What keeps a derived attribute from being the same in another version, its path under the same names included.
    ///
    /// - Parameters:
    ///   - entity: The entity that declares it.
    ///   - name: Its name.
    ///   - other: The newer version, which has it.
    /// - Returns: The reason in words that follow "and"; nil when nothing does.
    package func changeOfDerivation(entity: String, attribute name: String, in other: ManagedObjectModel) -> String? {
        let before = entities[entity]?.attributes.first { $0.name == name }
        guard let before, before.isDerived, let after = other.attribute(name, of: entity) else {
            return "the store has no derived attribute of this name"
        }
        guard before.derivation == after.derivation, before.type == after.type, let path = before.derivation?.path
        else { return "it is derived otherwise than in the store" }
        guard let old = ends(of: path, from: entity), let new = other.ends(of: path, from: entity), old == new else {
            return "what it is derived from is not what it is in the store"
        }
        return nil
    }

    /// What the properties of a path are, one after the other; nil where one is not there.
    private func ends(of path: [String], from entity: String) -> [String]? {
        var (entity, path, ends) = (entity, path[...], [String]())
        while let name = path.first, let relationship = relationship(name, of: entity) {
            guard !relationship.isToMany, !relationship.isTransient else { return nil }
            ends.append("\(declaringEntity(of: name, in: entity) ?? "").\(name) to \(relationship.destinationEntity)")
            entity = relationship.destinationEntity
            path = path.dropFirst()
        }
        let name = path.joined(separator: ".")
        guard let attribute = attribute(name, of: entity), !attribute.isTransient else { return nil }
        return ends + ["\(entity).\(name) of type \(attribute.type)"]
    }
}
