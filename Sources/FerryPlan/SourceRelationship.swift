package import FerryMapping
package import FerryModel
package import FerryStore

/// The relationship of the source objects whose links a rule passes on, and where the source stores them.
package struct SourceRelationship: Sendable {
    package let name: String
    package let relationship: Relationship
    /// As the source objects see it.
    package let storage: RelationshipStorage

    /// Nil where the rule takes objects from anything but a stored relationship of the source object's own.
    package init?(_ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping, in source: StoreLayout) {
        guard let name = rule.sourceRelationship,
            let relationship = source.model.relationship(name, of: mapping.source),
            let storage = source.storage(of: name, in: mapping.source)
        else { return nil }
        (self.name, self.relationship, self.storage) = (name, relationship, storage)
    }
}

extension ManagedObjectModel {
    /// An entity and those below it, as far as they have objects.
    package func concreteFamily(of entity: String) -> Set<String> {
        Set(family(of: entity).filter { entities[$0]?.isAbstract != true })
    }
}
