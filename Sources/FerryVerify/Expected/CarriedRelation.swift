internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relation between objects that all keep their keys: its links are those in one table of the source, or those of a
/// one-to-one in the rows of both sides.
struct CarriedRelation: Sendable {
    let relation: StoredRelation
    let source: StoredLinks
    /// The source's keys of the other side of a one-to-one.
    private let otherSource: StoredLinks?
    let a: String
    let b: String

    /// Nil with objects with new keys, rules of a mapping, or rules of only some of the mappings; with policies only
    /// `besidePolicies`, which says what the links are if no policy has changed them.
    init?(_ relation: StoredRelation, in context: VerificationContext, besidePolicies: Bool = false) {
        let model = context.destinationModel
        guard besidePolicies || !context.step.hasPolicies,
            let declared = model.relationship(relation.key.property, of: relation.key.entity)
        else { return nil }
        (a, b) = (relation.key.entity, declared.destinationEntity)
        if relation.isReflexive { return nil }
        // The other side declares a relationship without inverse.
        if case .inverseless? = context.destination.relationshipStorage[relation.key] { return nil }
        let isOneToOne = relation.other != nil
        let sides = isOneToOne ? [false, true].map { side in relation.rules.filter { $0.isInverse == side } } : []
        let rules = isOneToOne ? sides[0] : relation.rules
        guard let source = Self.links(of: rules, in: context) else { return nil }
        if isOneToOne {
            guard let other = Self.links(of: sides[1], ofOwnSide: true, in: context),
                Self.inverse(of: rules[0], in: context) == other
            else { return nil }
            otherSource = other
        } else {
            otherSource = nil
        }
        self.source = source
        self.relation = relation
        // A position that the destination requires must be stored in the source too.
        guard source.areInRowsOfA == destination.areInRowsOfA,
            destination.aOrder == nil || source.aOrder != nil, destination.bOrder == nil || source.bOrder != nil
        else { return nil }
        guard let roots = Self.sourceRoots(of: [a, b], in: context),
            relation.rules.allSatisfy({ Self.leads($0, between: roots, in: context) }),
            isWhole(fromInverse: false, in: context) || isWhole(fromInverse: true, in: context)
        else { return nil }
    }

    /// For each entity of the destination the only source root entity whose objects are in its table, under their own
    /// keys; nil if a table has other objects.
    private static func sourceRoots(of entities: [String], in context: VerificationContext) -> [String]? {
        var roots: [String] = []
        for root in entities.map({ context.destinationModel.root(of: $0) }) {
            let sources = context.sourceRoots(into: root)
            guard context.newKeyMappings(into: root).isEmpty, sources.count == 1, let source = sources.first else {
                return nil
            }
            roots.append(source)
        }
        return roots
    }

    /// Whether the source relationship of a rule relates objects of these root entities.
    private static func leads(
        _ rule: StoredRelation.Rule, between roots: [String], in context: VerificationContext
    ) -> Bool {
        guard let name = rule.relationship.sourceRelationship,
            let relationship = context.sourceModel.relationship(name, of: rule.mapping.source)
        else { return false }
        let ends = [rule.mapping.source, relationship.destinationEntity].map { context.sourceModel.root(of: $0) }
        return (rule.isInverse ? ends.reversed() : ends) == roots
    }

