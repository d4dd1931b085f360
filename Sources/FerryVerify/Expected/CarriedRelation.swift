internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relation whose links are the source's own, between objects that all keep their keys: what must be there stands in
/// one table of the source, key by key.
struct CarriedRelation {
    enum Links: Equatable {
        case keys(table: String, column: String, order: String?)
        /// As in ``StoredRelation/Storage``.
        case join(table: String, a: String, b: String, aOrder: String?, bOrder: String?)
    }

    let relation: StoredRelation
    let source: Links
    let destination: Links
    /// The entities of the two sides.
    let a: String
    let b: String

    /// Nil where objects with new keys, policies, rules of a mapping's own or only some of the mappings have a part in it.
    init?(_ relation: StoredRelation, in context: VerificationContext) {
        let model = context.destinationModel
        guard !context.step.hasPolicies,
            let declared = model.relationship(relation.key.property, of: relation.key.entity)
        else { return nil }
        (a, b) = (relation.key.entity, declared.destinationEntity)
        switch relation.storage {
        case .foreignKey(let table, let column, let order):
            // One without inverse is declared by the other side.
            guard case .foreignKey? = context.destination.relationshipStorage[relation.key] else { return nil }
            destination = .keys(table: table, column: column, order: order)
        case .join(let table, let a, let b, let aOrder, let bOrder, isReflexive: false):
            destination = .join(table: table, a: a, b: b, aOrder: aOrder, bOrder: bOrder)
        case .oneToOne, .join: return nil
        }
        let links = relation.rules.map { Self.links(of: $0, in: context) }
        guard let first = links.first, let source = first, links.allSatisfy({ $0 == source }) else { return nil }
        self.source = source
        self.relation = relation
        guard Self.hasOrders(of: destination, source) else { return nil }
        guard let roots = Self.sourceRoots(of: [a, b], in: context),
            relation.rules.allSatisfy({ Self.leads($0, between: roots, in: context) }),
            isWhole(fromInverse: false, in: context) || isWhole(fromInverse: true, in: context)
        else { return nil }
    }

    /// For each entity of the destination the source's root entity whose objects alone are in its table, under their own
    /// keys; nil where there are others.
    private static func sourceRoots(of entities: [String], in context: VerificationContext) -> [String]? {
        var roots: [String] = []
        for root in entities.map({ context.destinationModel.root(of: $0) }) {
            let sources = Set(context.keepers(into: root).map { context.sourceModel.root(of: $0.source) })
            guard context.makers(into: root).isEmpty, sources.count == 1, let source = sources.first else { return nil }
            roots.append(source)
        }
        return roots
    }

    /// Whether the source's relationship that a rule takes is between the objects of these root entities.
    private static func leads(
        _ rule: StoredRelation.Rule, between roots: [String], in context: VerificationContext
    ) -> Bool {
        guard let name = rule.relationship.sourceRelationship,
            let relationship = context.sourceModel.relationship(name, of: rule.mapping.source)
        else { return false }
        let ends = [rule.mapping.source, relationship.destinationEntity].map { context.sourceModel.root(of: $0) }
        return (rule.isInverse ? ends.reversed() : ends) == roots
    }

    /// Where the source has the links that a rule takes as they are, seen from `a`; nil for any other rule.
    private static func links(of rule: StoredRelation.Rule, in context: VerificationContext) -> Links? {
        guard rule.relationship.isAutomatic, rule.mapping.keepsPrimaryKey, rule.mapping.policy == nil,
            let name = rule.relationship.sourceRelationship
        else { return nil }
        switch (context.source.storage(of: name, in: rule.mapping.source), rule.isInverse) {
        case (.foreignKey(let table, let column, _, let order)?, false),
            (.inverseForeignKey(let table, let column, _, let order)?, true):
            return .keys(table: table, column: column, order: order)
        case (.join(let table, let own, let other, let otherOrder, let ownOrder)?, false):
            return .join(table: table, a: own, b: other, aOrder: ownOrder, bOrder: otherOrder)
        case (.join(let table, let own, let other, let otherOrder, let ownOrder)?, true):
            return .join(table: table, a: other, b: own, aOrder: otherOrder, bOrder: ownOrder)
        default: return nil
        }
    }

    /// Whether the positions that the destination requires are the source's too.
    private static func hasOrders(of destination: Links, _ source: Links) -> Bool {
        switch (destination, source) {
        case (.keys(_, _, let new), .keys(_, _, let old)): return new == nil || old != nil
        case (.join(_, _, _, let newA, let newB), .join(_, _, _, let oldA, let oldB)):
            return (newA == nil || oldA != nil) && (newB == nil || oldB != nil)
        default: return false
        }
    }

