internal import CSQLite

/// The order of a statement's rows, each compared with the one before it, as SQLite orders values.
package final class RowOrder {
    package enum Collation: Int32, Sendable { case binary, noCase, rightTrim }

    package enum Fault { case place, duplicate }

    private let orders: [ferry_order]
    private let keyCount: Int
    private let isUnique: Bool
    private let cells: UnsafeMutablePointer<ferry_cell>
    private var isFirst = true

    /// - Parameters:
    ///   - columns: What orders each column.
    ///   - keyCount: How many of them must not be the same in two rows, but for NULL.
    ///   - isUnique: Whether that is asked for.
    package init(_ columns: [(collation: Collation, isDescending: Bool)], keyCount: Int, isUnique: Bool) {
        orders = columns.map { ferry_order(collation: $0.collation.rawValue, is_descending: $0.isDescending ? 1 : 0) }
        self.keyCount = keyCount
        self.isUnique = isUnique
        cells = .allocate(capacity: columns.count)
        cells.initialize(repeating: ferry_cell(), count: columns.count)
    }

    deinit {
        ferry_forget_cells(cells, orders.count)
        cells.deallocate()
    }

    /// Looks whether the row at hand may follow the one before.
    ///
    /// - Throws: ``DatabaseError`` when there is no memory to keep the row in.
    package func follow(_ row: Statement) throws(DatabaseError) -> Fault? {
        let found = ferry_sqlite3_follow(
            row.handle, cells, orders, orders.count, keyCount, isUnique ? 1 : 0, isFirst ? 1 : 0)
        isFirst = false
        switch Int(found) {
        case FERRY_IN_ORDER: return nil
        case FERRY_OUT_OF_PLACE: return .place
        case FERRY_DUPLICATE: return .duplicate
        default: throw DatabaseError(code: SQLITE_NOMEM, message: "out of memory", sql: row.sql)
        }
    }
}
