package import FerryBase
package import FerryMapping
package import FerryModel
internal import FerryStore

/// How a copied step fills its tables, in the terms of its mappings and layouts.
package struct TableFills: Sendable, Equatable {
    /// By the position of the entity mapping.
    package let columns: [[FilledColumn]]
    /// In the order in which they are filled.
    package let relationships: [RelationshipAssignment]
    /// In the order of the destination's layout.
    package let joinTables: [JoinTableFill]
    /// By the position of the entity mapping.
    package let keys: [KeyRule]
    package let damage: LinkDamage
    /// By the position of the entity mapping: the foreign keys that it writes with its rows.
    private let inlined: [Int: [Inlined]]

    /// A contribution to an assignment, both by index: there may be thousands of each.
    private struct Inlined: Equatable {
        let assignment: Int
        let contribution: Int
    }

    /// The fills of a step in place: none.
    init(noneFrom source: StoreLayout) {
        (columns, relationships, joinTables, keys) = ([], [], [], [])
        damage = LinkDamage([], of: [], in: source.model)
        inlined = [:]
    }

    init(
        _ step: StepPlan, source: StoreLayout, destination: StoreLayout, damage: [StoreDamage]
    ) throws(FerryError) {
        let resolved = step.resolved
        columns = try resolved.entityMappings.map { mapping throws(FerryError) in
            try FilledColumn.all(of: mapping, source, destination)
        }
        let rules = RelationshipRules(resolved, source: source, destination: destination)
        var assignments = RelationshipAssigner(rules, step).assignments()
        let found = LinkDamage(damage, of: assignments, in: source.model)
        for index in assignments.indices { assignments[index].passOnKeys(resolved, source, found) }
        joinTables = destination.joinTables.map { table in
            JoinTableFill(table, assignments, resolved, source, found)
        }
        keys = KeyRule.all(step, assignments)
        (relationships, self.damage) = (assignments, found)
        var inlined: [Int: [Inlined]] = [:]
        for (index, assignment) in assignments.enumerated() {
            for (place, contribution) in assignment.contributions.enumerated() where contribution.isInline {
                inlined[contribution.mapping.position, default: []].append(
                    Inlined(assignment: index, contribution: place))
            }
        }
        self.inlined = inlined
    }

    /// The source of a join table's rows, or nil if the destination has no table of this name.
    package func joinTable(_ name: String?) -> JoinTableFill? { joinTables.first { $0.table.name == name } }

    /// The foreign keys that a mapping writes with its rows.
    package func inline(
        of mapping: ResolvedEntityMapping
    ) -> [(assignment: RelationshipAssignment, contribution: RelationshipContribution)] {
        (inlined[mapping.position] ?? []).map { place in
            let assignment = relationships[place.assignment]
            return (assignment, assignment.contributions[place.contribution])
        }
    }

    /// Whether any mapping stores associations of source objects with new objects.
    package var storesAssociations: Bool { keys.contains(where: \.storesAssociations) }
}

/// The source of the keys of one entity mapping's objects, and the storage of its associations.
package struct KeyRule: Sendable, Equatable {
    /// Positions of the mappings that give new keys in the same table before this one, in their order.
    package let earlierMakers: [Int]
    /// Names of the mappings whose new keys this mapping counts while it writes its rows.
    package let counted: [String]
    /// Whether other work looks up the new keys, which do not follow from the source keys.
    package let storesAssociations: Bool

    /// By the position of the entity mapping.
    static func all(_ step: StepPlan, _ assignments: [RelationshipAssignment]) -> [KeyRule] {
        let resolved = step.resolved
        let stored = associated(resolved, assignments)
        let earlierMakers = step.earlierMakers
        var counted: [Int: Set<String>] = [:]
        for contribution in assignments.flatMap(\.contributions) where contribution.isCounted {
            counted[contribution.mapping.position, default: []].formUnion(contribution.rule.mappings)
        }
        return resolved.entityMappings.indices.map { position in
            KeyRule(
                earlierMakers: earlierMakers[position] ?? [], counted: (counted[position] ?? []).sorted(),
                storesAssociations: stored.contains(position))
        }
    }

    /// Positions of the mappings whose associations other work looks up.
    private static func associated(_ step: ResolvedStep, _ assignments: [RelationshipAssignment]) -> Set<Int> {
        var associated: Set<Int> = []
        if step.hasPolicies {
            // A policy may look up the objects of any mapping.
            associated = Set(step.entityMappings.filter { !$0.keepsPrimaryKey }.map(\.position))
        }
        for contribution in assignments.flatMap(\.contributions) {
            for name in contribution.isCounted ? [] : contribution.rule.mappings {
                guard let other = step.entityMapping(named: name), !other.keepsPrimaryKey else { continue }
                associated.insert(other.position)
            }
            if !contribution.isInline, !contribution.mapping.keepsPrimaryKey {
                associated.insert(contribution.mapping.position)
            }
        }
        return associated
    }
}

extension RelationshipAssignment {
    /// Sets the keys that rows copy unchanged from the source.
    fileprivate mutating func passOnKeys(_ step: ResolvedStep, _ source: StoreLayout, _ damage: LinkDamage) {
        guard case .foreignKey(_, _, let entityColumn, _) = storage else { return }
        for index in contributions.indices {
            let (mapping, rule) = (contributions[index].mapping, contributions[index].rule)
            guard contributions[index].isInline, let origin = contributions[index].origin,
                case .foreignKey(_, let column, _, _) = origin.storage,
                damage.isSound(origin.name, of: mapping.source),
                // Of several target mappings only the row tells the entity.
                entityColumn == nil || rule.mappings.count == 1,
                rule.keepsEveryTarget(of: origin.relationship, step, source.model)
            else { continue }
            contributions[index].key = .column(column)
        }
    }
}

/// The link damage, found by a scan, of the relationships that a step carries over.
package struct LinkDamage: Sendable, Equatable {
    /// Damage that the step repairs and counts.
    package let carried: [StoreDamage]
    let dangling: Set<PropertyKey>
    private let model: ManagedObjectModel

    private static let kinds: Set<DamageKind> = [.danglingKey, .oneSidedInverse, .wrongEntity, .missingOrder]

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

    /// Whether a relationship that an entity mapping carries over, or its inverse, has a kind of damage.
    package func has(_ kind: DamageKind, _ relationship: Relationship, of entity: String) -> Bool {
        let keys = Self.keys(of: relationship, in: entity, model)
        return carried.contains { damage in
            damage.kind == kind && keys.contains(PropertyKey(damage.entity, damage.property ?? ""))
        }
    }

    /// Whether every key of a relationship leads to an object of its entity.
    package func isSound(_ name: String, of entity: String) -> Bool {
        guard let relationship = model.relationship(name, of: entity) else { return false }
        return dangling.isDisjoint(with: Self.keys(of: relationship, in: entity, model))
    }

    private static func keys(
        of relationship: Relationship, in entity: String, _ model: ManagedObjectModel
    ) -> [PropertyKey] {
        [model.key(of: relationship.name, in: entity), model.inverseKey(of: relationship)].compactMap { $0 }
    }
}
