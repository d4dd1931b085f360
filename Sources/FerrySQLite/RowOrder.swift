internal import CSQLite

/// The order that a statement's rows must have, each compared with the one before it, as SQLite orders values.
package struct RowOrder: Sendable {
    package enum Collation: Int32, Sendable { case binary, noCase, rightTrim }

    let orders: [ferry_order]
    let keyCount: Int
    let isUnique: Bool

    /// - Parameters:
    ///   - columns: What orders each column.
    ///   - keyCount: How many of them must not be the same in two rows, but for NULL.
    ///   - isUnique: Whether that is asked for.
    package init(_ columns: [(collation: Collation, isDescending: Bool)], keyCount: Int, isUnique: Bool) {
        orders = columns.map { ferry_order(collation: $0.collation.rawValue, is_descending: $0.isDescending ? 1 : 0) }
        self.keyCount = keyCount
        self.isUnique = isUnique
    }
}
