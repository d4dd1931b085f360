internal import FerryMapping
package import FerryModel
package import FerryStore

/// What a scan has found of links that do not lead where they must, of the relationships that a step carries.
package struct LinkDamage: Sendable, Equatable {
    /// What is set right on the way, and counted.
    package let carried: [StoreDamage]
    /// The relationships with links that lead nowhere.
    let dangling: Set<PropertyKey>
    private let model: ManagedObjectModel

    private static let kinds: Set<StoreDamage.Kind> = [.danglingKey, .oneSidedInverse, .wrongEntity, .missingOrder]

    init(_ damage: [StoreDamage], of assignments: [RelationshipAssignment], in model: ManagedObjectModel) {
        self.model = model
        let found = Dictionary(
            grouping: damage.filter { Self.kinds.contains($0.kind) },
            by: { PropertyKey($0.entity, $0.property ?? "") })
        dangling = Set(found.filter { $0.value.contains { $0.kind == .danglingKey } }.keys)
        var keys: Set<PropertyKey> = []
        for contribution in assignments.flatMap(\.contributions) {
            guard let origin = contribution.origin else { continue }
            keys.formUnion(Self.keys(of: origin.relationship, in: contribution.mapping.source, model))
        }
        carried = keys.sorted().flatMap { found[$0] ?? [] }
    }

    /// Whether a relationship that an entity mapping carries has a kind of damage, on whichever of its two sides.
    package func has(_ kind: StoreDamage.Kind, _ relationship: Relationship, of entity: String) -> Bool {
        let keys = Self.keys(of: relationship, in: entity, model)
        return carried.contains { damage in
            damage.kind == kind && keys.contains(PropertyKey(damage.entity, damage.property ?? ""))
        }
    }

    /// Whether every link of a relationship leads to an object of its entity.
    package func isSound(_ name: String, of entity: String) -> Bool {
        guard let relationship = model.relationship(name, of: entity) else { return false }
        return dangling.isDisjoint(with: Self.keys(of: relationship, in: entity, model))
    }

    /// Whether a scan names the relationship itself, as it is declared, among those with links that lead nowhere.
    func isDangling(_ relationship: Relationship, of entity: String) -> Bool? {
        Self.keys(of: relationship, in: entity, model).first.map(dangling.contains)
    }

    /// A relationship and its inverse, as they are declared.
    private static func keys(
        of relationship: Relationship, in entity: String, _ model: ManagedObjectModel
    ) -> [PropertyKey] {
        let sides = [(relationship.name, entity), (relationship.inverseName, relationship.destinationEntity)]
        return sides.compactMap { name, entity in
            name.flatMap { name in model.declaringEntity(of: name, in: entity).map { PropertyKey($0, name) } }
        }
    }
}
