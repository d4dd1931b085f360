internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The pairs that the rules of one relation yield, in a table of the lookup file, in the order in which they arise.
struct RelationPairs: ExpectedRelation {
    let relation: StoredRelation
    let context: VerificationContext

    // Row ids count the pairs; `side` is 1 where the rule belongs to `b`, and 2 where it is an echo.
    private let table: String
    private let insert: Statement

    init(_ relation: StoredRelation, number: Int, in context: VerificationContext) throws {
        self.relation = relation
        self.context = context
        table = "main.pairs_\(number)"
        try context.connection.execute("CREATE TABLE IF NOT EXISTS \(table) (a INTEGER, b INTEGER, side INTEGER)")
        insert = try context.connection.prepare("INSERT INTO \(table) VALUES (?, ?, ?)")
    }

    func add(_ key: Int64, by rule: StoredRelation.Rule, in scope: PlainScope, _ related: RelatedObjects) throws {
        guard rule.isToMany else {
            if let other = try related.firstCandidate(related.rule(rule.relationship), in: scope) {
                try record(key, other, rule)
            }
            return
        }
        try related.eachCandidate(related.rule(rule.relationship), in: scope) { try record(key, $0.key, rule) }
    }

    private func record(_ own: Int64, _ other: Int64, _ rule: StoredRelation.Rule) throws {
        try insert.bind(own, at: rule.isInverse ? 2 : 1)
        try insert.bind(other, at: rule.isInverse ? 1 : 2)
        let side: Int64 = rule.isEcho ? 2 : rule.isInverse ? 1 : 0
        try insert.bind(side, at: 3)
        try insert.run()
    }

    func compare() throws {
        switch relation.storage {
        case .foreignKey(let table, let column, _):
            try compare(
                relation.key, expected: firstForEachOwner, actual: RelationPairs.keys(column, in: table),
                place: { "\(table) Z_PK \($0) \(column)" })
        case .oneToOne(let table, let column, let otherTable, let otherColumn):
            try compare(
                relation.key, expected: firstForEachSide, actual: RelationPairs.keys(column, in: table),
                place: { "\(table) Z_PK \($0) \(column)" })
            let inverse = context.destinationModel.relationship(relation.key.property, of: relation.key.entity)
                .flatMap { StoredRelation.inverse(of: $0, in: context.destinationModel) }
            try compare(
                inverse ?? relation.key, expected: firstForEachSideInverted,
                actual: RelationPairs.keys(otherColumn, in: otherTable),
                place: { "\(otherTable) Z_PK \($0) \(otherColumn)" })
        case .join(let table, let a, let b, _, _, let isReflexive):
            // Of a relationship that is its own inverse a pair counts as one, whichever way round it stands. A row
            // without one of its keys is no pair; the references' check judges it.
            let columns = isReflexive ? "min(\(a), \(b)) AS a, max(\(a), \(b)) AS b" : "\(a) AS a, \(b) AS b"
            try compare(
                relation.key, expected: isReflexive ? distinctUnordered : distinct,
                actual: """
                    SELECT DISTINCT \(columns) FROM destination.\(table)
                    WHERE \(a) IS NOT NULL AND \(b) IS NOT NULL ORDER BY 1, 2
                    """,
                place: { "\(table) \(a) \($0)" })
        }
    }

    private static func keys(_ column: String, in table: String) -> String {
        "SELECT Z_PK, \(column) FROM destination.\(table) WHERE \(column) IS NOT NULL ORDER BY Z_PK"
    }

    // MARK: Queries: pairs in the order of their keys

    /// For an owner with several candidates, which side's rule counts: the later one.
    private var sideOrder: String {
        let last = relation.rules.filter { !$0.isEcho }.max {
            ($0.mapping.position, $0.relationship.name) < ($1.mapping.position, $1.relationship.name)
        }
        return last?.isInverse == true ? "1 - side" : "side"
    }

    /// The number of a pair: lower is first.
    private var rank: String { "(\(sideOrder)) * 1152921504606846976 + rowid" }

    private var firstForEachOwner: String {
        "SELECT a, b FROM (SELECT a, b, min(\(rank)) FROM \(table) WHERE side < 2 GROUP BY a) ORDER BY a"
    }

