internal import FerrySQLite

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
