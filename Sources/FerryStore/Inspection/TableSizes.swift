package import FerrySQLite

/// The bytes that tables and their indexes take in a store's file.
package struct TableSizes: Sendable {
    /// Upper-case table name to the bytes of its pages and those of its indexes.
    private var tables: [String: Int64] = [:]

    /// Measures every table; reads each page of the file.
    ///
    /// - Returns: Nil where the linked SQLite has no `dbstat`.
    /// - Throws: ``DatabaseError``.
    package init?(_ connection: Connection, schema: String = "main") throws(DatabaseError) {
        guard try connection.integer("SELECT 1 FROM pragma_module_list WHERE name = 'dbstat'") != nil else {
            return nil
        }
        let rows = try connection.rows(
            """
            SELECT ifnull(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat(?1, 1) AS s
            LEFT JOIN \(SQLName.quoted(schema, "sqlite_master")) AS m ON m.name = s.name GROUP BY 1
            """, [.text(schema)])
        for row in rows { tables[(row[0].text ?? "").uppercased()] = row[1].integer ?? 0 }
    }

    /// The bytes of a table and its indexes, or nil when there is no such table.
    package func bytes(of table: String) -> Int64? { tables[table.uppercased()] }
}
