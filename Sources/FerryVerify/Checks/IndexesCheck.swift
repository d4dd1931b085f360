internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// Every index has an entry for each row of its table, with the row's values, in the right place, and no other.
///
/// A table is read once for all of its indexes, and each index once, in its order; nothing is looked up row by row. Quick
/// verification only counts the entries.
struct IndexesCheck: Check {
    static let name = "indexes"
    static let isQuick = true
    static let scope = CheckScope.any

    /// Each table with its indexes.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        try tables(in: context).map { table in
            CheckPart(name: "indexes of \(table)", subject: table) { context, _ in try check(table, in: context) }
        }
    }

    private func tables(in context: VerificationContext) throws -> [String] {
        // A run's own tables, which only it has, go before it ends.
        let tables = try context.connection.rows(
            """
            SELECT DISTINCT tbl_name FROM destination.sqlite_master
            WHERE type = 'index' AND (tbl_name NOT LIKE 'ferry\\_%' ESCAPE '\\'
                OR tbl_name IN (SELECT name FROM source.sqlite_master)) ORDER BY tbl_name
            """)
        return tables.compactMap { $0[0].text }
    }

    private func check(_ table: String, in context: VerificationContext) throws {
        try context.announce(table)
        let listed = try context.connection.rows(
            "SELECT name, \"unique\", partial FROM pragma_index_list(?, 'destination') ORDER BY name", [.text(table)])
        var (compared, counted): ([StoredIndex], [String]) = ([], [])
        let rowID = try rowID(of: table, in: context)
        for row in listed {
            if context.verification.mode == .full,
                let index = try StoredIndex(row, of: table, rowID: rowID, in: context),
                try isReadable(index, in: context)
            {
                compared.append(index)
            } else if row[2].integer == 0, let name = row[0].text {
                counted.append(name)
            }
        }
        if !compared.isEmpty { try compare(compared, with: table, in: context) }
        if !counted.isEmpty { try count(counted, of: table, in: context) }
    }

    /// A name of the row's number that no column has taken.
    private func rowID(of table: String, in context: VerificationContext) throws -> String? {
        let columns = try context.connection.rows(
            "SELECT upper(name) FROM pragma_table_xinfo(?, 'destination')", [.text(table)])
        let taken = Set(columns.compactMap { $0[0].text })
        return ["rowid", "_rowid_", "oid"].first { !taken.contains($0.uppercased()) }
    }

    /// An index through a function that only the app has cannot be read.
    private func isReadable(_ index: StoredIndex, in context: VerificationContext) throws -> Bool {
        do {
            _ = try context.connection.prepare(index.entries)
            return true
        } catch  where error.isInSQL {
            return false
        }
    }

    private func report(_ index: String, of table: String, count: Int64, in context: VerificationContext) {
        let root = context.destination.tables.values.first { $0.name == table }?.root
        context.report(IndexesCheck.self, entity: root, count: count, example: "index \(index)")
    }

    // MARK: Entries

    private func compare(_ indexes: [StoredIndex], with table: String, in context: VerificationContext) throws {
        let key = KeyedHash.Key.random()
        let rows = IndexedRows(indexes)
        let expected = try rows.sums(in: table, key: key, context)
        for (place, index) in indexes.enumerated() {
            let expected = expected[rows.sets[place]]
            try context.announce(index.name, done: 0, total: expected.count)
            let entries = try context.connection.prepare(index.entries)
            let columns = rows.columns[place]
            var found = EntrySum()
            var order = EntryOrder(index)
            var misplaced: Int64 = 0
            while try entries.step() {
                found.add(entries, columns, key: key)
                if order?.follow(entries) != nil { misplaced += 1 }
                try context.advance(index.name, done: found.count, total: expected.count)
            }
            let missing = abs(expected.count - found.count)
            report(
                index.name, of: table, count: misplaced + (missing > 0 ? missing : found == expected ? 0 : 1),
                in: context)
        }
    }

    // MARK: Counts

    private func count(_ indexes: [String], of table: String, in context: VerificationContext) throws {
        let name = "destination.\(Connection.quoted(table))"
        let rows = try context.connection.integer("SELECT count(*) FROM \(name) NOT INDEXED") ?? 0
        for index in indexes {
            // The sum, not the count: SQLite may answer a count from whichever index it likes.
            let entries =
                try context.connection.integer("SELECT sum(1) FROM \(name) INDEXED BY \(Connection.quoted(index))") ?? 0
            report(index, of: table, count: abs(rows - entries), in: context)
        }
    }
}
