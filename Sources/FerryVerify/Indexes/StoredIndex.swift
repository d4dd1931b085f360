internal import FerryBase
internal import FerrySQLite

/// An index of the destination, with the columns of its entries.
struct StoredIndex: Sendable {
    struct Column: Sendable {
        /// The column, expression or rowid, as SQL.
        var sql: String
        var isDescending: Bool
        /// Nil for a collation that only the app defines.
        var collation: RowOrder.Collation?
        /// Whether the column is a key of the index, not the rowid or primary key appended to it.
        var isKey: Bool
    }

    let name: String
    let table: String
    let isUnique: Bool
    /// The condition of a partial index; nil if every row has an entry.
    let filter: String?
    let columns: [Column]

    /// Nil if the entries of the index cannot be read.
    ///
    /// The row is one of `pragma_index_list`: name, unique, partial. `rowID` is nil if the table hides its rowid.
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

    /// The order of the entries, in which a search would miss a misplaced one; nil with a collation of the app's.
    var order: RowOrder? {
        let known = columns.compactMap { column in column.collation.map { ($0, column.isDescending) } }
        guard known.count == columns.count else { return nil }
        return RowOrder(
            known.map { (collation: $0.0, isDescending: $0.1) }, keyCount: columns.prefix { $0.isKey }.count,
            isUnique: isUnique)
    }

    var partName: String { "entries of \(name)" }

    /// The columns of an entry, as SQL; a newline must follow each, since a comment may end it.
    var selected: [String] { columns.map(\.sql) }

    /// The rest of a query for every entry, in index order, from the index alone.
    var entries: String {
        "FROM destination.\(Connection.quoted(table)) INDEXED BY \(Connection.quoted(name))"
            + (filter.map { " WHERE \($0)" } ?? "")
    }

    var query: String { "SELECT \(selected.joined(separator: "\n, "))\n\(entries)" }
}

/// Sums of the entries that a table's rows require in its indexes, computed in one reading.
///
/// Indexes with the same columns, in any order, share a sum, as do the two of a join table.
struct IndexedRows: Sendable {
    /// The columns of each index, in hash order.
    private(set) var columns: [[Int]] = []
    /// The position of each index's sum.
    private(set) var sets: [Int] = []
    /// The columns of each sum, as positions in ``selected``.
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

    /// Sums over rows, one for each set of columns; counts of all rows, then of those that meet each condition.
    func sums(
        in table: String, where condition: String?, counting counted: [String] = [], key: KeyedHash.Key,
        _ context: VerificationContext
    ) throws -> (sums: [EntrySum], counts: [Int64]) {
        let tail =
            "FROM destination.\(Connection.quoted(table)) NOT INDEXED" + (condition.map { " WHERE \($0)" } ?? "")
        var found: (sums: [EntrySum], counts: [Int64]) = ([], [])
        var rest = counted[...]
        repeat {
            let isFirst = found.counts.isEmpty
            let own = isFirst ? selected : []
            // As the condition of a CASE, a test for NULL does not read the value; as a result column it does.
            let columns = own + rest.prefix(Self.mostConditions).map { "CASE WHEN \($0)\nTHEN 1 ELSE 0 END" }
            rest = rest.dropFirst(Self.mostConditions)
            let sums = RowSums(isFirst ? entries : [], counting: own.count..<columns.count, key: key)
            try sums.add(columns, tail, on: context.connection, lookingEvery: VerificationContext.rowsPerAnnouncement) {
                try context.announce(table, done: sums.rows)
            }
            found = isFirst ? sums.found : (found.sums, found.counts + sums.counts)
        } while !rest.isEmpty
        return found
    }

    /// Limits a query's columns, far below SQLite's 2,000.
    private static let mostConditions = 200
}

extension RowSums {
    var found: (sums: [EntrySum], counts: [Int64]) { (results.map(EntrySum.init), [rows] + counts) }
}

struct TableIndexes: Sendable {
    let table: String
    /// The indexes whose entries are compared with the table's rows.
    let compared: [StoredIndex]
    /// The names of indexes whose entries are only counted.
    private(set) var counted: [String] = []
    /// A name of the rowid; nil if the table has none, or hides it.
    private(set) var rowID: String?
    var rows: IndexedRows

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
            "SELECT 1 FROM pragma_table_list(?) WHERE schema = 'destination' AND wr = 0", [.text(table)])
        if isNumbered == nil { rowID = nil }
        (self.compared, rows) = (compared, IndexedRows(compared))
    }

    /// A name of the rowid that no column has.
    private static func rowID(of table: String, in context: VerificationContext) throws -> String? {
        let columns = try context.connection.rows(
            "SELECT upper(name) FROM pragma_table_xinfo(?, 'destination')", [.text(table)])
        let taken = Set(columns.compactMap { $0[0].text })
        return ["rowid", "_rowid_", "oid"].first { !taken.contains($0.uppercased()) }
    }

    /// Whether the index can be read: not through a function that only the app defines.
    private static func isReadable(_ index: StoredIndex, in context: VerificationContext) throws -> Bool {
        do {
            _ = try context.connection.prepare(index.query)
            return true
        } catch  where error.isInSQL {
            return false
        }
    }
}

/// A sum of keyed hashes: the same for equal sets of entries in any order, and for others once in 2⁶⁴.
struct EntrySum: Equatable, Sendable, Codable {
    private(set) var count: Int64
    private var sum: UInt64

    init(count: Int64 = 0, sum: UInt64 = 0) { (self.count, self.sum) = (count, sum) }

    mutating func add(_ other: EntrySum) {
        sum &+= other.sum
        count += other.count
    }

    mutating func add(_ first: Int64, _ second: Int64, key: KeyedHash.Key) {
        sum &+= RowSums.hash(of: first, second, key: key)
        count += 1
    }

    /// The sum of the rows of a query, whose columns are the first ones; `tail` is the query from FROM on.
    init(
        of columns: [String], _ tail: String, about subject: String, in context: VerificationContext
    ) throws {
        let sums = RowSums([.init(columns: Array(columns.indices))], key: context.progress.state.hashKey)
        try sums.add(columns, tail, on: context.connection, lookingEvery: VerificationContext.rowsPerAnnouncement) {
            try context.announce(subject)
        }
        self = sums.found.sums[0]
    }
}
