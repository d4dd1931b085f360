internal import FerryBase
internal import FerrySQLite

/// What a table's rows make of its indexes, in one reading.
///
/// Indexes with the same columns, in whatever order, share a sum: a join table's two have the same.
struct IndexedRows: Sendable {
    /// For each index its columns, in the order in which they are hashed.
    private(set) var columns: [[Int]] = []
    /// For each index the place of its sum.
    private(set) var sets: [Int] = []
    /// What makes the entries of some indexes: places in ``selected``, in their order.
    private var entries: [RowSums.Columns] = []
    private var selected: [String] = []

    init(_ indexes: TableIndexes) { self.init(indexes.compared) }

    init(_ indexes: [StoredIndex]) {
        for index in indexes {
            let places = index.columns.map { place(of: $0.sql) }
            let order = places.indices.sorted { (places[$0], $0) < (places[$1], $1) }
            let made = RowSums.Columns(
                filter: index.filter.map { place(of: "CASE WHEN \($0)\nTHEN 1 ELSE 0 END") },
                columns: order.map { places[$0] })
            columns.append(order)
            sets.append(entries.firstIndex(of: made) ?? entries.endIndex)
            if sets.last == entries.endIndex { entries.append(made) }
        }
    }

    private mutating func place(of sql: String) -> Int {
        if let known = selected.firstIndex(of: sql) { return known }
        selected.append(sql)
        return selected.count - 1
    }

    /// Sums over rows of the table, and how many of them meet each of some conditions.
    ///
    /// - Parameters:
    ///   - table: Its name.
    ///   - condition: SQL that says which rows; nil for all.
    ///   - counted: The conditions, in SQL.
    ///   - key: Of the hashes.
    ///   - context: The stores.
    /// - Returns: As many sums as there are different sets of entries; the number of all rows, and one for each condition.
    /// - Throws: ``DatabaseError``, ``FerryError``.
    func sums(
        in table: String, where condition: String?, counting counted: [String] = [], key: KeyedHash.Key,
        _ context: VerificationContext
    ) throws -> (sums: [EntrySum], counts: [Int64]) {
        let (columns, sums) = reading(beside: [], counting: counted, key: key)
        let tail =
            "FROM destination.\(Connection.quoted(table)) NOT INDEXED" + (condition.map { " WHERE \($0)" } ?? "")
        try sums.add(columns, tail, on: context.connection, lookingEvery: VerificationContext.rowsBetweenLooks) {
            try context.announce(table, done: sums.rows)
        }
        return sums.found
    }

    /// What rows must have for this beside columns of their own, as SQL that stands behind those, and what sums them up.
    func reading(
        beside own: [String], counting counted: [String], key: KeyedHash.Key
    ) -> (columns: [String], sums: RowSums) {
        var columns: [String] = []
        let places = selected.map { sql in
            if let place = own.firstIndex(of: sql) { return place }
            columns.append(sql)
            return own.count + columns.count - 1
        }
        let first = own.count + columns.count
        // As the condition of a CASE, unlike as a value, a test for NULL does not read what it tests.
        columns += counted.map { "CASE WHEN \($0)\nTHEN 1 ELSE 0 END" }
        let entries = entries.map {
            RowSums.Columns(filter: $0.filter.map { places[$0] }, columns: $0.columns.map { places[$0] })
        }
        return (columns, RowSums(entries, counting: first..<first + counted.count, key: key))
    }
}

extension RowSums {
    /// The sums; the number of all rows, and of those that meet each condition.
    var found: (sums: [EntrySum], counts: [Int64]) { (results.map(EntrySum.init), [rows] + counts) }
}

/// The indexes of one table of the destination.
struct TableIndexes: Sendable {
    let table: String
    /// Those whose entries are compared with the table's rows.
    private(set) var compared: [StoredIndex] = []
    /// Names of those whose entries are only counted.
    private(set) var counted: [String] = []
    /// A name of the rows' numbers; nil where the table has none, or hides it.
    private(set) var rowID: String?

    init(of table: String, in context: VerificationContext) throws {
        self.table = table
        let listed = try context.connection.rows(
            "SELECT name, \"unique\", partial FROM pragma_index_list(?, 'destination') ORDER BY name", [.text(table)])
        rowID = try Self.rowID(of: table, in: context)
        for row in listed {
            if context.verification.mode == .full,
                let index = try StoredIndex(row, of: table, rowID: rowID, in: context),
                try Self.isReadable(index, in: context)
            {
                compared.append(index)
            } else if row[2].integer == 0, let name = row[0].text {
                counted.append(name)
            }
        }
        let isNumbered = try context.connection.value(
            "SELECT 1 FROM pragma_table_list WHERE schema = 'destination' AND name = ? AND wr = 0", [.text(table)])
        if isNumbered == nil { rowID = nil }
    }

    /// A name of the row's number that no column has taken.
    private static func rowID(of table: String, in context: VerificationContext) throws -> String? {
        let columns = try context.connection.rows(
            "SELECT upper(name) FROM pragma_table_xinfo(?, 'destination')", [.text(table)])
        let taken = Set(columns.compactMap { $0[0].text })
        return ["rowid", "_rowid_", "oid"].first { !taken.contains($0.uppercased()) }
    }

    /// An index through a function that only the app has cannot be read.
    private static func isReadable(_ index: StoredIndex, in context: VerificationContext) throws -> Bool {
        do {
            _ = try context.connection.prepare(index.query)
            return true
        } catch  where error.isInSQL {
            return false
        }
    }
}

/// A sum of keyed hashes: equal for two sets of entries if and, but for one chance in 2⁶⁴, only if they are the same,
/// whatever their order.
struct EntrySum: Equatable, Sendable, Codable {
    private(set) var count: Int64
    private var sum: UInt64

    init(count: Int64 = 0, sum: UInt64 = 0) { (self.count, self.sum) = (count, sum) }

    mutating func add(_ other: EntrySum) {
        sum &+= other.sum
        count += other.count
    }
}
