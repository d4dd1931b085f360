internal import CSQLite
package import FerryBase

/// What is counted of a statement's rows while they are stepped through: sums of keyed hashes of some of their columns,
/// rows that meet conditions, and rows that are out of their order.
package final class RowSums {
    /// Columns whose hashes are added up.
    package struct Columns: Sendable, Equatable {
        /// The column that is 0 in rows that do not count; nil where all do.
        package var filter: Int?
        /// In the order in which they are hashed.
        package var columns: [Int]

        package init(filter: Int? = nil, columns: [Int]) { (self.filter, self.columns) = (filter, columns) }
    }

    private let key: KeyedHash.Key
    private let columns: UnsafeMutableBufferPointer<Int>
    private let sums: UnsafeMutableBufferPointer<ferry_sum>
    private let firstCounted: Int
    private var counted: [Int64]
    private let orders: UnsafeMutableBufferPointer<ferry_order>
    private let cells: UnsafeMutableBufferPointer<ferry_cell>
    private var sequence = ferry_sequence()
    /// Rows that were stepped through.
    package private(set) var rows: Int64 = 0

    /// - Parameters:
    ///   - sets: What is hashed and added up.
    ///   - counted: The columns that are 1 in rows that meet a condition, else 0.
    ///   - order: The order that the first columns must have.
    ///   - key: Of the hashes.
    package init(_ sets: [Columns], counting counted: Range<Int> = 0..<0, order: RowOrder? = nil, key: KeyedHash.Key) {
        self.key = key
        columns = .allocate(capacity: sets.reduce(0) { $0 + $1.columns.count })
        sums = .allocate(capacity: sets.count)
        (firstCounted, self.counted) = (counted.lowerBound, [Int64](repeating: 0, count: counted.count))
        orders = .allocate(capacity: order?.orders.count ?? 0)
        cells = .allocate(capacity: orders.count)
        cells.initialize(repeating: ferry_cell())
        var next = 0
        for (place, set) in sets.enumerated() {
            sums.initializeElement(
                at: place,
                to: ferry_sum(
                    filter: set.filter ?? -1, columns: columns.baseAddress.map { $0 + next },
                    column_count: set.columns.count, low: 0, high: 0, count: 0))
            for column in set.columns {
                columns.initializeElement(at: next, to: column)
                next += 1
            }
        }
        guard let order else { return }
        for (place, column) in order.orders.enumerated() { orders.initializeElement(at: place, to: column) }
        sequence = ferry_sequence(
            cells: cells.baseAddress, orders: orders.baseAddress, count: orders.count, keys: order.keyCount,
            is_unique: order.isUnique ? 1 : 0, is_first: 1, faults: 0)
    }

    deinit {
        ferry_forget_cells(cells.baseAddress, cells.count)
        columns.deallocate()
        sums.deallocate()
        orders.deallocate()
        cells.deallocate()
    }

    /// Steps through rows, at most so many.
    ///
    /// - Returns: False at the end.
    /// - Throws: ``DatabaseError``; also when there is no memory to keep a row in.
    package func add(_ most: Int, rowsOf statement: Statement) throws(DatabaseError) -> Bool {
        if rows == 0 { statement.begin() }
        let code = counted.withUnsafeMutableBufferPointer { counted in
            ferry_sqlite3_sum_rows(
                statement.handle, most, sums.baseAddress, sums.count, firstCounted, counted.baseAddress, counted.count,
                key.low, key.high, &sequence, &rows)
        }
        return try statement.stepped(code)
    }

    /// Of each set the number of rows that count, and the sum of their hashes.
    package var results: [(count: Int64, low: UInt64, high: UInt64)] { sums.map { ($0.count, $0.low, $0.high) } }

    /// How many rows meet each condition.
    package var counts: [Int64] { counted }

    /// How many rows are out of their order, or have the keys of the one before them.
    package var misplaced: Int64 { sequence.faults }
}
