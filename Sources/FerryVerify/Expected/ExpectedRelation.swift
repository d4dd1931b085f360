internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The pairs that the rules of one stored relation yield, gathered object by object.
protocol ExpectedRelation: AnyObject {
    var relation: StoredRelation { get }
    var context: VerificationContext { get }
    /// Adds the pairs of a rule for one object; a merged object is added once for each source object.
    func add(_ key: Int64, by rule: RelationRule, in scope: PlainScope, _ related: RelatedObjects) throws
    /// Adds all pairs of a mapping's only rule at once; false if only its objects yield them.
    func addAll(of mapping: ResolvedEntityMapping) throws -> Bool
    func compare() throws
    /// SQL of `owner`, `member` and `place`: the pairs seen from one side, with a number that orders the members.
    func inOrder(of side: RelationSide) -> String
}

enum RelationSide { case a, b }

/// A rule, with its form in which the related objects are found.
final class RelationRule {
    let finding: RelatedObjects.Rule
    let isToMany: Bool
    let isInverse: Bool
    let isMirrored: Bool

    init(_ stored: StoredRelation.Rule, finding: RelatedObjects.Rule) {
        self.finding = finding
        (isToMany, isInverse, isMirrored) = (stored.isToMany, stored.isInverse, stored.isMirrored)
    }
}

extension ExpectedRelation {
    func addAll(of mapping: ResolvedEntityMapping) throws -> Bool { false }

    /// Checks the positions of an ordered relationship.
    ///
    /// They increase strictly in the expected order. They are the source's own, or 2048 and 1024 more for each next
    /// object if a mapping has a rule of its own or the source lacked some.
    func checkPositions() throws {
        if relation.other != nil || relation.isReflexive { return }
        if let order = relation.links.bOrder { try check(of: .a, relation.links, order: order) }
        if let order = relation.links.aOrder { try check(of: .b, relation.links.reversed, order: order) }
    }

