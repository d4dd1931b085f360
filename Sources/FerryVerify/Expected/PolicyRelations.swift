internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Which stored relations migration policies decided over, so that no rule tells what should be there.
struct PolicyRelations {
    private let context: VerificationContext

    init(_ context: VerificationContext) { self.context = context }

    /// The relations that policies made, and those that follow from the rules.
    func split(_ relations: [StoredRelation]) -> (made: [StoredRelation], known: [StoredRelation]) {
        (relations.filter(isMade), relations.filter { !isMade($0) })
    }

    private func isMade(_ relation: StoredRelation) -> Bool {
        guard context.step.hasPolicies else { return false }
        if context.verification.policies.isTouched(relation.key.property, of: relation.key.entity) { return true }
        return relation.rules.contains { rule in
            isUnknown(rule.mapping)
                || rule.relationship.mappings.contains { name in
                    context.step.entityMapping(named: name).map(isUnknown) ?? false
                }
        }
    }

    /// Whether only the policy of a mapping knows which objects it made of which.
    private func isUnknown(_ mapping: ResolvedEntityMapping) -> Bool {
        mapping.policy != nil && !context.verification.policies.implied.contains(mapping.position)
    }

    /// How many links a relation has.
    static func count(of relation: StoredRelation, in context: VerificationContext) throws -> Int64 {
        let (table, column): (String, String) =
            switch relation.storage {
            case .foreignKey(let table, let column, _), .oneToOne(let table, let column, _, _): (table, column)
            case .join(let table, let a, _, _, _, _): (table, a)
            }
        return try context.connection.integer("SELECT count(\(column)) FROM destination.\(table)") ?? 0
    }
}