    /// The links of the source that all rules take unchanged, seen from `a` or from the rules' own side.
    private static func links(
        of rules: [StoredRelation.Rule], ofOwnSide: Bool = false, in context: VerificationContext
    ) -> StoredLinks? {
        let links = rules.map { rule -> StoredLinks? in
            guard rule.relationship.isAutomatic, rule.mapping.keepsPrimaryKey, rule.mapping.policy == nil,
                let name = rule.relationship.sourceRelationship,
                let storage = context.source.storage(of: name, in: rule.mapping.source)
            else { return nil }
            if case .inverseless = storage { return nil }
            let links = rule.isInverse && !ofOwnSide ? StoredLinks(storage).reversed : StoredLinks(storage)
            return links.areInRowsOfB ? nil : links
        }
        guard let first = links.first, let first, links.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    /// The source's keys of the inverse of a rule's source relationship; nil if it is not stored as keys.
    private static func inverse(of rule: StoredRelation.Rule, in context: VerificationContext) -> StoredLinks? {
        let model = context.sourceModel
        guard let name = rule.relationship.sourceRelationship,
            let relationship = model.relationship(name, of: rule.mapping.source),
            let inverse = model.inverseKey(of: relationship),
            case .foreignKey? = context.source.relationshipStorage[inverse]
        else { return nil }
        return context.source.relationshipStorage[inverse].map(StoredLinks.init)
    }

    /// Whether the rules of one side alone take every link between carried objects.
    private func isWhole(fromInverse isInverse: Bool, in context: VerificationContext) -> Bool {
        func mappings(into entity: String) -> [ResolvedEntityMapping] {
            context.mappings(into: context.destinationModel.root(of: entity)).filter {
                context.destinationModel.isKind($0.destination, of: entity)
            }
        }
        let (own, others) = isInverse ? (b, a) : (a, b)
        let targets = Set(mappings(into: others).map(\.name))
        let holders = mappings(into: own)
        return !holders.isEmpty
            && holders.allSatisfy { mapping in
                let rules = relation.rules.filter {
                    $0.isInverse == isInverse && $0.mapping.position == mapping.position
                }
                return !rules.isEmpty && targets.isSubset(of: rules.flatMap(\.relationship.mappings))
            }
    }

    // MARK: Parts

    var destination: StoredLinks { relation.links }

    /// Foreign keys in the rows of one side, with the source's, and the entity of the objects to which they lead.
    struct Keys: Sendable {
        let destination: StoredLinks
        let source: StoredLinks
        let target: String
    }

    /// The keys that ``RowKeys`` compares: those of both sides of a one-to-one; none of a join table.
    var keys: [Keys] {
        guard destination.areInRowsOfA else { return [] }
        let own = Keys(destination: destination, source: source, target: b)
        guard let other = relation.other, let otherSource else { return [own] }
        return [own, Keys(destination: other.links, source: otherSource, target: a)]
    }

    /// The index that holds only the links, in the order in which they are merged; nil if there is none.
    func index(in tables: [String: TableIndexes]) -> StoredIndex? {
        let links = destination
        guard !links.areInRowsOfA, links.aOrder == nil, links.bOrder == nil, let indexes = tables[links.table],
            let row = indexes.rowID
        else { return nil }
        let columns = [Connection.quoted(links.a), Connection.quoted(links.b), row]
        return indexes.compared.first {
            $0.columns.map(\.sql) == columns && $0.isOrdered(by: links.a) && !$0.columns[1].isDescending
        }
    }

    var name: String { relation.key.title }

    /// Whether pages have shown all tables that hold the links.
    func areKept(in context: VerificationContext) -> Bool {
        ([destination.table] + [relation.other?.links.table].compactMap { $0 }).allSatisfy {
            KeptTables.hold($0, in: context)
        }
    }

    /// The parts that together show the whole relation, with the key range of `a` of each; none if the rows show it.
    func parts(in context: VerificationContext) throws -> [(name: String, range: KeyRange)] {
        if destination.areInRowsOfA || areKept(in: context) { return [] }
        return try KeyRange.parts(
            "links:\(name)", of: "destination." + context.destinationTable(of: a).name, on: context.connection)
    }

    /// Whether all parts of the relation, or the rows with its foreign keys, showed no difference.
    func isShown(in context: VerificationContext) throws -> Bool {
        if areKept(in: context) { return true }
        let outcomes = context.progress.state.outcomes
        if destination.areInRowsOfA {
            return try relation.haveSidesAgreed(in: context)
                && !outcomes.values.contains { $0.unshown?.contains(name) == true }
        }
        return try parts(in: context).allSatisfy { outcomes[$0.name]?.isShown == true }
    }
}

/// Merges the links of a carried join table: those of the source and of the destination, in the order of their keys.
///
/// The checks of rows and references complete the result: a link of both stores is right if both its objects exist, and
/// a link of the source alone if one of them is missing. If an index holds only the links, the merge reads that index
/// and sums up its entries.
struct LinkMerge {
    private let links: CarriedRelation
    private let context: VerificationContext
    private let old: Statement
    private let new: Statement
    /// The columns of positions in both statements.
    private let orders: [Int]
    private let findA: Statement
    private let findB: Statement
    /// The sum of the index's entries read so far.
    let entries: RowSums?

