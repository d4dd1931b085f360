internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// The sum of the links between kept objects and the new objects of a range of source objects; a join table or the rows
/// of the kept objects hold them.
final class PairedLinks {
    let relation: StoredRelation
    private let links: StoredLinks
    private let sources: KeyRange
    private let context: VerificationContext
    private let key: KeyedHash.Key
    /// Finds a kept object; nil if every source object becomes one.
    private let find: Statement?
    /// Whether the kept objects are those of `b`.
    private let isReversed: Bool
    /// Whether only the first of several new objects counts.
    private let isToOne: Bool
    private var last: (Int64, Int64)?
    private(set) var sum = EntrySum()

    /// The links are those seen from the kept objects.
    init(
        _ relation: StoredRelation, _ links: StoredLinks, of kept: ResolvedEntityMapping,
        from sources: KeyRange = .all, in context: VerificationContext
    ) throws {
        (self.relation, self.links, self.sources, self.context) = (relation, links, sources, context)
        (key, isToOne) = (context.progress.hashKey(), links.areInRowsOfA)
        isReversed = links.a != relation.links.a
        find =
            try kept.carriesEveryObject
            ? nil
            : context.connection.prepare(
                """
                SELECT 1 FROM destination.\(try context.destinationTable(of: kept.destination).name)
                WHERE Z_PK = ? AND Z_ENT = \(try context.destinationNumber(of: kept.destination))
                """)
    }

    /// Must be called for each new object, in the order of keys; an object that repeats the one before is passed over.
    func add(_ source: Int64, _ key: Int64) throws {
        guard last.map({ isToOne ? $0.0 != source : $0 != (source, key) }) ?? true else { return }
        last = (source, key)
        // An object that was left out has no links.
        if let find, try !find.finds(source) { return }
        if isReversed { sum.add(key, source, key: self.key) } else { sum.add(source, key, key: self.key) }
    }

    /// Whether the stored links are those of the objects added.
    func areStored() throws -> Bool {
        let (a, b) = (relation.links.a, relation.links.b)
        let tail = """
            FROM destination.\(links.table)
            WHERE \(a) IS NOT NULL AND \(b) IS NOT NULL AND \(sources.condition(on: links.a))
            """
        return try EntrySum(of: [a, b], tail, about: relation.key.property, in: context) == sum
    }
}

/// The links between objects that keep their keys and new objects of the same source objects, by recorded associations.
struct AssociatedLinks {
    private let relation: StoredRelation
    private let context: VerificationContext
    /// The mapping of the objects that keep their keys, and the mapping of the related objects.
    private let mapping: ResolvedEntityMapping
    private let target: ResolvedEntityMapping
    /// The destination's links, seen from the objects that keep their keys.
    private let links: StoredLinks

    /// Nil with more than one rule, with positions, or with related objects of another object than `$source`.
    init?(_ relation: StoredRelation, in context: VerificationContext) {
        guard relation.rules.count == 1, let rule = relation.rules.first, !context.step.hasPolicies,
            !context.verification.isInPlace, rule.mapping.keepsPrimaryKey,
            rule.relationship.from == .variable("source") || rule.relationship.from == .evaluatedObject,
            rule.relationship.mappings.count == 1, let name = rule.relationship.mappings.first,
            let target = context.mapping(named: name), !target.keepsPrimaryKey,
            target.source == rule.mapping.source
        else { return nil }
        let links = rule.isInverse ? relation.links.reversed : relation.links
        if links.areInRowsOfB || links.aOrder != nil || links.bOrder != nil { return nil }
        if relation.other != nil || relation.isReflexive { return nil }
        (self.relation, self.links, self.context) = (relation, links, context)
        (mapping, self.target) = (rule.mapping, target)
    }

    func sum() throws -> EntrySum {
        try context.announce(relation.key.property)
        let next = try context.associations.table(of: target.position).pairs(byKey: !links.areInRowsOfA)
        let sum = try PairedLinks(relation, links, of: mapping, in: context)
        while let (source, key) = try next() {
            try sum.add(source, key)
            try context.advance(relation.key.property, done: 0, total: nil)
        }
        return sum.sum
    }
}