    /// Whether the rules of one side alone take every link between objects that are carried over.
    private func isWhole(fromInverse isInverse: Bool, in context: VerificationContext) -> Bool {
        func mappings(into entity: String) -> [ResolvedEntityMapping] {
            context.step.entityMappings.filter { context.destinationModel.isKind($0.destination, of: entity) }
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

    /// The index that holds the links alone, in the order in which they are merged; nil where there is none.
    func index(in tables: [String: TableIndexes]) -> StoredIndex? {
        guard case .join(let table, let a, let b, nil, nil) = destination, let indexes = tables[table],
            let row = indexes.rowID
        else { return nil }
        let columns = [Connection.quoted(a), Connection.quoted(b), row]
        return indexes.compared.first {
            $0.columns.map(\.sql) == columns && $0.isOrdered(by: a) && !$0.columns[1].isDescending
        }
    }

    var name: String { "\(relation.key.entity).\(relation.key.property)" }

    /// Names of the parts that together show the whole relation, with the keys of `a` that each looks at; none where the
    /// rows show it.
    func parts(in context: VerificationContext) throws -> [(name: String, range: KeyRange)] {
        if case .keys = destination { return [] }
        let keys = try KeyRange.keys(of: "destination." + context.destinationTable(of: a).name, on: context.connection)
        let ranges = KeyRange.parts(from: keys.lowest, through: keys.highest, last: .max)
        return ranges.enumerated().map { ("links:\(name):\($0)", $1) }
    }

    /// Whether all of its parts were shown, or the rows that hold its keys.
    func isShown(in context: VerificationContext) throws -> Bool {
        let outcomes = context.progress.state.outcomes
        if case .keys = destination { return !outcomes.values.contains { $0.unshown?.contains(name) == true } }
        return try parts(in: context).allSatisfy { outcomes[$0.name]?.isShown == true }
    }
}

/// The links of a join table that is carried over: those of the source and of the destination in one walk through both,
/// in the order of their keys.
///
/// What it shows holds together with the rows and the references, which are checks of their own: a link that stands in
/// both stores is right if both its objects are there, and one of the source alone if one of them is not.
///
/// Where an index holds the links alone it is the one that is read, and its entries are summed up on the way.
struct LinkMerge {
    private let links: CarriedRelation
    private let context: VerificationContext
    private let old: Statement
    private let new: Statement
    /// The columns of positions in both statements.
    private let orders: [Int]
    private let findA: Statement
    private let findB: Statement
    /// Of the index's entries that were met.
    let entries: RowSums?

    init(
        _ links: CarriedRelation, _ range: KeyRange, reading index: IndexReadings.OfLinks?, key: KeyedHash.Key,
        in context: VerificationContext
    ) throws {
        self.links = links
        self.context = context
        guard case .join(let oldTable, let oldA, let oldB, let oldAOrder, let oldBOrder) = links.source,
            case .join(let newTable, let newA, let newB, let newAOrder, let newBOrder) = links.destination
        else { preconditionFailure("keys are compared with the rows that hold them") }
        let pairs = [(oldAOrder, newAOrder), (oldBOrder, newBOrder)].filter { $0.1 != nil }
        func walk(
            _ table: String, _ a: String, _ b: String, _ others: [String], where condition: String
        ) throws -> Statement {
            try context.connection.prepare(
                """
                SELECT \(([a, b] + others).joined(separator: ", ")) FROM \(table)
                WHERE \(a) > ?1 AND \(a) <= ?2\(condition) ORDER BY \(a), \(b)
                """)
        }
        old = try walk("source.\(oldTable)", oldA, oldB, pairs.compactMap(\.0), where: " AND \(oldB) IS NOT NULL")
        if let index {
            new = try walk(
                "destination.\(newTable) INDEXED BY \(Connection.quoted(index.index.name))", newA, newB,
                index.index.columns.dropFirst(2).map(\.sql), where: "")
            let targets = try index.keys?.targets(above: range.above, on: context.connection)
            entries = RowSums([.init(columns: index.hashed)], order: index.index.order, targets: targets, key: key)
        } else {
            new = try walk(
                "destination.\(newTable)", newA, newB, pairs.compactMap(\.1), where: " AND \(newB) IS NOT NULL")
            entries = nil
        }
        orders = Array(2..<2 + pairs.count)
        (findA, findB) = (
            try Self.find(links.a, in: context), try Self.find(links.b, in: context)
        )
        for statement in [old, new] {
            try statement.bind(range.above, at: 1)
            try statement.bind(range.through, at: 2)
        }
    }

    /// Finds an object of an entity in the destination.
    static func find(_ entity: String, in context: VerificationContext) throws -> Statement {
        try context.connection.prepare(
            """
            SELECT 1 FROM destination.\(try context.destinationTable(of: entity).name)
            WHERE Z_PK = ? AND Z_ENT IN (\(context.destinationNumbers(ofFamily: entity)))
            """)
    }

    /// - Returns: Whether every link is as it must be.
    func isRight() throws -> Bool {
        defer { for statement in [old, new, findA, findB] { statement.reset() } }
        var (isOld, isNew) = (try old.step(), try new.step())
        while isOld || isNew {
            guard !isOld || Self.isPair(old), !isNew || Self.isPair(new) else { return false }
            if isOld, isNew, orders.isEmpty {
                (isOld, isNew) = try RowSums.stepPairs(
                    VerificationContext.rowsBetweenLooks, of: old, with: new, adding: entries)
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
                // Not carried over, so one of its objects must be missing.
                if try exists(old.integer(0), findA), try exists(old.integer(1), findB) { return false }
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

    private func exists(_ key: Int64, _ find: Statement) throws -> Bool {
        try find.bind(key, at: 1)
        defer { find.reset() }
        return try find.step()
    }

    // MARK: Positions

    /// Whether the positions are the source's own; in place none may be none.
    private func haveSameOrder() -> Bool {
        orders.allSatisfy { column in
            guard new.holdsSame(column, as: old, column) else { return false }
            let storageClass = new.storageClass(column)
            return storageClass == .integer || storageClass == .null && context.verification.isInPlace
        }
    }
}
