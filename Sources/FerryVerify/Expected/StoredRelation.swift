internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relationship and its inverse, which are stored once, and the rules of all entity mappings that fill them.
///
/// `a` is the side that holds the key: the object with the foreign key, or the object in a join table's first column.
struct StoredRelation: Sendable {
    struct Rule: Sendable {
        var mapping: ResolvedEntityMapping
        var relationship: ResolvedRelationship
        /// Whether the rule belongs to `b`, so that its objects come second in a pair.
        var isInverse: Bool
        var isToMany: Bool
        /// Whether the rule mirrors the source's other side, which counts only if the two sides differ.
        var isMirrored = false

        /// Whether it relates objects that keep their keys as the source does.
        func isCarried(in context: VerificationContext) -> Bool {
            relationship.isAutomatic && mapping.keepsPrimaryKey && leadsToKeptObjects(in: context)
        }

        func leadsToKeptObjects(in context: VerificationContext) -> Bool {
            relationship.mappings.allSatisfy { context.step.entityMapping(named: $0)?.keepsPrimaryKey == true }
        }

        /// The side of its pairs: 0 for `a`, 1 for `b`, 2 if it is mirrored.
        var side: Int { isMirrored ? 2 : isInverse ? 1 : 0 }
    }

    /// A to-many without inverse is seen from `b`, whose rows hold the keys.
    let form: LinkForm
    /// The rules, ordered by position of their mappings.
    let rules: [Rule]

    var key: PropertyKey { form.key }
    var links: StoredLinks { form.links }

    /// Whether a join table may hold a link in either direction.
    var isReflexive: Bool { form.isReflexive && !links.areInRowsOfA }

    /// Whether ``ReferencesCheck`` has shown that each key of a one-to-one leads to an object whose key leads back.
    func haveSidesAgreed(in context: VerificationContext) -> Bool {
        guard let other = form.other, let inverse = form.inverse else { return true }
        return [(key, links), (inverse, other)].allSatisfy { ReferencesCheck.haveShown($0, $1.b, in: context) }
    }

    /// Whether ``RowKeys`` found each key of the relation as expected.
    func isShownByRows(in context: VerificationContext) -> Bool {
        !context.progress.state.outcomes.values.contains { $0.unshown?.contains(key.title) == true }
    }

    /// The sum of the stored pairs; nil if the keys of the two sides of a one-to-one differ.
    func storedSum(in context: VerificationContext) throws -> EntrySum? {
        func sum(_ a: String, _ b: String, in table: String) throws -> EntrySum {
            try EntrySum(
                of: [a, b],
                // An index may differ from its table.
                "FROM destination.\(table) NOT INDEXED WHERE \(a) IS NOT NULL AND \(b) IS NOT NULL",
                about: key.property, in: context)
        }
        let own = try sum(links.a, links.b, in: links.table)
        guard let other = form.other else { return own }
        return try sum(other.b, other.a, in: other.table) == own ? own : nil
    }

    /// The mappings that give new keys and whose associations the rules need.
    func associatedMappings(in context: VerificationContext) -> [ResolvedEntityMapping] {
        let names = Set(rules.map(\.mapping.name) + rules.flatMap(\.relationship.mappings))
        let mappings = names.compactMap { context.step.entityMapping(named: $0) }
        return mappings.filter { !$0.keepsPrimaryKey }.inOrder { $0.position < $1.position }
    }

    /// All stored relationships of the destination, each with its inverse, ordered by name.
    static func all(in context: VerificationContext) -> [StoredRelation] {
        let known = rulesByKey(in: context)
        return LinkForm.all(of: context.destination).map { form in
            if case .inverseless? = context.destination.relationshipStorage[form.key] {
                return StoredRelation(
                    form: form.reversed, rules: rules(for: form.key, isInverse: true, known, in: context))
            }
            var rules = rules(for: form.key, isInverse: false, known, in: context)
            if let inverse = form.inverse, inverse != form.key {
                rules += StoredRelation.rules(for: inverse, isInverse: true, known, in: context)
                rules.sort { $0.mapping.position < $1.mapping.position }
                if form.other != nil {
                    rules = rules.filter { [rules] in !repeatsFirstSide($0, of: rules) }
                    rules += rules.flatMap { mirrors(of: $0, form.key, inverse, in: context) }
                }
            }
            return StoredRelation(form: form, rules: rules)
        }
    }

    /// Whether a rule repeats a rule of the first side: mappings with policies may have both.
    private static func repeatsFirstSide(_ rule: Rule, of rules: [Rule]) -> Bool {
        guard rule.isInverse, rule.mapping.policy != nil, rule.relationship.isAutomatic else { return false }
        return rules.contains { other in
            !other.isInverse && other.relationship.isAutomatic
                && other.relationship.mappings.contains(rule.mapping.name)
                && rule.relationship.mappings.contains(other.mapping.name)
        }
    }

    /// The mirrored rules of links taken unchanged: one for each mapping of the other side that keeps keys.
    private static func mirrors(
        of rule: Rule, _ key: PropertyKey, _ inverse: PropertyKey, in context: VerificationContext
    ) -> [Rule] {
        guard rule.relationship.isAutomatic, rule.mapping.keepsPrimaryKey,
            let name = rule.relationship.sourceRelationship,
            let link = context.sourceModel.relationship(name, of: rule.mapping.source),
            let back = context.sourceModel.inverse(of: link),
            // Where one side holds the keys of a link, the two cannot differ.
            !link.isToMany, !back.isToMany
        else { return [] }
        return rule.relationship.mappings.compactMap { target in
            guard let other = context.step.entityMapping(named: target), other.keepsPrimaryKey else { return nil }
            let relationship = ResolvedRelationship(
                name: (rule.isInverse ? key : inverse).property, mappings: [rule.mapping.name],
                from: .keyPath(.variable("source"), [.key(back.name)]), isAutomatic: true)
            return Rule(
                mapping: other, relationship: relationship, isInverse: !rule.isInverse, isToMany: false,
                isMirrored: true)
        }
    }

    private typealias KnownRules = [PropertyKey: [(mapping: ResolvedEntityMapping, relationship: ResolvedRelationship)]]

    /// The rules of all entity mappings by the relationship that they fill.
    private static func rulesByKey(in context: VerificationContext) -> KnownRules {
        var rules: KnownRules = [:]
        for mapping in context.step.entityMappings {
            for relationship in mapping.relationships {
                let key = context.destinationModel.key(of: relationship.name, in: mapping.destination)
                if let key { rules[key, default: []].append((mapping, relationship)) }
            }
        }
        return rules
    }

    private static func rules(
        for key: PropertyKey, isInverse: Bool, _ known: KnownRules, in context: VerificationContext
    ) -> [Rule] {
        let isToMany = context.destinationModel.relationship(key.property, of: key.entity)?.isToMany ?? true
        return (known[key] ?? []).map { mapping, relationship in
            Rule(mapping: mapping, relationship: relationship, isInverse: isInverse, isToMany: isToMany)
        }
    }
}
