internal import FerryBase
internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// The pairs that the rules of one stored relation yield: their sums, which show that the stored pairs are the same, and
/// a search for the first place where they are not.
///
/// Each side's pairs are summed up, whatever their order. A stored key has one row, so that equal sums also show that no
/// object has two candidates. Only where the sums differ, or where the order of the pairs counts, are the pairs written
/// into a table of the lookup file, in the order in which the objects yield them.
final class RelationPairs {
    let relation: StoredRelation
    let context: VerificationContext
    // The rowid counts the pairs, each with the side of its rule.
    let table: String
    private var rows: IntegerRows?
    private let key: KeyedHash.Key
    /// The sums of the pairs so far, by the side of their rules.
    private var sums: [EntrySum]
    /// Whether the objects with the foreign key are ordered by their own keys among those of a related object.
    let areInKeyOrder: Bool

    init(_ known: RelationForms.Known, in context: VerificationContext) throws {
        (relation, self.context) = (known.relation, context)
        areInKeyOrder = relation.links.areInRowsOfA && relation.rules.contains { $0.side == 0 }
        table = "lookups.pairs_\(known.number)"
        key = context.progress.state.hashKey
        sums = context.progress.state.pairs[relation.key.title] ?? Array(repeating: EntrySum(), count: 3)
        if ordersByPairs { try write() }
    }

    /// To be called before the lookup file is committed for a later call.
    func flush() throws {
        try rows?.flush()
        context.progress.state.pairs[relation.key.title] = sums
    }

    /// Whether pairs are written, and not only summed up.
    var isWritten: Bool { rows != nil }

    /// From now on writes the pairs, all of which must be added again.
    func write() throws {
        try context.connection.execute("CREATE TABLE IF NOT EXISTS \(table) (a INTEGER, b INTEGER, side INTEGER)")
        rows = try IntegerRows(into: table, width: 3, on: context.connection)
    }

    // MARK: Adding

    /// Adds the pairs of a rule for one object; a merged object is added once for each source object.
    func add(_ key: Int64, by rule: RelatedObjects.Rule, in scope: PlainScope, _ related: RelatedObjects) throws {
        guard rule.isToMany else {
            if let other = try related.firstCandidate(rule, in: scope) { try record(key, other, rule) }
            return
        }
        try related.eachCandidate(rule, in: scope) { other, _ in try record(key, other, rule) }
    }

    private func record(_ own: Int64, _ other: Int64, _ rule: RelatedObjects.Rule) throws {
        let (a, b) = rule.isInverse ? (other, own) : (own, other)
        if let rows { return try rows.add(a, b, Int64(rule.side)) }
        sums[rule.side].add(a, b, key: key)
    }

    // MARK: Sums

    /// Whether the sums show that the pairs which the rules yield are those that are stored.
    func areStored() throws -> Bool {
        var sides = sums
        if let rows {
            try rows.flush()
            sides = try sides.indices.map { side in
                try EntrySum(
                    of: ["a", "b"], "FROM \(table) WHERE side = \(side)", about: relation.key.property, in: context)
            }
        }
        guard let stored = try relation.storedSum(in: context) else { return false }
        let own = sides[0...1].filter { $0.count > 0 }
        // Between keys of one side a mirrored rule adds nothing; between those of both sides it relates free objects.
        let mirrored = [sides[2]].filter { $0.count > 0 && (relation.form.other != nil || !isKeyed) }
        if own.isEmpty && (isKeyed || mirrored.isEmpty) { return mirrored.isEmpty && stored.count == 0 }
        return (own + mirrored).allSatisfy { $0 == stored }
    }

    // MARK: The search

    /// Compares the written pairs with the stored ones, in the order of their keys.
    func compare() throws {
        try rows?.flush()
        let links = relation.links
        guard isKeyed else {
            // A pair of a relationship that is its own inverse has a row for one direction or for both, as in the source.
            let (a, b) = (links.a, links.b)
            return try compare(
                relation.key, expected: "SELECT DISTINCT a, b FROM \(table) ORDER BY 1, 2",
                actual: """
                    SELECT DISTINCT \(a), \(b) FROM destination.\(links.table)
                    WHERE \(a) IS NOT NULL AND \(b) IS NOT NULL ORDER BY 1, 2
                    """,
                place: { "\(links.table) \(a) \($0)" })
        }
        guard let other = relation.form.other, let inverse = relation.form.inverse else {
            return try compareKeys(relation.key, links.b, in: links.table, expected: firstForEachOwner)
        }
        try findOneToOne()
        let claimed = "FROM \(table)_claimed ORDER BY"
        try compareKeys(relation.key, links.b, in: links.table, expected: "SELECT a, b \(claimed) a, b")
        try compareKeys(inverse, other.b, in: other.table, expected: "SELECT b, a \(claimed) b")
    }