    /// Checks the positions among the links of each object of one side; `links` are seen from that side.
    private func check(of side: RelationSide, _ links: StoredLinks, order: String) throws {
        let (context, relation) = (self.context, self.relation)
        let (table, owner, member) = (links.table, links.a, links.b)
        let carried = carriedOrder(of: side)
        // Otherwise the order is that of the side's own rules, or that in which the objects were made.
        let place = carried ?? inOrder(of: side)
        let statement = try context.connection.prepare(
            """
            SELECT p.owner, p.member, p.place, j.\(order) FROM (\(place)) AS p
            JOIN destination.\(table) AS j ON j.\(member) = p.member AND j.\(owner) = p.owner
            ORDER BY p.owner, p.place, p.member
            """)
        let isCarriedInPlace = context.verification.isInPlace && carried != nil
        let isExact = relation.rules.allSatisfy { !$0.relationship.isAutomatic }
        var previous: (owner: Int64, place: Int64, order: Int64, index: Int64)?
        while try statement.step() {
            let (key, place) = (statement.integer(0), statement.integer(2))
            let actual = statement.integer(3)
            var index: Int64 = 0
            var isRight = !statement.isNull(3)
            if let before = previous, before.owner == key {
                index = before.index + 1
                // Objects at the same position of the source may be in any order.
                isRight = isRight && (before.place == place || before.order < actual)
            }
            let isNew = actual == 2048 + 1024 * index
            if isExact { isRight = isRight && isNew }
            // Relationships to which a policy has added objects are not compared.
            if carried != nil { isRight = isRight && (isNew || !statement.isNull(2) && place == actual) }
            // In place a position stays unchanged, even NULL.
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

    /// SQL of the source's positions, if the relationship and the keys of both sides are carried over.
    private func carriedOrder(of side: RelationSide) -> String? {
        guard let rule = relation.rules.first, relation.rules.allSatisfy({ isCarried($0) }),
            let storage = context.source.storage(
                of: rule.relationship.sourceRelationship ?? rule.relationship.name, in: rule.mapping.source)
        else { return nil }
        // The objects of `side` own the ordered members.
        let links = rule.isInverse == (side == .b) ? StoredLinks(storage) : StoredLinks(storage).reversed
        return links.bOrder.map {
            "SELECT \(links.a) AS owner, \(links.b) AS member, \($0) AS place FROM source.\(links.table)"
        }
    }

    private func isCarried(_ rule: StoredRelation.Rule) -> Bool {
        rule.relationship.isAutomatic && rule.mapping.keepsPrimaryKey
            && rule.relationship.mappings.allSatisfy { context.mapping(named: $0)?.keepsPrimaryKey ?? false }
    }
}

/// The pairs that the rules of one relation yield, in a table of the lookup file, in the order of insertion.
final class RelationPairs: ExpectedRelation {
    let relation: StoredRelation
    let context: VerificationContext

    // The rowid counts the pairs; `side` is 1 if the rule belongs to `b`, and 2 if it is a mirrored rule.
    private let table: String
    private let number: Int
    private let rows: IntegerRows
    /// Queries of mappings whose pairs are not in the table yet: sums may show that they need not be written.
    private var pending: [(mapping: Int, query: PairQuery)] = []

    init(_ relation: StoredRelation, number: Int, in context: VerificationContext) throws {
        self.relation = relation
        self.context = context
        self.number = number
        table = "lookups.pairs_\(number)"
        try context.connection.execute("CREATE TABLE IF NOT EXISTS \(table) (a INTEGER, b INTEGER, side INTEGER)")
        rows = try IntegerRows(into: table, width: 3, on: context.connection)
        context.pairs.append(rows)
    }

    func addAll(of mapping: ResolvedEntityMapping) throws -> Bool {
        let rules = relation.rules.filter { $0.mapping.position == mapping.position }
        // The pairs of several rules would have another order.
        guard rules.count == 1, let query = try PairQuery(rules[0], into: table, in: context) else { return false }
        pending.append((mapping.position, query))
        // An earlier call has written some of them, or their positions are compared, too.
        let isBegun = try parts(of: query, mapping.position).contains { context.progress.state.done.contains($0.name) }
        if isBegun || relation.links.aOrder != nil || relation.links.bOrder != nil { try writePending() }
        return true
    }

    private func parts(of query: PairQuery, _ mapping: Int) throws -> [(name: String, range: KeyRange)] {
        try KeyRange.parts("pairs \(number) of \(mapping)", of: query.table, on: context.connection)
    }

    /// Writes the pairs of the queries so far, in the order of their mappings.
    private func writePending() throws {
        guard !pending.isEmpty else { return }
        try rows.flush()
        for (mapping, query) in pending {
            for (name, range) in try parts(of: query, mapping) {
                try context.announce(relation.key.property)
                try context.progress.once(name, in: context) { try query.run(range, on: context.connection) }
            }
        }
        pending = []
    }

    func add(_ key: Int64, by rule: RelationRule, in scope: PlainScope, _ related: RelatedObjects) throws {
        try writePending()
        guard rule.isToMany else {
            if let other = try related.firstCandidate(rule.finding, in: scope) {
                try record(key, other, rule)
            }
            return
        }
        try related.eachCandidate(rule.finding, in: scope) { other, _ in try record(key, other, rule) }
    }

    private func record(_ own: Int64, _ other: Int64, _ rule: RelationRule) throws {
        let (a, b) = rule.isInverse ? (other, own) : (own, other)
        try rows.add(a, b, rule.isMirrored ? 2 : rule.isInverse ? 1 : 0)
    }

    func compare() throws {
        try rows.flush()
        let proof = PairProof(
            relation: relation, table: table, queries: pending.map(\.query), context: context)
        if try proof.holds() { return }
        try writePending()
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
        guard let other = relation.other else {
            return try compareKeys(relation.key, links.b, in: links.table, expected: firstForEachOwner)
        }
        try findOneToOne()
        try compareKeys(relation.key, links.b, in: links.table, expected: firstForEachSide)
        try compareKeys(other.key, other.links.b, in: other.links.table, expected: firstForEachSideInverted)
    }

    private func compareKeys(_ key: PropertyKey, _ column: String, in table: String, expected: String) throws {
        try compare(
            key, expected: expected,
            actual: "SELECT Z_PK, \(column) FROM destination.\(table) WHERE \(column) IS NOT NULL ORDER BY Z_PK",
            place: { "\(table) Z_PK \($0) \(column)" })
    }

    // MARK: Queries: pairs in the order of their keys

    /// SQL that sorts an owner's candidates by side: the side of the last rule comes first.
    private var sideOrder: String {
        let last = relation.rules.filter { !$0.isMirrored }.max {
            ($0.mapping.position, $0.relationship.name) < ($1.mapping.position, $1.relationship.name)
        }
        return last?.isInverse == true ? "1 - side" : "side"
    }

    /// The rank of a pair: the lowest is first.
    ///
    /// Of several objects with a key to one in a one-to-one, the lowest key is first.
    private var rank: String {
        let place = relation.other == nil ? "rowid" : "CASE side WHEN 1 THEN b ELSE rowid END"
        return "(\(sideOrder)) * 1152921504606846976 + \(place)"
    }

    private var firstForEachOwner: String {
        "SELECT a, b FROM (SELECT a, b, min(\(rank)) FROM \(table) WHERE side < 2 GROUP BY a) ORDER BY a"
    }

    /// Finds the pairs of a one-to-one: fills the table `_claimed`, which has each `b` once.
    ///
    /// Each `a` takes its first candidate. If several `a` take the same `b`, the pair on which both sides of the source
    /// agree counts, else the lowest key. Pairs of the other side alone count if both objects are still free.
    ///
    /// Common table expressions would take memory outside the cache of the lookup file, whose tables are filled in the
    /// order of their keys.
    private func findOneToOne() throws {
        let (own, mirrored, agreed, claimed) = (
            "\(table)_own", "\(table)_mirrored", "\(table)_agreed", "\(table)_claimed"
        )
        let tables = [(own, "a"), (mirrored, "a, b"), (agreed, "b"), (claimed, "b")].map { name, key in
            """
            DROP TABLE IF EXISTS \(name);
            CREATE TABLE \(name) (a INTEGER, b INTEGER, PRIMARY KEY (\(key))) WITHOUT ROWID
            """
        }
        let isMirrored = "EXISTS (SELECT 1 FROM \(mirrored) AS m WHERE m.a = o.a AND m.b = o.b)"
        let queries = [
            "INSERT INTO \(own) (a, b) \(firstForEachOwner)",
            "INSERT INTO \(mirrored) (a, b) SELECT DISTINCT a, b FROM \(table) WHERE side = 2 ORDER BY a, b",
            """
            INSERT INTO \(agreed) (a, b) SELECT min(a), b FROM \(own) AS o WHERE \(isMirrored) GROUP BY b ORDER BY b
            """,
            """
            INSERT INTO \(claimed) (a, b) SELECT min(a), b FROM \(own) AS o
            WHERE NOT EXISTS (SELECT 1 FROM \(agreed) AS g WHERE g.b = o.b) OR \(isMirrored) GROUP BY b ORDER BY b
            """,
            "CREATE INDEX \(claimed)_a ON \(claimed.dropFirst("lookups.".count)) (a)",
            """
            INSERT INTO \(claimed) (a, b) SELECT min(a), b FROM (
                SELECT a, min(b) AS b FROM \(mirrored) AS m
                WHERE NOT EXISTS (SELECT 1 FROM \(claimed) AS c WHERE c.a = m.a)
                    AND NOT EXISTS (SELECT 1 FROM \(claimed) AS c WHERE c.b = m.b) GROUP BY a)
            GROUP BY b ORDER BY b
            """,
        ]
        for query in tables + queries {
            try context.announce(relation.key.property)
            try context.connection.execute(query)
        }
    }

    private var firstForEachSide: String { "SELECT a, b FROM \(table)_claimed ORDER BY a, b" }

    private var firstForEachSideInverted: String { "SELECT b, a FROM \(table)_claimed ORDER BY b" }

    /// Pairs by `b`, each once, in the order of insertion; pairs of the side's own rules come first, and in a join table
    /// those of the side whose relationship is first by name.
    ///
    /// Where rules of the objects with the foreign key take part, their own keys give the order, as in ``DirectKeys``.
    func inOrder(of side: RelationSide) -> String {
        if isKeyed, side == .b, relation.rules.contains(where: { !$0.isInverse && !$0.isMirrored }) {
            return "SELECT DISTINCT b AS owner, a AS member, a AS place FROM \(table)"
        }
        let (group, other, own) = side == .a ? ("a", "b", 0) : ("b", "a", 1)
        let first = isKeyed ? own : relation.isFirstByName ? 0 : 1
        return """
            SELECT \(group) AS owner, \(other) AS member,
                min((side <> \(first)) * 1152921504606846976 + rowid) AS place
            FROM \(table) GROUP BY \(group), \(other)
            """
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

    private var isKeyed: Bool { relation.links.areInRowsOfA }

    private func report(_ place: String) {
        context.report(RelationshipsCheck.self, entity: relation.key.entity, example: place)
    }

    private static func next(_ statement: Statement) throws -> (Int64, Int64)? {
        try statement.step() ? (statement.integer(0), statement.integer(1)) : nil
    }
}

/// The foreign keys of a relation that only the rules of their own objects fill: compared without gathering.
final class DirectKeys: ExpectedRelation {
    let relation: StoredRelation
    let context: VerificationContext
    private let table: String
    private let column: String
    private let find: Statement
    /// The key of the foreign keys read in ``VerificationProgress/State/met``; the destination may have no others.
    private let name: String

    /// Whether a relation can be compared by foreign key: no rule of the other side, no merged objects, and a rule for
    /// every object that can have a key.
    static func suffice(for relation: StoredRelation, in context: VerificationContext) -> Bool {
        guard relation.isForeignKey,
            relation.rules.allSatisfy({ !$0.isInverse && $0.mapping.unique.isEmpty })
        else { return false }
        return context.mappings(into: context.destinationModel.root(of: relation.key.entity)).allSatisfy { mapping in
            !context.destinationModel.isKind(mapping.destination, of: relation.key.entity)
                || relation.rules.contains { $0.mapping.position == mapping.position }
        }
    }

    init(_ relation: StoredRelation, in context: VerificationContext) throws {
        (self.relation, self.context) = (relation, context)
        (table, column, name) = (relation.links.table, relation.links.b, relation.key.title)
        find = try context.connection.prepare("SELECT \(column) FROM destination.\(table) WHERE Z_PK = ?")
    }

    func add(_ key: Int64, by rule: RelationRule, in scope: PlainScope, _ related: RelatedObjects) throws {
        let expected = try related.firstCandidate(rule.finding, in: scope)
        try find.bind(key, at: 1)
        defer { find.reset() }
        let exists = try find.step()
        let actual = exists && !find.isNull(0) ? find.integer(0) : nil
        if actual != nil { context.progress.state.met[name, default: 0] += 1 }
        guard actual != expected else { return }
        if try context.keptDamage.holds(relation.key, holder: key, value: actual) { return }
        report(example: "\(table) Z_PK \(key) \(column)")
    }

    func compare() throws {
        let stored = try context.connection.integer("SELECT count(\(column)) FROM destination.\(table)") ?? 0
        // Other rows with a key are not made by any mapping, and the rows check reports them.
        report(count: stored - context.progress.state.met[name, default: 0], example: "\(table) \(column)")
    }

    /// The members are ordered by their keys, in which order the objects were made.
    func inOrder(of side: RelationSide) -> String {
        "SELECT \(column) AS owner, Z_PK AS member, Z_PK AS place FROM destination.\(table) WHERE \(column) IS NOT NULL"
    }

    private func report(count: Int64 = 1, example: String) {
        context.report(RelationshipsCheck.self, entity: relation.key.entity, count: count, example: example)
    }
}
