internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relation between objects that keep their keys and new objects of the same source objects, which may have the same
/// keys.
///
/// Walkers compare it together with the new objects, without associations: a source object's key is that of its kept
/// object. After a difference the relation is compared pair by pair.
struct PairedRelation: Sendable {
    let relation: StoredRelation
    let kept: ResolvedEntityMapping
    let made: ResolvedEntityMapping
    /// The foreign keys in the rows of the new objects; nil if the kept objects or a join table hold the links.
    let keysOfNew: StoredLinks?
    /// The links seen from the kept objects.
    let links: StoredLinks
    /// Other mappings whose objects could have the keys of new objects, which must be NULL.
    let others: [ResolvedEntityMapping]

    /// Nil with other mappings, other related objects than `$source`, `unique`, policies, or positions in other tables
    /// than that of the new objects.
    init?(_ relation: StoredRelation, in context: VerificationContext) {
        guard !context.step.hasPolicies, !context.verification.isInPlace, !relation.isReflexive,
            let first = relation.rules.first, let target = first.relationship.mappings.first,
            let other = context.mapping(named: target)
        else { return nil }
        let kept: ResolvedEntityMapping
        let made: ResolvedEntityMapping
        if first.mapping.keepsPrimaryKey, other.keepsPrimaryKey {
            // Both have the source object's key; the holder of the foreign key takes the place of the new object.
            guard relation.links.areInRowsOfA, first.mapping.unique.isEmpty else { return nil }
            (kept, made) = first.isInverse ? (first.mapping, other) : (other, first.mapping)
        } else {
            (kept, made) = first.mapping.keepsPrimaryKey ? (first.mapping, other) : (other, first.mapping)
        }
        guard kept.keepsPrimaryKey, kept.position != made.position, kept.unique.isEmpty, made.unique.isEmpty,
            kept.source == made.source
        else { return nil }
        let areNewFirst = first.isInverse == (first.mapping.position == kept.position)
        let pairs = [kept.position: made.name, made.position: kept.name]
        for rule in relation.rules {
            guard let target = pairs[rule.mapping.position], rule.relationship.mappings == [target], !rule.isMirrored,
                rule.relationship.from == .variable("source") || rule.relationship.from == .evaluatedObject,
                (rule.isInverse == (rule.mapping.position == kept.position)) == areNewFirst
            else { return nil }
        }
        links = areNewFirst ? relation.links.reversed : relation.links
        if let other = relation.other {
            // Several elements would compete for one key.
            guard made.iteration == nil else { return nil }
            keysOfNew = areNewFirst ? relation.links : other.links
        } else if links.areInRowsOfB {
            keysOfNew = links.reversed
        } else {
            keysOfNew = nil
            if links.aOrder != nil || links.bOrder != nil { return nil }
        }
        let model = context.destinationModel
        let holder = areNewFirst ? relation.key.entity : relation.other?.key.entity ?? relation.key.entity
        var isInverseless = false
        if case .inverseless? = context.destination.relationshipStorage[relation.key] { isInverseless = true }
        others = context.mappings(into: model.root(of: made.destination)).filter {
            $0.position != made.position && (isInverseless || model.isKind($0.destination, of: holder))
        }
        (self.relation, self.kept, self.made) = (relation, kept, made)
    }

    /// The rule that fills the keys of new objects.
    var ruleOfNew: ResolvedRelationship {
        ResolvedRelationship(
            name: relation.key.property, mappings: [kept.name], from: .variable("source"), isAutomatic: false)
    }

    /// Whether all parts that compare new objects showed no difference, and the two sides of a one-to-one agree.
    func isShown(in context: VerificationContext) throws -> Bool {
        let outcomes = context.progress.state.outcomes
        let name = relation.key.title
        let root = context.destinationModel.root(of: made.destination)
        guard relation.haveSidesAgreed(in: context),
            !outcomes.values.contains(where: { $0.unshown?.contains(name) == true })
        else { return false }
        if made.keepsPrimaryKey, context.newKeyMappings(into: root).isEmpty {
            let ranges = try RowsCheck.ranges(of: context.destinationTable(of: root), in: context)
            return RowWalk.isDivisible(root, in: context) && ranges.allSatisfy { outcomes[$0.name] != nil }
        }
        guard let rows = try NewRows(root, in: context)?.rows() else { return false }
        return rows.allSatisfy { outcomes[$0.name] != nil }
    }
}

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
