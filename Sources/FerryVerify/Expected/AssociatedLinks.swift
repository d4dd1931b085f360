internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// The links between objects that keep their keys and new objects of the same source objects, by recorded associations.
struct AssociatedLinks {
    private let relation: StoredRelation
    private let context: VerificationContext
    /// The mapping of the objects that keep their keys, and the mapping of the new objects.
    private let kept: ResolvedEntityMapping
    private let made: ResolvedEntityMapping
    /// Whether the objects that keep their keys come second in a pair.
    private let isInverse: Bool
    /// Whether only the first of several new objects counts.
    private let isToOne: Bool

    /// Nil with more than one rule, with positions, or with related objects of another object than `$source`.
    init?(_ relation: StoredRelation, in context: VerificationContext) {
        guard relation.rules.count == 1, let rule = relation.rules.first, !context.step.hasPolicies,
            !context.verification.isInPlace, !relation.isReflexive,
            rule.relationship.from == .variable("source") || rule.relationship.from == .evaluatedObject,
            rule.relationship.mappings.count == 1, let name = rule.relationship.mappings.first,
            let target = context.mapping(named: name), target.source == rule.mapping.source,
            target.keepsPrimaryKey != rule.mapping.keepsPrimaryKey
        else { return nil }
        let isOfKept = rule.mapping.keepsPrimaryKey
        (kept, made) = isOfKept ? (rule.mapping, target) : (target, rule.mapping)
        // Of several new objects that have the rule, one might count.
        if !isOfKept, made.iteration != nil || !made.unique.isEmpty { return nil }
        isInverse = rule.isInverse == isOfKept
        let links = isInverse ? relation.links.reversed : relation.links
        if links.aOrder != nil || links.bOrder != nil { return nil }
        (self.relation, self.context) = (relation, context)
        isToOne = links.areInRowsOfA || relation.other != nil
    }

    func sum() throws -> EntrySum {
        try context.announce(relation.key.property)
        let hashKey = context.progress.hashKey()
        let next = try context.associations.table(of: made.position).pairs(byKey: !isToOne)
        let find = try finder()
        var sum = EntrySum()
        var last: (Int64, Int64)?
        while let (source, key) = try next() {
            try context.advance(relation.key.property, done: 0, total: nil)
            // `unique` may find the same object again.
            if let last, isToOne ? last.0 == source : last == (source, key) { continue }
            last = (source, key)
            // An object that was left out has no links.
            if let find, try !find.finds(source) { continue }
            if isInverse { sum.add(key, source, key: hashKey) } else { sum.add(source, key, key: hashKey) }
        }
        return sum
    }

    /// Finds an object that keeps its key; nil if every source object becomes one.
    private func finder() throws -> Statement? {
        if kept.carriesEveryObject { return nil }
        return try context.connection.prepare(
            """
            SELECT 1 FROM destination.\(try context.destinationTable(of: kept.destination).name)
            WHERE Z_PK = ? AND Z_ENT = \(try context.destinationNumber(of: kept.destination))
            """)
    }
}
