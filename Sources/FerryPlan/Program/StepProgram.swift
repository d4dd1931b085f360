package import FerryBase
package import FerryMapping
package import FerryModel
package import FerryStore

/// What a step that is copied does on one store, decided once: the engine carries it out, and estimates count it.
///
/// It follows from the step, both layouts and what a scan has found of damage, and from nothing else.
package struct StepProgram: Sendable, Equatable {
    /// What fills the columns of attributes, by the position of the entity mapping.
    package let columns: [[FilledColumn]]
    /// What fills each stored relationship, in the order in which they are filled.
    package let relationships: [RelationshipAssignment]
    /// By the destination's order.
    package let joinTables: [JoinTableFill]
    /// By the position of the entity mapping.
    package let keys: [KeyRule]
    /// Positions of the entity mappings whose objects may have the keys of their sources, by the root entity of the
    /// destination.
    private let keepers: [String: [Int]]
    package let damage: LinkDamage
    /// In the order in which they run.
    package let operations: [StepOperation]

    /// Decides over a step with its partitions and what a scan has found of damage in the source.
    ///
    /// - Throws: ``FerryError`` `.internalError` where a layout is not that of its version.
    package init(
        _ step: StepPlan, source: StoreLayout, destination: StoreLayout, damage: [StoreDamage] = []
    ) throws(FerryError) {
        let resolved = step.resolved
        columns = try resolved.entityMappings.map { mapping throws(FerryError) in
            try FilledColumn.all(of: mapping, source, destination)
        }
        let rules = RelationshipRules(resolved, source: source, destination: destination)
        var assignments = RelationshipAssigner(rules, step).assignments()
        let found = LinkDamage(damage, of: assignments, in: source.model)
        for index in assignments.indices { assignments[index].passOnKeys(resolved, source, found) }
        let rows = RowCounts(step, destination)
        let tables = destination.joinTables.map { table in
            JoinTableFill(
                table, owners: destination.table(of: table.relationship.entity).flatMap { rows.byTable[$0.name] } ?? 0,
                assignments, resolved, source, found)
        }
        keys = KeyRule.all(step, assignments, tables)
        keepers = Dictionary(
            grouping: resolved.entityMappings.filter(\.mayKeepPrimaryKeys),
            by: { destination.model.root(of: $0.destination) }
        ).mapValues { $0.map(\.position) }
        operations = StepOperation.all(step, assignments, tables, rows, source, destination)
        (relationships, joinTables, self.damage) = (assignments, tables, found)
    }

    /// What fills a join table; nil where the destination has none of the name.
    package func joinTable(_ name: String?) -> JoinTableFill? { joinTables.first { $0.table.name == name } }

    /// The foreign keys that a mapping writes with its rows.
    package func inline(
        of mapping: ResolvedEntityMapping
    ) -> [(assignment: RelationshipAssignment, contribution: RelationshipContribution)] {
        relationships.flatMap { assignment in
            assignment.contributions
                .filter { $0.isInline && $0.mapping.position == mapping.position }
                .map { (assignment, $0) }
        }
    }

    /// Positions of the mappings whose objects may have the keys of their sources in the table of a root entity.
    package func keepers(inTableOf root: String) -> [Int] { keepers[root] ?? [] }

    /// Whether what became of source objects is stored for any mapping.
    package var storesAssociations: Bool { keys.contains { $0.association != .none } }
}

/// Where the keys of one entity mapping's objects come from, and where it is looked up what became of a source object.
package struct KeyRule: Sendable, Equatable {
    package enum Association: String, Sendable {
        /// It follows from the object's own key, or is never asked.
        case none
        case stored
        /// Stored, and only ever read as a whole.
        case readAtOnce
    }

    package let isKept: Bool
    /// Positions of the mappings whose new objects come before those of this one in the same table, in their order.
    package let earlierMakers: [Int]
    /// Names of the mappings whose new keys this one counts while it writes its rows.
    package let counted: [String]
    package let association: Association

    /// By position.
    static func all(
        _ step: StepPlan, _ assignments: [RelationshipAssignment], _ tables: [JoinTableFill]
    ) -> [KeyRule] {
        let resolved = step.resolved
        let counting = CountedKeys(step)
        let stored = associated(resolved, assignments)
        let contributions = assignments.flatMap(\.contributions)
        return resolved.entityMappings.map { mapping in
            let counted = contributions.filter { $0.isCounted && $0.mapping.position == mapping.position }
            let isAtOnce = !resolved.hasPolicies && isReadAtOnce(mapping, assignments, tables)
            return KeyRule(
                isKept: mapping.keepsPrimaryKey,
                earlierMakers: counting.earlierMakers(than: mapping).map(\.position),
                counted: Set(counted.flatMap(\.rule.mappings)).sorted(),
                association: stored.contains(mapping.position) ? isAtOnce ? .readAtOnce : .stored : .none)
        }
    }

    /// Positions of the mappings whose associations are needed.
    private static func associated(_ step: ResolvedStep, _ assignments: [RelationshipAssignment]) -> Set<Int> {
        let mappings = MappingsByName(step)
        var associated: Set<Int> = []
        if step.hasPolicies {
            // A policy may ask for what any mapping made.
            associated = Set(step.entityMappings.filter { !$0.keepsPrimaryKey }.map(\.position))
        }
        for contribution in assignments.flatMap(\.contributions) {
            for name in contribution.isCounted ? [] : contribution.rule.mappings {
                if let other = mappings[name], !other.keepsPrimaryKey { associated.insert(other.position) }
            }
            if !contribution.isInline, !contribution.mapping.keepsPrimaryKey {
                associated.insert(contribution.mapping.position)
            }
        }
        return associated
    }

    private static func isReadAtOnce(
        _ other: ResolvedEntityMapping, _ assignments: [RelationshipAssignment], _ tables: [JoinTableFill]
    ) -> Bool {
        assignments.allSatisfy { assignment in
            let isSorted = tables.contains { $0.table.name == assignment.joinTable && $0.order == .sorted }
            return assignment.contributions.allSatisfy { contribution in
                guard contribution.rule.mappings.contains(other.name), !contribution.isCounted else {
                    return contribution.isInline || contribution.mapping.position != other.position
                }
                return isSorted && contribution.isOwnAssociation(of: other)
            }
        }
    }
}

extension RelationshipAssignment {
    /// Finds the keys that rows take from the source as they are.
    fileprivate mutating func passOnKeys(_ step: ResolvedStep, _ source: StoreLayout, _ damage: LinkDamage) {
        guard case .foreignKey(_, _, let entityColumn, _) = storage else { return }
        for index in contributions.indices {
            let (mapping, rule) = (contributions[index].mapping, contributions[index].rule)
            guard contributions[index].isInline, let origin = contributions[index].origin,
                case .foreignKey(_, let column, _, _) = origin.storage,
                damage.isDangling(origin.relationship, of: mapping.source) == false,
                // With several targets only the row itself tells which of them it is.
                entityColumn == nil || rule.mappings.count == 1,
                rule.keepsEveryTarget(of: origin.relationship, step, source.model)
            else { continue }
            contributions[index].key = .column(column)
        }
    }
}

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
        [model.key(of: relationship.name, in: entity), model.inverseKey(of: relationship)].compactMap { $0 }
    }
}
