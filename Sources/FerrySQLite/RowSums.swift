internal import CDatabase
internal import CSQLite
package import FerryBase

/// Counts over a statement's rows: sums of keyed hashes of columns, rows that meet conditions, rows out of order.
package final class RowSums {
    /// Columns whose hashes are summed.
    package struct Columns: Sendable, Equatable {
        /// The column that is 0 in rows to skip; nil to count all.
        package var filter: Int?
        /// In the order of hashing.
        package var columns: [Int]

        package init(filter: Int? = nil, columns: [Int]) { (self.filter, self.columns) = (filter, columns) }
    }

    private let columns: UnsafeMutableBufferPointer<Int>
    private let sums: UnsafeMutableBufferPointer<ferry_sum>
    private let counted: UnsafeMutableBufferPointer<Int64>
    private let orders: UnsafeMutableBufferPointer<ferry_order>
    private let cells: UnsafeMutableBufferPointer<ferry_cell>
    private let inputs: UnsafeMutableBufferPointer<Int32>
    private let values: UnsafeMutableBufferPointer<OpaquePointer?>
    /// On the heap, so that C code gets a pointer without an exclusivity check for each row.
    private let reading: UnsafeMutablePointer<ferry_reading>

    /// The columns of `counted` are 1 in rows that meet a condition, else 0.
    ///
    /// `order` is that of the first columns.
    package init(
        _ sets: [Columns], counting counted: Range<Int> = 0..<0, order: RowOrder? = nil, key: KeyedHash.Key
    ) {
        columns = Self.buffer(of: sets.flatMap(\.columns))
        self.counted = Self.buffer(of: counted.map { _ in 0 })
        orders = Self.buffer(of: order?.orders ?? [])
        cells = Self.buffer(of: orders.map { _ in ferry_cell() })
        var next = UnsafePointer(columns.baseAddress)
        sums = Self.buffer(
            of: sets.map { set in
                defer { next = next.map { $0 + set.columns.count } }
                return ferry_sum(
                    filter: set.filter ?? -1, columns: next, column_count: set.columns.count, sum: 0, count: 0)
            })
        let sequence = ferry_sequence(
            cells: cells.baseAddress, orders: orders.baseAddress, count: orders.count, keys: order?.keyCount ?? 0,
            is_unique: order?.isUnique == true ? 1 : 0, is_first: 1, faults: 0)
        var used = Set(sets.flatMap { $0.columns + ($0.filter.map { [$0] } ?? []) }).union(counted)
        used.formUnion(0..<orders.count)
        inputs = Self.buffer(of: used.sorted().map { Int32($0) })
        values = Self.buffer(of: [OpaquePointer?](repeating: nil, count: (used.max() ?? -1) + 1))
        reading = .allocate(capacity: 1)
        reading.initialize(
            to: ferry_reading(
                sums: sums.baseAddress, sum_count: sums.count, first_counted: counted.lowerBound,
                counts: self.counted.baseAddress, count_count: counted.count, low: key.low, high: key.high,
                sequence: sequence, columns: inputs.baseAddress, column_count: inputs.count, values: values.baseAddress,
                rows: 0, look: nil,
                looker: nil, rows_between_looks: 1))
    }

    private static func buffer<Element>(of elements: [Element]) -> UnsafeMutableBufferPointer<Element> {
        let buffer = UnsafeMutableBufferPointer<Element>.allocate(capacity: elements.count)
        _ = buffer.initialize(from: elements)
        return buffer
    }

    deinit {
        ferry_forget_cells(cells.baseAddress, cells.count)
        columns.deallocate()
        sums.deallocate()
        counted.deallocate()
        orders.deallocate()
        cells.deallocate()
        inputs.deallocate()
        values.deallocate()
        reading.deallocate()
    }

    /// Adds the rows of a query in SQLite's order; `tail` is the query from FROM on.
    ///
    /// `look` is called at least every `most` rows; its error ends the query.
    ///
    /// - Throws: ``DatabaseError``, also without memory for a row; any error of `look`.
    package func add(
        _ columns: [String], _ tail: String, on connection: Connection, lookingEvery most: Int,
        _ look: () throws -> Void
    ) throws {
        // One more argument for the pointer.
        guard columns.count < connection.limit(.functionArguments) else {
            let rows = try connection.prepare("SELECT \(columns.joined(separator: "\n, "))\n\(tail)")
            rows.begin()
            while try rows.stepped(ferry_sqlite3_read_rows(rows.handle, most, reading)) { try look() }
            return
        }
        try connection.registerReading()
        // A newline ends comments in the SQL of a column.
        let rows = try connection.prepare(
            "SELECT \(Connection.readingFunction)(?1\(columns.map { "\n, " + $0 }.joined())\n)\n\(tail)")
        try rows.bind(reading, at: 1)
        defer {
            (reading.pointee.look, reading.pointee.looker, reading.pointee.values) = (nil, nil, values.baseAddress)
        }
        try withoutActuallyEscaping(look) { look in
            let call = CallFromC(look)
            try withExtendedLifetime(call) {
                reading.pointee.look = { CallFromC.run($0) ? 1 : 0 }
                reading.pointee.looker = Unmanaged.passUnretained(call).toOpaque()
                reading.pointee.rows_between_looks = Int64(most)
                do throws(DatabaseError) {
                    try rows.run()
                } catch {
                    throw call.error ?? error
                }
            }
        }
    }

    /// The number of rows.
    package var rows: Int64 { reading.pointee.rows }

    /// The number of counted rows of each set, and the sum of their hashes.
    package var results: [(count: Int64, sum: UInt64)] { sums.map { ($0.count, $0.sum) } }

    /// The hash of a row of two integers.
    package static func hash(of first: Int64, _ second: Int64, key: KeyedHash.Key) -> UInt64 {
        ferry_hash_pair(first, second, key.low, key.high)
    }

    /// The number of rows that meet each condition.
    package var counts: [Int64] { Array(counted) }

    /// The number of rows out of order, or with the keys of the row before.
    package var misplaced: Int64 { reading.pointee.sequence.faults }

}
