internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The foreign keys of a relation that only the rules of their own objects fill, each object's once: they are compared
/// as they come, and nothing is gathered.
final class DirectKeys: ExpectedRelation {
    let relation: StoredRelation
    private let context: VerificationContext
    private let table: String
    private let column: String
    private let find: Statement
    /// Under which ``VerificationProgress/State/met`` counts the keys met on the way; the destination may have no others.
    private let name: String

    /// Whether a relation can be compared this way: no rule from the other side, no merged objects, and no object that
    /// could have a key without a rule.
    static func suffice(for relation: StoredRelation, in context: VerificationContext) -> Bool {
        guard case .foreignKey = relation.storage,
            relation.rules.allSatisfy({ !$0.isInverse && $0.mapping.unique.isEmpty })
        else { return false }
        return context.step.entityMappings.allSatisfy { mapping in
            !context.destinationModel.isKind(mapping.destination, of: relation.key.entity)
                || relation.rules.contains { $0.mapping.position == mapping.position }
        }
    }

    init(_ relation: StoredRelation, in context: VerificationContext) throws {
        guard case .foreignKey(let table, let column, _) = relation.storage else {
            preconditionFailure("\(relation.key.property) is stored otherwise")
        }
        self.relation = relation
        self.context = context
        self.table = table
        self.column = column
        name = "\(relation.key.entity).\(relation.key.property)"
        find = try context.connection.prepare("SELECT \(column) FROM destination.\(table) WHERE Z_PK = ?")
    }

    func add(_ key: Int64, by rule: StoredRelation.Rule, in scope: PlainScope, _ related: RelatedObjects) throws {
        let expected = try related.firstCandidate(related.rule(rule.relationship), in: scope)
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
        // Only rows that no mapping made are left, and they are reported themselves.
        report(count: stored - context.progress.state.met[name, default: 0], example: "\(table) \(column)")
    }

    /// The objects of the other side have theirs in the order in which these were made, which is that of their keys.
    func inOrder(of side: OrderKeys.Side) -> String {
        "SELECT \(column) AS owner, Z_PK AS member, Z_PK AS place FROM destination.\(table) WHERE \(column) IS NOT NULL"
    }

    private func report(count: Int64 = 1, example: String) {
        context.report(RelationshipsCheck.self, entity: relation.key.entity, count: count, example: example)
    }
}

/// A relation between objects that keep their keys and what another mapping made of the very same source objects, under
/// new keys: which links must be there is what the associations say, source object by source object.
struct AssociatedRelation {
    private let relation: StoredRelation
    private let context: VerificationContext
    /// The mapping of the objects that keep their keys, and the one whose objects they are related to.
    private let mapping: ResolvedEntityMapping
    private let target: ResolvedEntityMapping
    /// SQL of the links that the destination has, in the order of their keys: whose, and to what.
    private let links: String
    /// Whether the first of several is the only one.
    private let isToOne: Bool

    /// Nil where more than one rule has a part in it, positions, or any other object than `$source`.
    init?(_ relation: StoredRelation, in context: VerificationContext) {
        guard relation.rules.count == 1, let rule = relation.rules.first, !context.step.hasPolicies,
            !context.verification.isInPlace, rule.mapping.keepsPrimaryKey,
            rule.relationship.from == .variable("source") || rule.relationship.from == .evaluatedObject,
            rule.relationship.mappings.count == 1, let name = rule.relationship.mappings.first,
            let target = context.step.entityMapping(named: name), !target.keepsPrimaryKey,
            target.source == rule.mapping.source
        else { return nil }
        switch relation.storage {
        case .foreignKey(let table, let column, nil) where !rule.isInverse:
            links = "SELECT Z_PK, \(column) FROM destination.\(table) WHERE \(column) IS NOT NULL ORDER BY Z_PK"
            isToOne = true
        case .join(let table, let a, let b, nil, nil, isReflexive: false):
            let (own, other) = rule.isInverse ? (b, a) : (a, b)
            links = """
                SELECT \(own), \(other) FROM destination.\(table) WHERE \(own) IS NOT NULL AND \(other) IS NOT NULL
                ORDER BY \(own), \(other)
                """
            isToOne = false
        case .foreignKey, .oneToOne, .join: return nil
        }
        (self.relation, self.context) = (relation, context)
        (mapping, self.target) = (rule.mapping, target)
    }

    /// Whether every link is as it must be, which holds together with the rows and the references; if not, the rules
    /// themselves say what is wrong.
    func isShown() throws -> Bool {
        let unit = "associated:\(relation.key.entity).\(relation.key.property)"
        try context.progress.once(unit, in: context) {
            if try isRight() { context.progress.state.done.insert(unit + " is shown") }
        }
        return context.progress.state.done.contains(unit + " is shown")
    }

    private func isRight() throws -> Bool {
        try context.announce(relation.key.property)
        let expected = try context.associations.pairs(of: target, byKey: !isToOne)
        let actual = try context.connection.prepare(links)
        let find = try context.connection.prepare(
            """
            SELECT 1 FROM destination.\(try context.destinationTable(of: mapping.destination).name)
            WHERE Z_PK = ? AND Z_ENT = \(try context.destinationNumber(of: mapping.destination))
            """)
        defer { for statement in [expected, actual, find] { statement.reset() } }
        var left = try next(expected, after: nil)
        var isActual = try actual.step()
        while left != nil || isActual {
            if isActual, actual.storageClass(0) != .integer || actual.storageClass(1) != .integer { return false }
            let right = isActual ? (actual.integer(0), actual.integer(1)) : nil
            if let pair = left, let right, pair == right {
                left = try next(expected, after: pair)
                isActual = try actual.step()
            } else if let pair = left, right.map({ pair < $0 }) ?? true {
                // Of an object that was left out there are no links.
                try find.bind(pair.0, at: 1)
                defer { find.reset() }
                if try find.step() { return false }
                left = try next(expected, after: pair)
            } else {
                return false
            }
            try context.advance(relation.key.property, done: 0, total: nil)
        }
        return true
    }

    /// The next link that is another one; of a to-one relationship the next object's first.
    private func next(_ expected: Statement, after last: (Int64, Int64)?) throws -> (Int64, Int64)? {
        while try expected.step() {
            let pair = (expected.integer(0), expected.integer(1))
            if let last, isToOne ? last.0 == pair.0 : last == pair { continue }
            return pair
        }
        return nil
    }
}
