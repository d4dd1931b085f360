internal import CSQLite

/// The rows of a table as a walk over its pages counts them: by the integer in one of their columns, with the columns
/// that are NULL in them and the keys that others hold.
package final class RowTally {
    /// More kinds of rows than a table of any model has; a table with more is counted by a statement.
    private static let mostGroups = 256

    let pointer: UnsafeMutablePointer<ferry_tally>
    private let columns: [String]
    private let keys: Set<String>

    /// Nil where the columns of a row do not stand in the order of the table's, or one may have a value that no row
    /// holds.
    init?(of counted: PageWalk.Counted, on connection: Connection, schema: String) throws(DatabaseError) {
        let found = try connection.rows(
            "SELECT name, dflt_value, hidden, pk FROM pragma_table_xinfo(?1, ?2) ORDER BY cid",
            [.text(counted.table), .text(schema)])
        let columns = found.map { $0[0].text ?? "" }
        self.columns = columns
        keys = Set(found.filter { $0[3].integer != 0 }.compactMap { $0[0].text })
        let group = counted.column.map { columns.firstIndex(of: $0) } ?? -1
        guard columns.count <= FERRY_TALLY_COLUMNS,
            found.allSatisfy({ $0[1] == .null && $0[2].integer == 0 }), let group
        else { return nil }
        let room = counted.column == nil ? 1 : Self.mostGroups
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: ferry_tally())
        pointer.pointee.group = Int32(group)
        pointer.pointee.columns = Int32(columns.count)
        pointer.pointee.capacity = Int32(room)
        pointer.pointee.values = .allocate(capacity: room)
        pointer.pointee.rows = .allocate(capacity: room)
        pointer.pointee.nulls = .allocate(capacity: room * columns.count)
        pointer.pointee.roles = .allocate(capacity: columns.count)
        pointer.pointee.keys = .allocate(capacity: columns.count)
        for (place, column) in columns.enumerated() {
            let isKey = counted.keys.contains(column)
            pointer.pointee.roles[place] = UInt8((place == group ? FERRY_GROUP : 0) | (isKey ? FERRY_KEY : 0))
            (pointer.pointee.keys + place).initialize(to: ferry_keys(has_others: 0, least: .max, greatest: .min))
        }
    }

    deinit {
        pointer.pointee.values.deallocate()
        pointer.pointee.rows.deallocate()
        pointer.pointee.nulls.deallocate()
        pointer.pointee.roles.deallocate()
        pointer.pointee.keys.deallocate()
        pointer.deallocate()
    }

    /// Whether every row was counted.
    var isWhole: Bool { pointer.pointee.is_lost == 0 }

    private var groups: Range<Int> { 0..<Int(pointer.pointee.count) }

    /// Rows by the integer; of a table whose rows are all of one kind, by 0.
    package var rows: [Int64: Int64] {
        Dictionary(uniqueKeysWithValues: groups.map { (pointer.pointee.values[$0], pointer.pointee.rows[$0]) })
    }

    /// Rows of one integer in which a column is NULL; nil where there is no such column, or it is of the key, which may
    /// be written as NULL without being so.
    package func empty(_ column: String, of value: Int64) -> Int64? {
        guard !keys.contains(column), let place = columns.firstIndex(of: column) else { return nil }
        guard let group = groups.first(where: { pointer.pointee.values[$0] == value }) else { return 0 }
        return pointer.pointee.nulls[group * columns.count + place]
    }

    /// Whether every value of a column is NULL or an integer of a range; false where that was not noted.
    package func holds(_ column: String, within range: ClosedRange<Int64>) -> Bool {
        guard let place = columns.firstIndex(of: column) else { return false }
        let keys = pointer.pointee.keys[place]
        guard pointer.pointee.roles[place] & UInt8(FERRY_KEY) != 0, keys.has_others == 0 else { return false }
        return keys.least > keys.greatest || range.contains(keys.least) && range.contains(keys.greatest)
    }
}
