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