    private func compareKeys(_ key: PropertyKey, _ column: String, in table: String, expected: String) throws {
        try compare(
            key, expected: expected,
            actual: "SELECT Z_PK, \(column) FROM destination.\(table) WHERE \(column) IS NOT NULL ORDER BY Z_PK",
            place: { "\(table) Z_PK \($0) \(column)" })
    }

    // MARK: Queries: pairs in the order of their keys

    /// The side of the last rule, which comes first.
    private var lastSide: Int {
        let last = relation.rules.filter { !$0.isMirrored }.max {
            ($0.mapping.position, $0.relationship.name) < ($1.mapping.position, $1.relationship.name)
        }
        return last?.isInverse == true ? 1 : 0
    }

    /// Ranks are sums with multiples of this number, which no key or rowid reaches.
    private static let more: Int64 = 1 << 59

    private var firstForEachOwner: String {
        let rank = "(side <> \(lastSide)) * \(Self.more) + rowid"
        return "SELECT a, b FROM (SELECT a, b, min(\(rank)) FROM \(table) WHERE side < 2 GROUP BY a) ORDER BY a"
    }

    /// Finds the pairs of a one-to-one: fills the table `_claimed`, which has each object once.
    ///
    /// Each object with a rule takes its first candidate, first those of the side of the last rule, then those of the other
    /// side that are still free, with candidates that are. If several take the same object, the pair counts on which both
    /// sides of the source agree, else that with the lowest key. Pairs of the other side of the source alone count if both
    /// objects are free in the end.
    ///
    /// Common table expressions would take memory outside the cache of the lookup file, whose tables are filled in the
    /// order of their keys.
    private func findOneToOne() throws {
        let (mirrored, claimed) = ("\(table)_mirrored", "\(table)_claimed")
        func create(_ name: String, _ key: String) -> String {
            """
            DROP TABLE IF EXISTS \(name);
            CREATE TABLE \(name) (a INTEGER, b INTEGER, PRIMARY KEY (\(key))) WITHOUT ROWID
            """
        }
        var queries = [
            create(mirrored, "a, b"), create(claimed, "b"),
            "CREATE INDEX \(claimed)_a ON \(claimed.dropFirst("lookups.".count)) (a)",
            "INSERT INTO \(mirrored) (a, b) SELECT DISTINCT a, b FROM \(table) WHERE side = 2 ORDER BY a, b",
        ]
        for side in lastSide == 0 ? [0, 1] : [1, 0] { queries += claims(ofSide: side, mirrored, claimed, create) }
        queries.append(
            """
            INSERT INTO \(claimed) (a, b) SELECT min(a), b FROM (
                SELECT a, min(b) AS b FROM \(mirrored) AS m WHERE \(areFree("m", claimed)) GROUP BY a)
            GROUP BY b ORDER BY b
            """)
        for query in queries {
            try context.announce(relation.key.property)
            try context.connection.execute(query)
        }
    }

    private func claims(
        ofSide side: Int, _ mirrored: String, _ claimed: String, _ create: (String, String) -> String
    ) -> [String] {
        let (own, agreed) = ("\(table)_own", "\(table)_agreed")
        let isMirrored = "EXISTS (SELECT 1 FROM \(mirrored) AS m WHERE m.a = o.a AND m.b = o.b)"
        return [
            create(own, "a"), create(agreed, "b"),
            """
            INSERT INTO \(own) (a, b) SELECT a, b FROM (
                SELECT a, b, min((NOT \(isMirrored)) * \(Self.more) + b) FROM (
                    SELECT a, b, min(rowid) FROM \(table) WHERE side = \(side) GROUP BY \(side == 0 ? "a" : "b")) AS o
                WHERE \(areFree("o", claimed)) GROUP BY a) ORDER BY a
            """,
            """
            INSERT INTO \(agreed) (a, b) SELECT min(a), b FROM \(own) AS o WHERE \(isMirrored) GROUP BY b ORDER BY b
            """,
            """
            INSERT INTO \(claimed) (a, b) SELECT min(a), b FROM \(own) AS o
            WHERE NOT EXISTS (SELECT 1 FROM \(agreed) AS g WHERE g.b = o.b) OR \(isMirrored) GROUP BY b ORDER BY b
            """,
        ]
    }

    private func areFree(_ pair: String, _ claimed: String) -> String {
        ["a", "b"].map { "NOT EXISTS (SELECT 1 FROM \(claimed) AS c WHERE c.\($0) = \(pair).\($0))" }
            .joined(separator: " AND ")
    }

    // MARK: Comparing

    /// Merges expected and actual pairs, both ordered by first and second key.
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
        guard relation.isReflexive, !isKeyed, let value else { return false }
        return try context.keptDamage.holds(key, holder: value, value: holder)
    }

    var isKeyed: Bool { relation.links.areInRowsOfA }

    private func report(_ place: String) {
        context.report(RelationshipsCheck.self, entity: relation.key.entity, example: place)
    }

    private static func next(_ statement: Statement) throws -> (Int64, Int64)? {
        try statement.step() ? (statement.integer(0), statement.integer(1)) : nil
    }
}
