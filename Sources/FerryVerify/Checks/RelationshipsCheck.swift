internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every stored relationship against what the rules yield: pairs that are missing, wrong or too many, and positions.
struct RelationshipsCheck: Check {
    static let name = "relationships"
    static let isQuick = false

    func run(in context: VerificationContext) throws {
        let related = RelatedObjects(context)
        for relation in try StoredRelation.all(in: context) {
            let pairs = try RelationPairs(relation, related, in: context)
            switch relation.storage {
            case .foreignKey(let table, let column, _):
                try context.announce(table)
                try pairs.compare(
                    expected: pairs.firstForEachOwner,
                    actual:
                        "SELECT Z_PK, \(column) FROM destination.\(table) WHERE \(column) IS NOT NULL ORDER BY Z_PK",
                    place: { "\(table) Z_PK \($0) \(column)" })
            case .oneToOne(let table, let column, let otherTable, let otherColumn):
                try context.announce(table)
                try pairs.compare(
                    expected: pairs.firstForEachSide,
                    actual:
                        "SELECT Z_PK, \(column) FROM destination.\(table) WHERE \(column) IS NOT NULL ORDER BY Z_PK",
                    place: { "\(table) Z_PK \($0) \(column)" })
                try pairs.compare(
                    expected: pairs.firstForEachSideInverted,
                    actual: """
                        SELECT Z_PK, \(otherColumn) FROM destination.\(otherTable)
                        WHERE \(otherColumn) IS NOT NULL ORDER BY Z_PK
                        """,
                    place: { "\(otherTable) Z_PK \($0) \(otherColumn)" })
            case .join(let table, let a, let b, _, _, let isReflexive):
                try context.announce(table)
                // Of a relationship that is its own inverse a pair counts as one, whichever way round it stands.
                let columns = isReflexive ? "min(\(a), \(b)) AS a, max(\(a), \(b)) AS b" : "\(a) AS a, \(b) AS b"
                try pairs.compare(
                    expected: isReflexive ? pairs.distinctUnordered : pairs.distinct,
                    actual: "SELECT DISTINCT \(columns) FROM destination.\(table) ORDER BY 1, 2",
                    place: { "\(table) \(a) \($0)" })
            }
            try OrderKeys(relation, pairs, in: context).check()
            try pairs.remove()
        }
    }
}

/// The pairs that the rules of one relation yield, in a table of the lookup file, in the order in which they arise.
struct RelationPairs {
    let relation: StoredRelation
    let context: VerificationContext

    // Row ids count the pairs; `side` is 1 where the rule belongs to `b`.
    private let table = "main.pairs"

    init(_ relation: StoredRelation, _ related: RelatedObjects, in context: VerificationContext) throws {
        self.relation = relation
        self.context = context
        try context.connection.execute("CREATE TABLE \(table) (a INTEGER, b INTEGER, side INTEGER)")
        let insert = try context.connection.prepare("INSERT INTO \(table) VALUES (?, ?, ?)")
        for rule in relation.rules {
            let isToOne =
                context.destinationModel.relationship(rule.relationship.name, of: rule.mapping.destination)
                .map { !$0.isToMany } ?? false
            try insert.bind(Int64(rule.isInverse ? 1 : 0), at: 3)
            let record = { (own: Int64, other: Int64) throws -> Void in
                try insert.bind(own, at: rule.isInverse ? 2 : 1)
                try insert.bind(other, at: rule.isInverse ? 1 : 2)
                try insert.run()
            }
            try related.eachObject(of: rule.mapping) { key, scope in
                if isToOne {
                    if let other = try related.firstCandidate(rule.relationship, in: scope) { try record(key, other) }
                } else {
                    try related.eachCandidate(rule.relationship, in: scope) { try record(key, $0.key) }
                }
            }
        }
    }

    func remove() throws { try context.connection.execute("DROP TABLE \(table)") }

    // MARK: Queries: pairs in the order of their keys

    /// For an owner with several candidates, which side's rule counts: the later one.
    private var sideOrder: String {
        let last = relation.rules.max {
            ($0.mapping.position, $0.relationship.name) < ($1.mapping.position, $1.relationship.name)
        }
        return last?.isInverse == true ? "1 - side" : "side"
    }

    /// The number of a pair: lower is first.
    private var rank: String { "(\(sideOrder)) * 1152921504606846976 + rowid" }

    var firstForEachOwner: String {
        "SELECT a, b FROM (SELECT a, b, min(\(rank)) FROM \(table) GROUP BY a) ORDER BY a"
    }

    /// Each `a` takes its first candidate; of several `a` with the same one the lowest key keeps it.
    var firstForEachSide: String {
        "SELECT min(a) AS a, b FROM (\(firstForEachOwner)) GROUP BY b ORDER BY 1"
    }

    var firstForEachSideInverted: String {
        "SELECT b, min(a) FROM (\(firstForEachOwner)) GROUP BY b ORDER BY b"
    }

    var distinct: String { "SELECT DISTINCT a, b FROM \(table) ORDER BY a, b" }

    var distinctUnordered: String {
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
    func compare(expected: String, actual: String, place: (Int64) -> String) throws {
        let expected = try context.connection.prepare(expected)
        let actual = try context.connection.prepare(actual)
        var left = try RelationPairs.next(expected)
        var right = try RelationPairs.next(actual)
        while left != nil || right != nil {
            try context.advance(relation.key.property, done: 0, total: nil)
            if let pair = left, right == nil || pair < right ?? pair {
                report(place(pair.0))
                // A wrong key is one difference, not a missing and an additional one.
                if isKeyed, let other = right, other.0 == pair.0 { right = try RelationPairs.next(actual) }
                left = try RelationPairs.next(expected)
            } else if let pair = right, left == nil || pair < left ?? pair {
                report(place(pair.0))
                if isKeyed, let other = left, other.0 == pair.0 { left = try RelationPairs.next(expected) }
                right = try RelationPairs.next(actual)
            } else {
                left = try RelationPairs.next(expected)
                right = try RelationPairs.next(actual)
            }
        }
    }

    private var isKeyed: Bool { if case .join = relation.storage { false } else { true } }

    private func report(_ place: String) {
        context.report(RelationshipsCheck.self, entity: relation.key.entity, example: place)
    }

    private static func next(_ statement: Statement) throws -> (Int64, Int64)? {
        try statement.step() ? (statement.integer(0), statement.integer(1)) : nil
    }
}
