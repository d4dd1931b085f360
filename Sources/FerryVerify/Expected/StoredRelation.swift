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

        /// The side of its pairs: 0 for `a`, 1 for `b`, 2 if it is mirrored.
        var side: Int { isMirrored ? 2 : isInverse ? 1 : 0 }
    }

    /// The relationship as `a` declares it; for a to-many without inverse, as `b` declares it.
    let key: PropertyKey
    let links: StoredLinks
    /// The inverse of a one-to-one, with its keys as the other side stores them.
    var other: (key: PropertyKey, links: StoredLinks)?
    /// Whether a relationship is its own inverse, so that a link is the same in both directions.
    var isReflexive = false
    /// Whether the relationship comes before its inverse by entity and name.
    private(set) var isFirstByName = true
    /// The rules, ordered by position of their mappings.
    private(set) var rules: [Rule] = []

    /// Whether each object of `a` has at most one key, in its own row.
    var isForeignKey: Bool { links.areInRowsOfA && other == nil }

    /// Whether ``ReferencesCheck`` has shown that each key of a one-to-one leads to an object whose key leads back.
    func haveSidesAgreed(in context: VerificationContext) -> Bool {
        guard let other else { return true }
        return [(key, links), (other.key, other.links)].allSatisfy { key, links in
            ReferencesCheck.haveShown(key, links.b, in: context)
        }
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
        guard let other = other?.links else { return own }
        return try sum(other.b, other.a, in: other.table) == own ? own : nil
    }

    private init(_ key: PropertyKey, _ links: StoredLinks) { (self.key, self.links) = (key, links) }

    /// The mappings that give new keys and whose associations the rules need.
    func associatedMappings(in context: VerificationContext) -> [ResolvedEntityMapping] {
        let names = Set(rules.map(\.mapping.name) + rules.flatMap(\.relationship.mappings))
        let mappings = names.compactMap { context.step.entityMapping(named: $0) }
        return mappings.filter { !$0.keepsPrimaryKey }.inOrder { $0.position < $1.position }
    }

    /// All stored relationships of the destination, each with its inverse, ordered by name.
    static func all(in context: VerificationContext) -> [StoredRelation] {
        let (model, layout) = (context.destinationModel, context.destination)
        let known = rulesByKey(in: context)
        return layout.relationshipStorage.inOrder { $0.key < $1.key }.compactMap { key, storage in
            guard let relationship = model.relationship(key.property, of: key.entity) else { return nil }
            let inverse = model.inverseKey(of: relationship)
            var relation = StoredRelation(key, StoredLinks(storage))
            switch storage {
            case .inverseForeignKey: return nil
            case .inverseless:
                relation = StoredRelation(key, relation.links.reversed)
                relation.rules = rules(for: key, isInverse: true, known, in: context)
                return relation
            case .foreignKey:
                if let inverse, inverse != key,
                    case .foreignKey? = layout.relationshipStorage[inverse]
                {
                    // The first of the two columns by name identifies the relation.
                    if inverse < key { return nil }
                    relation.other = layout.relationshipStorage[inverse].map { (inverse, StoredLinks($0)) }
                }
            case .join(let table, let own, _, _, _):
                guard let joinTable = layout.joinTables.first(where: { $0.name == table }),
                    joinTable.firstColumn == own
                else { return nil }
                relation.isReflexive = joinTable.isReflexive
            }
            var rules = rules(for: key, isInverse: false, known, in: context)
            if let inverse, inverse != key {
                relation.isFirstByName = key < inverse
                rules += StoredRelation.rules(for: inverse, isInverse: true, known, in: context)
                rules.sort { $0.mapping.position < $1.mapping.position }
                if relation.other != nil {
                    rules = rules.filter { [rules] in !repeatsFirstSide($0, of: rules) }
                    rules += rules.flatMap { mirrors(of: $0, key, inverse, in: context) }
                }
            }
            relation.rules = rules
            return relation
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

/// The links of a relationship in one table, seen from one of its two sides, `a`.
struct StoredLinks: Sendable, Hashable {
    var table: String
    /// The columns of the two keys: `Z_PK` for the side whose rows hold the keys of the other side.
    var a: String
    var b: String
    /// The position of `a` among the objects of a `b`, and of `b` among those of an `a`.
    var aOrder: String?
    var bOrder: String?
    /// The column of the related objects' `Z_ENT` beside a foreign key, if they can be of several entities.
    var entity: String?

    /// The links seen from the entity that declares the relationship.
    init(_ storage: RelationshipStorage) {
        switch storage {
        case .foreignKey(let table, let column, let entity, let order):
            (self.table, a, b, aOrder, self.entity) = (table, Self.rowKey, column, order, entity)
        case .inverseForeignKey(let table, let column, let entity, let order):
            (self.table, a, b, bOrder, self.entity) = (table, column, Self.rowKey, order, entity)
        case .inverseless(let table, let column): (self.table, a, b) = (table, column, Self.rowKey)
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            (self.table, a, b, aOrder, bOrder) = (table, own, other, ownOrder, otherOrder)
        }
    }

    private static let rowKey = "Z_PK"

    var areInRowsOfA: Bool { a == Self.rowKey }
    var areInRowsOfB: Bool { b == Self.rowKey }

    var reversed: StoredLinks {
        var links = self
        (links.a, links.b, links.aOrder, links.bOrder) = (b, a, bOrder, aOrder)
        return links
    }

    /// Their number in a store, dangling ones included; from an index where there is one.
    func count(in schema: String, _ connection: Connection) throws -> Int64 {
        if areInRowsOfA || areInRowsOfB {
            return try connection.integer("SELECT count(\(areInRowsOfA ? b : a)) FROM \(schema).\(table)") ?? 0
        }
        return try connection.integer(
            "SELECT count(*) FROM \(schema).\(table) WHERE \(a) IS NOT NULL AND \(b) IS NOT NULL") ?? 0
    }

    /// SQL that joins an object, `o`, with its related objects, `t`, in another table.
    func joined(_ join: String, with other: String, in schema: String) -> String {
        if areInRowsOfA { return "\(join) \(schema).\(other) t ON t.Z_PK = o.\(b)" }
        if areInRowsOfB { return "\(join) \(schema).\(other) t ON t.\(a) = o.Z_PK" }
        return "\(join) \(schema).\(table) j ON j.\(a) = o.Z_PK \(join) \(schema).\(other) t ON t.Z_PK = j.\(b)"
    }
}