    init(
        _ links: CarriedRelation, _ range: KeyRange, reading index: IndexReadings.OfLinks?, key: KeyedHash.Key,
        in context: VerificationContext
    ) throws {
        self.links = links
        self.context = context
        let (source, destination) = (links.source, links.destination)
        let pairs = [(source.aOrder, destination.aOrder), (source.bOrder, destination.bOrder)].filter { $0.1 != nil }
        func walk(_ links: StoredLinks, in table: String, _ others: [String], where condition: String) throws
            -> Statement
        {
            try context.connection.prepare(
                """
                SELECT \(([links.a, links.b] + others).joined(separator: ", ")) FROM \(table)
                WHERE \(links.a) > ?1 AND \(links.a) <= ?2\(condition) ORDER BY \(links.a), \(links.b)
                """)
        }
        old = try walk(
            source, in: "source.\(source.table)", pairs.compactMap(\.0), where: " AND \(source.b) IS NOT NULL")
        let table = "destination.\(destination.table)"
        if let index {
            new = try walk(
                destination, in: "\(table) INDEXED BY \(Connection.quoted(index.index.name))",
                index.index.columns.dropFirst(2).map(\.sql), where: "")
            let targets = try index.keys?.targets(above: range.above, on: context.connection)
            entries = RowSums(
                [.init(columns: index.hashed)], order: index.index.order, targets: targets,
                areAll: index.keys?.areAll ?? false, key: key)
        } else {
            new = try walk(
                destination, in: table, pairs.compactMap(\.1), where: " AND \(destination.b) IS NOT NULL")
            entries = nil
        }
        orders = Array(2..<2 + pairs.count)
        (findA, findB) = (try Self.find(links.a, in: context), try Self.find(links.b, in: context))
        for statement in [old, new] {
            try statement.bind(range.above, at: 1)
            try statement.bind(range.through, at: 2)
        }
    }

    static func find(_ entity: String, in context: VerificationContext) throws -> Statement {
        try context.connection.prepare(
            """
            SELECT 1 FROM destination.\(try context.destinationTable(of: entity).name)
            WHERE Z_PK = ? AND Z_ENT IN (\(context.destinationNumbers(ofFamily: entity)))
            """)
    }

    func isRight() throws -> Bool {
        defer { for statement in [old, new, findA, findB] { statement.reset() } }
        var (isOld, isNew) = (try old.step(), try new.step())
        while isOld || isNew {
            guard !isOld || Self.isPair(old), !isNew || Self.isPair(new) else { return false }
            if isOld, isNew, orders.isEmpty {
                (isOld, isNew) = try RowSums.stepPairs(
                    VerificationContext.rowsPerAnnouncement, of: old, with: new, adding: entries)
                if !isOld, !isNew { break }
                if isOld, isNew, areSame {
                    try context.announce(links.relation.key.property)
                    continue
                }
            }
            guard !isOld || Self.isPair(old), !isNew || Self.isPair(new) else { return false }
            if isOld, isNew, areSame {
                guard haveSameOrder() else { return false }
                (isOld, isNew) = (try old.step(), try new.step())
            } else if isOld, !isNew || Self.precedes(old, new) {
                // The link is not in the destination, so one of its objects must be missing.
                if try findA.finds(old.integer(0)), try findB.finds(old.integer(1)) { return false }
                isOld = try old.step()
            } else {
                return false
            }
            try context.advance(links.relation.key.property, done: 0, total: nil)
        }
        return true
    }

    private var areSame: Bool {
        old.holdsSame(0, as: new, 0) && old.holdsSame(1, as: new, 1) && Self.isPair(old)
    }

    private static func isPair(_ row: Statement) -> Bool {
        row.storageClass(0) == .integer && row.storageClass(1) == .integer
    }

    private static func precedes(_ left: Statement, _ right: Statement) -> Bool {
        (left.integer(0), left.integer(1)) < (right.integer(0), right.integer(1))
    }

    // MARK: Positions

    /// Whether the positions are the source's own; a store altered in place may keep a NULL.
    private func haveSameOrder() -> Bool {
        orders.allSatisfy { column in
            guard new.holdsSame(column, as: old, column) else { return false }
            let storageClass = new.storageClass(column)
            return storageClass == .integer || storageClass == .null && context.verification.isInPlace
        }
    }
}

/// A relation between objects that keep their keys and new objects of the same source objects, by associations.
struct AssociatedRelation {
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

    /// Whether every link is as expected; if not, the rules find the difference.
    func isShown() throws -> Bool {
        let unit = "associated:\(relation.key.title)"
        try context.progress.once(unit, in: context) {
            if try isRight() { context.progress.state.done.insert(unit + " is shown") }
        }
        return context.progress.state.done.contains(unit + " is shown")
    }

    private func isRight() throws -> Bool {
        try context.announce(relation.key.property)
        let next = try context.associations.table(of: target.position).pairs(byKey: !links.areInRowsOfA)
        let merge = try PairedLinks(relation, links, of: mapping, in: context)
        while merge.isRight, let (source, key) = try next() {
            try merge.add(source, key)
            try context.advance(relation.key.property, done: 0, total: nil)
        }
        merge.end()
        return merge.isRight
    }
}
