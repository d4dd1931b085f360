internal import FerryBase
internal import FerrySQLite
internal import FerryStore

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