    /// The pairs of a one-to-one, as common table expressions up to `one`.
    ///
    /// Each `a` takes its first candidate; of several `a` with the same one the one keeps it with which both sides of
    /// the source agree, else the lowest key. Then what only the other side says, where both objects are still free.
    private var oneToOne: String {
        """
        WITH own AS MATERIALIZED (\(firstForEachOwner)),
            agreed AS MATERIALIZED (
                SELECT own.a, own.b FROM own JOIN \(table) AS e ON e.a = own.a AND e.b = own.b AND e.side = 2),
            claimed AS MATERIALIZED (
                SELECT min(a) AS a, b FROM own
                WHERE b NOT IN (SELECT b FROM agreed) OR (a, b) IN (SELECT a, b FROM agreed) GROUP BY b),
            echoed AS (
                SELECT a, min(b) AS b FROM \(table) WHERE side = 2 AND a NOT IN (SELECT a FROM claimed)
                    AND b NOT IN (SELECT b FROM claimed) GROUP BY a),
            one AS (SELECT a, b FROM claimed UNION ALL SELECT min(a), b FROM echoed GROUP BY b)
        """
    }

    private var firstForEachSide: String { "\(oneToOne) SELECT a, b FROM one ORDER BY a" }

    private var firstForEachSideInverted: String { "\(oneToOne) SELECT b, a FROM one ORDER BY b" }

    private var distinct: String { "SELECT DISTINCT a, b FROM \(table) ORDER BY a, b" }

    private var distinctUnordered: String {
        "SELECT DISTINCT min(a, b) AS a, max(a, b) AS b FROM \(table) ORDER BY 1, 2"
    }

    /// Pairs by `b`, each once, in the order in which they arose; those of the side's own rules first.
    func inOrder(of side: OrderKeys.Side) -> String {
        let (group, other, own) = side == .a ? ("a", "b", 0) : ("b", "a", 1)
        return """
            SELECT \(group) AS owner, \(other) AS member,
                min((side <> \(own)) * 1152921504606846976 + rowid) AS place
            FROM \(table) GROUP BY \(group), \(other)
            """
    }

    // MARK: Comparing

    /// Walks through expected and actual pairs, both in the order of their first and second keys.
    private func compare(
        _ key: PropertyKey, expected: String, actual: String, place: (Int64) -> String
    ) throws {
        let expected = try context.connection.prepare(expected)
        let actual = try context.connection.prepare(actual)
        var left = try RelationPairs.next(expected)
        var right = try RelationPairs.next(actual)
        while left != nil || right != nil {
            try context.advance(relation.key.property, done: 0, total: nil)
            if let pair = left, right == nil || pair < right ?? pair {
                var found: Int64?
                // A wrong key is one difference, not a missing and an additional one.
                if isKeyed, let other = right, other.0 == pair.0 {
                    found = other.1
                    right = try RelationPairs.next(actual)
                }
                if try !(isKeyed && isKept(key, pair.0, found)) { report(place(pair.0)) }
                left = try RelationPairs.next(expected)
            } else if let pair = right, left == nil || pair < left ?? pair {
                if try !isKept(key, pair.0, pair.1) { report(place(pair.0)) }
                if isKeyed, let other = left, other.0 == pair.0 { left = try RelationPairs.next(expected) }
                right = try RelationPairs.next(actual)
            } else {
                left = try RelationPairs.next(expected)
                right = try RelationPairs.next(actual)
            }
        }
    }

    private func isKept(_ key: PropertyKey, _ holder: Int64, _ value: Int64?) throws -> Bool {
        if try context.keptDamage.holds(key, holder: holder, value: value) { return true }
        guard case .join(_, _, _, _, _, isReflexive: true) = relation.storage, let value else { return false }
        return try context.keptDamage.holds(key, holder: value, value: holder)
    }

    private var isKeyed: Bool { if case .join = relation.storage { false } else { true } }

    private func report(_ place: String) {
        context.report(RelationshipsCheck.self, entity: relation.key.entity, example: place)
    }

    private static func next(_ statement: Statement) throws -> (Int64, Int64)? {
        try statement.step() ? (statement.integer(0), statement.integer(1)) : nil
    }
}
