internal import FerryMapping
internal import FerryModel
package import FerryStore

/// The plan for filling one join table of a copy.
package struct JoinTableFill: Sendable, Equatable {
    package enum Order: String, Sendable {
        /// The rows arrive in the order of the primary key, or there are none.
        case asWalked
        /// One statement sorts the rows.
        case sorted
        /// Scratch gathers the rows first, because several rules give them, or positions depend on all of them.
        case gathered
    }

    package let table: JoinTable
    package let order: Order
    /// The source's join table of the same links, its columns in the order of ``table``; nil if links are looked up.
    package let origin: JoinTable?

    init(
        _ table: JoinTable, _ assignments: [RelationshipAssignment], _ step: ResolvedStep, _ source: StoreLayout,
        _ damage: LinkDamage
    ) {
        self.table = table
        let filling = assignments.filter { $0.joinTable == table.name }
        guard !step.hasPolicies else {
            // A policy may relate objects of any many-to-many relationship.
            (order, origin) = (.gathered, nil)
            return
        }
        let isOfOneRule = filling.count == 1 && filling[0].contributions.count == 1
        if filling.isEmpty || isOfOneRule && Self.isWalked(filling[0], into: table) {
            order = .asWalked
        } else if isOfOneRule, table.firstOrderColumn == nil, table.secondOrderColumn == nil {
            order = .sorted
        } else {
            order = .gathered
        }
        origin = filling.count == 1 ? Self.origin(of: table, filling[0], step, source, damage) : nil
    }

    /// Whether a walk over one mapping's keys gives the rows in the order of the primary key, with their positions.
    private static func isWalked(_ assignment: RelationshipAssignment, into table: JoinTable) -> Bool {
        guard let contribution = assignment.contributions.first,
            case .join(_, let own, _, let otherOrder, let ownOrder) = assignment.storage
        else { return false }
        return own == table.firstColumn && contribution.mapping.keepsPrimaryKey
            && contribution.copied.suffice(otherOrder: otherOrder, ownOrder: ownOrder)
    }
}

extension JoinTableFill {
    /// The source's join table whose rows can be copied unchanged.
    ///
    /// Every link must lead from a row to a row, and every object must keep its key: then links need no lookup.
    private static func origin(
        of table: JoinTable, _ assignment: RelationshipAssignment, _ step: ResolvedStep, _ source: StoreLayout,
        _ damage: LinkDamage
    ) -> JoinTable? {
        guard case .join(_, let own, _, let otherOrder, let ownOrder) = assignment.storage else { return nil }
        var origins: Set<JoinTable> = []
        var carried: Set<String> = []
        var expected: Set<String> = []
        for contribution in assignment.contributions {
            let mapping = contribution.mapping
            guard let passed = contribution.origin, mapping.keepsEveryObject,
                contribution.copied.suffice(otherOrder: otherOrder, ownOrder: ownOrder),
                let entity = source.model.declaringEntity(of: passed.name, in: mapping.source),
                // No row of the source's join table has a dangling key.
                let links = source.joinTables.first(where: { $0.name == passed.storage.table }),
                !damage.dangling.contains(links.relationship),
                contribution.rule.keepsEveryTarget(of: passed.relationship, step, source.model),
                let origin = origin(of: table, passed.storage, isOwnFirst: own == table.firstColumn)
            else { return nil }
            origins.insert(origin)
            carried.insert(mapping.source)
            expected.formUnion(source.model.concreteFamily(of: entity))
        }
        guard origins.count == 1, expected.isSubset(of: carried) else { return nil }
        return origins.first
    }

    private static func origin(of table: JoinTable, _ storage: RelationshipStorage, isOwnFirst: Bool) -> JoinTable? {
        guard case .join(let name, let own, let other, let otherOrder, let ownOrder) = storage else { return nil }
        var origin = table
        origin.name = name
        (origin.firstColumn, origin.secondColumn) = isOwnFirst ? (own, other) : (other, own)
        let (first, second) = isOwnFirst ? (ownOrder, otherOrder) : (otherOrder, ownOrder)
        origin.firstOrderColumn = table.firstOrderColumn.flatMap { _ in first }
        origin.secondOrderColumn = table.secondOrderColumn.flatMap { _ in second }
        return origin.columns.count == table.columns.count ? origin : nil
    }
}
