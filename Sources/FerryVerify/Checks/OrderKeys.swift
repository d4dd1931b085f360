internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The positions in one ordered relationship: strictly increasing in the expected order; 2048, then 1024 more for each,
/// where a mapping relates objects by a rule of its own or the source lacked some; else the source's own.
struct OrderKeys {
    enum Side { case a, b }

    private let expected: any ExpectedRelation
    private let context: VerificationContext

    init(_ expected: any ExpectedRelation, in context: VerificationContext) {
        self.expected = expected
        self.context = context
    }

    private var relation: StoredRelation { expected.relation }

    func check() throws {
        switch relation.storage {
        case .foreignKey(let table, let column, let orderColumn?):
            try check(
                of: .b, table: table, owner: column, member: "Z_PK", order: orderColumn,
                condition: " AND j.\(column) IS NOT NULL")
        case .join(let table, let a, let b, let aOrder, let bOrder, false):
            if let bOrder { try check(of: .a, table: table, owner: a, member: b, order: bOrder, condition: "") }
            if let aOrder { try check(of: .b, table: table, owner: b, member: a, order: aOrder, condition: "") }
        case .foreignKey, .oneToOne, .join: break
        }
    }

    private func check(
        of side: Side, table: String, owner: String, member: String, order: String, condition: String
    ) throws {
        let place = try expectedPlace(of: side)
        let statement = try context.connection.prepare(
            """
            SELECT p.owner, p.member, p.place, j.\(order) FROM (\(place)) AS p
            JOIN destination.\(table) AS j ON j.\(member) = p.member AND j.\(owner) = p.owner\(condition)
            ORDER BY p.owner, p.place, p.member
            """)
        let isCarried = carriedOrder(of: side) != nil
        let isCarriedInPlace = context.verification.isInPlace && isCarried
        // Beside policies all that is related counts, not only what was.
        let isCopied = isCarried && !context.step.hasPolicies
        let isExact = relation.rules.allSatisfy { !$0.relationship.isAutomatic }
        var previous: (owner: Int64, place: Int64, order: Int64, index: Int64)?
        while try statement.step() {
            let (key, place) = (statement.integer(0), statement.integer(2))
            let actual = statement.integer(3)
            var index: Int64 = 0
            var isRight = !statement.isNull(3)
            if let before = previous, before.owner == key {
                index = before.index + 1
                // Objects that the source puts in one place may stand in any order.
                isRight = isRight && (before.place == place || before.order < actual)
            }
            let isNew = actual == 2048 + 1024 * index
            if isExact { isRight = isRight && isNew }
            if isCopied { isRight = isRight && (isNew || !statement.isNull(2) && place == actual) }
            // In place a position stays what it was, were it none.
            if isCarriedInPlace, statement.isNull(2) == statement.isNull(3), place == actual { isRight = true }
            if !isRight {
                context.report(
                    RelationshipsCheck.self, entity: relation.key.entity,
                    example: "\(table) \(member) \(statement.integer(1)) \(order)")
            }
            previous = (key, place, actual, index)
            try context.advance(table, done: 0, total: nil)
        }
    }

    /// SQL of `owner`, `member` and a number by which the members of an owner are in their expected order.
    private func expectedPlace(of side: Side) throws -> String {
        if let source = carriedOrder(of: side) { return source }
        // Known from the side's own rules, else in the order in which the objects were made.
        return expected.inOrder(of: side)
    }

    /// The source's own positions, where the relationship is carried over with the keys of both sides.
    private func carriedOrder(of side: Side) -> String? {
        guard let rule = relation.rules.first, relation.rules.allSatisfy({ isCarried($0) }),
            let storage = context.source.storage(
                of: rule.relationship.sourceRelationship ?? rule.relationship.name, in: rule.mapping.source)
        else { return nil }
        // Seen from the objects whose members are ordered, that is from `side`.
        let isOwnSide = rule.isInverse == (side == .b)
        switch storage {
        case .foreignKey(let table, let column, _, let order?) where !isOwnSide:
            return "SELECT \(column) AS owner, Z_PK AS member, \(order) AS place FROM source.\(table)"
        case .inverseForeignKey(let table, let column, _, let order?) where isOwnSide:
            return "SELECT \(column) AS owner, Z_PK AS member, \(order) AS place FROM source.\(table)"
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            let (owner, member, order) = isOwnSide ? (own, other, otherOrder) : (other, own, ownOrder)
            guard let order else { return nil }
            return "SELECT \(owner) AS owner, \(member) AS member, \(order) AS place FROM source.\(table)"
        default: return nil
        }
    }

    private func isCarried(_ rule: StoredRelation.Rule) -> Bool {
        rule.relationship.isAutomatic && rule.mapping.keepsPrimaryKey
            && rule.relationship.mappings.allSatisfy { context.step.entityMapping(named: $0)?.keepsPrimaryKey ?? false }
    }
}
