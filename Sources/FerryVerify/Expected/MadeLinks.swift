internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// The links between objects that keep their keys and new objects of the same source objects: the walk that compares the
/// new objects sums them up.
struct MadeLinks: Sendable {
    let name: String
    /// The position of the mapping of the new objects.
    let mapping: Int
    /// Whether only the first of several new objects counts.
    fileprivate let isToOne: Bool
    /// Whether the objects that keep their keys come second in a pair.
    fileprivate let isInverse: Bool
    /// Whether `unique` may find the same object again for another element.
    fileprivate let mayRecur: Bool
    /// SQL that finds an object that keeps its key; nil if every source object becomes one.
    fileprivate let find: String?

    /// Nil with more than one rule, with positions, or with related objects of another object than `$source`.
    init?(_ relation: StoredRelation, in context: VerificationContext) throws {
        guard relation.rules.count == 1, let rule = relation.rules.first, !context.step.hasPolicies,
            !context.verification.isInPlace, !relation.isReflexive,
            rule.relationship.from == .variable("source") || rule.relationship.from == .evaluatedObject,
            rule.relationship.mappings.count == 1, let target = rule.relationship.mappings.first,
            let target = context.step.entityMapping(named: target), target.source == rule.mapping.source,
            target.keepsPrimaryKey != rule.mapping.keepsPrimaryKey
        else { return nil }
        let isOfKept = rule.mapping.keepsPrimaryKey
        let (kept, made) = isOfKept ? (rule.mapping, target) : (target, rule.mapping)
        // Of several new objects that have the rule, one might count.
        if !isOfKept, made.iteration != nil || !made.unique.isEmpty { return nil }
        isInverse = rule.isInverse == isOfKept
        let links = isInverse ? relation.links.reversed : relation.links
        if links.aOrder != nil || links.bOrder != nil { return nil }
        (name, mapping) = (relation.key.title, made.position)
        isToOne = links.areInRowsOfA || relation.form.other != nil
        mayRecur = made.iteration != nil && !made.unique.isEmpty
        find =
            kept.carriesEveryObject
            ? nil
            : """
            SELECT 1 FROM destination.\(try context.destinationTable(of: kept.destination).name)
            WHERE Z_PK = ? AND Z_ENT = \(try context.destinationNumber(of: kept.destination))
            """
    }
}

/// The sum of ``MadeLinks`` while their new objects are walked, in the order of their source objects.
final class MadeLinksSum {
    /// More new objects of one source object are not remembered: if one of them recurs, the sums differ, and the pairs
    /// themselves are compared.
    private static let mostKeys = 1 << 16

    let links: MadeLinks
    private(set) var sum: EntrySum
    private let find: Statement?
    private let hashKey: KeyedHash.Key
    private var source: Int64?
    /// Whether the current source object keeps its key; one that was left out has no links.
    private var isKept = true
    /// The new objects of the current source object, if one may recur.
    private var keys: Set<Int64> = []

    init(_ links: MadeLinks, from sum: EntrySum, in context: VerificationContext) throws {
        (self.links, self.sum, hashKey) = (links, sum, context.progress.state.hashKey)
        find = try links.find.map { try context.connection.prepare($0) }
    }

    func add(_ source: Int64, _ key: Int64) throws {
        if source != self.source {
            self.source = source
            isKept = try find?.finds(source) ?? true
            keys.removeAll(keepingCapacity: true)
        } else if links.isToOne {
            return
        }
        guard isKept else { return }
        if links.mayRecur, !isFirst(key) { return }
        if links.isInverse { sum.add(key, source, key: hashKey) } else { sum.add(source, key, key: hashKey) }
    }

    /// Whether a new object is one of the current source object for the first time.
    private func isFirst(_ key: Int64) -> Bool {
        keys.count < Self.mostKeys ? keys.insert(key).inserted : !keys.contains(key)
    }
}
