internal import FerrySQLite

/// A table that goes into a new store with its definition and its rows, as it is.
package struct CarriedTable: Sendable, Hashable {
    package var name: String
    /// The statement that makes it; nil where another table's does (shadow tables of a virtual table).
    package var sql: String?
    /// Columns that can be written, quoted.
    package var columns: [String]
    /// The same columns, not quoted.
    package var columnNames: [String]
    /// The name under which the row's number is reached; nil for tables that have none.
    package var rowID: String?

    init(_ name: String, sql: String?, on connection: Connection, schema: String) throws(DatabaseError) {
        self.name = name
        self.sql = sql
        // Generated columns (2 and 3) cannot be written, hidden ones of virtual tables (1) need not be.
        let rows = try connection.rows(
            "SELECT name FROM pragma_table_xinfo(?1, ?2) WHERE hidden = 0 ORDER BY cid", [.text(name), .text(schema)])
        let names = rows.compactMap(\.[0].text)
        columns = names.map(Connection.quoted)
        columnNames = names
        let hasRowID =
            try connection.integer(
                "SELECT wr FROM pragma_table_list(?1) WHERE schema = ?2", [.text(name), .text(schema)]) == 0
        let used = Set(names.map { $0.lowercased() })
        rowID = hasRowID ? ["rowid", "_rowid_", "oid"].first { !used.contains($0) } : nil
    }

    /// The table's name as it is written in SQL.
    package var quotedName: String { Connection.quoted(name) }

    /// Copies the rows from one attached store to another; with `:low` and `:high` where the rows have numbers.
    ///
    /// - Parameters:
    ///   - source: The name under which the old store is attached.
    ///   - destination: The name under which the new one is.
    ///   - value: The SQL of a column's value, given the column as it is written in SQL.
    /// - Returns: The statement.
    package func copy(
        from source: String = "source", to destination: String = "main", value: (String) -> String = { $0 }
    ) -> String {
        let target = SQLName.quoted(destination, name)
        let origin = SQLName.quoted(source, name)
        let all = columns.joined(separator: ", ")
        let values = columns.map(value).joined(separator: ", ")
        guard let rowID else { return "INSERT INTO \(target) (\(all)) SELECT \(values) FROM \(origin)" }
        return """
            INSERT INTO \(target) (\(rowID), \(all)) SELECT \(rowID), \(values) FROM \(origin)
            WHERE \(rowID) > :low AND \(rowID) <= :high
            """
    }
}
