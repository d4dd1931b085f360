internal import FerryBase
internal import FerrySQLite

/// An index of the destination, and what stands in its entries.
struct StoredIndex: Sendable {
    struct Column: Sendable {
        /// The column, expression or row number, as SQL.
        var sql: String
        var isDescending: Bool
        /// Nil for one that only the app defines.
        var collation: RowOrder.Collation?
        /// Whether it is a key of the index, and not only what leads to the row.
        var isKey: Bool
    }

    let name: String
    let table: String
    let isUnique: Bool
    /// What makes a row have an entry; nil where every row has one.
    let filter: String?
    let columns: [Column]

    /// Nil when its entries cannot be read as such.
    ///
    /// The row is one of `pragma_index_list`: name, whether it is unique, whether it is partial. The row's number has no name
    /// where the table hides it.
    init?(_ row: [Value], of table: String, rowID: String?, in context: VerificationContext) throws {
        guard let name = row[0].text else { return nil }
        self.name = name
        self.table = table
        isUnique = row[1].integer == 1
        let text = try context.statement(of: "index", name).flatMap { IndexText($0) }
        if row[2].integer == 1 {
            guard let condition = text?.filter else { return nil }
            filter = condition
        } else {
            filter = nil
        }
        var columns: [Column] = []
        for column in try context.connection.rows(
            "SELECT seqno, cid, name, desc, coll, key FROM pragma_index_xinfo(?, 'destination') ORDER BY seqno",
            [.text(name)])
        {
            let place = Int(column[0].integer ?? 0)
            let expression: String?
            switch column[1].integer {
            case -1: expression = rowID
            case -2: expression = text.flatMap { place < $0.keys.count ? $0.keys[place] : nil }
            default: expression = column[2].text.map { Connection.quoted($0) }
            }
            guard let expression else { return nil }
            columns.append(
                Column(
                    sql: expression, isDescending: column[3].integer == 1,
                    collation: column[4].text.flatMap { Self.collations[$0.uppercased()] },
                    isKey: column[5].integer == 1))
        }
        guard !columns.isEmpty else { return nil }
        self.columns = columns
    }

    private static let collations: [String: RowOrder.Collation] = [
        "BINARY": .binary, "NOCASE": .noCase, "RTRIM": .rightTrim,
    ]

    /// The order of its entries, of which one out of its place is one that a search does not find; nil when only the app
    /// could say what comes first.
    var order: RowOrder? {
        let known = columns.compactMap { column in column.collation.map { ($0, column.isDescending) } }
        guard known.count == columns.count else { return nil }
        return RowOrder(
            known.map { (collation: $0.0, isDescending: $0.1) }, keyCount: columns.prefix { $0.isKey }.count,
            isUnique: isUnique)
    }

    /// Whether every row has an entry, and a column's numbers rise from one to the next.
    func isOrdered(by column: String) -> Bool {
        guard let first = columns.first, filter == nil else { return false }
        return first.sql == Connection.quoted(column) && !first.isDescending && first.collation != nil
    }

    /// The part of the check that reads it by itself.
    var partName: String { "entries of \(name)" }

    /// The columns of an entry, as SQL; a comment in the index's own text ends with the line.
    var selected: [String] { columns.map(\.sql) }

    /// What stands behind the columns in a query for every entry, in the index's own order, from the index alone.
    var entries: String {
        "FROM destination.\(Connection.quoted(table)) INDEXED BY \(Connection.quoted(name))"
            + (filter.map { " WHERE \($0)" } ?? "")
    }

    var query: String { "SELECT \(selected.joined(separator: "\n, "))\n\(entries)" }
}

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
    /// There are as many sums as different sets of entries; the counts are of all rows, then of those of each condition.
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
    let compared: [StoredIndex]
    /// Names of those whose entries are only counted.
    private(set) var counted: [String] = []
    /// A name of the rows' numbers; nil where the table has none, or hides it.
    private(set) var rowID: String?
    /// What the rows make of those that are compared.
    let rows: IndexedRows

    init(of table: String, in context: VerificationContext) throws {
        self.table = table
        let listed = try context.connection.rows(
            "SELECT name, \"unique\", partial FROM pragma_index_list(?, 'destination') ORDER BY name", [.text(table)])
        rowID = try Self.rowID(of: table, in: context)
        var compared: [StoredIndex] = []
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
        (self.compared, rows) = (compared, IndexedRows(compared))
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
