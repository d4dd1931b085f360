package import FerryMapping
package import FerryModel
package import FerryStore

/// The relationship of the source objects whose links a rule passes on, and where the source stores them.
package struct SourceRelationship: Sendable, Hashable {
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

    /// A storage as the related object's side would name it.
    ///
    /// - Parameters:
    ///   - storage: The relationship's, from one of its sides.
    ///   - related: The mapping whose objects the relationship leads to.
    ///   - source: The source's layout.
    /// - Returns: The same columns, or of a one-to-one, where both sides hold a key, the related object's own.
    func otherSide(
        of storage: RelationshipStorage, _ related: ResolvedEntityMapping, in source: StoreLayout
    ) -> RelationshipStorage {
        switch storage {
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            return .join(table: table, own: other, other: own, otherOrder: ownOrder, ownOrder: otherOrder)
        case .inverseForeignKey(let table, let column, let entityColumn, let orderColumn):
            return .foreignKey(table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
        case .inverseless(let table, let column):
            return .foreignKey(table: table, column: column, entityColumn: nil, orderColumn: nil)
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            if let inverse = source.model.inverse(of: relationship),
                let mirrored = source.storage(of: inverse.name, in: related.source), case .foreignKey = mirrored
            {
                return mirrored
            }
            return .inverseForeignKey(
                table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
        }
    }
}

extension ManagedObjectModel {
    /// An entity and those below it, as far as they have objects.
    package func concreteFamily(of entity: String) -> Set<String> {
        Set(family(of: entity).filter { entities[$0]?.isAbstract != true })
    }
}
