package import FerrySQLite

/// The tables, columns and indexes that a store really has, as `sqlite_master` tells them.
package struct StoreCatalog: Sendable {
    package struct Table: Sendable, Hashable {
        package var name: String
        /// All columns with their declared types, in order.
        package var columns: [Column]
        /// The columns of the primary key, in its order.
        package var keyColumns: [String]
        package var sql: String

        /// A column by its name, without regard to case.
        package func column(_ name: String) -> Column? {
            let upper = name.uppercased()
            return columns.first { $0.name.uppercased() == upper }
        }
    }

    /// Ordinary tables in the order of their making, SQLite's own (`sqlite_…`) left out.
    package private(set) var tables: [Table] = []
    /// Indexes that a statement made, in the order of their making.
    package private(set) var indexes: [IndexDefinition] = []
    package private(set) var triggers: [TriggerDefinition] = []
    /// Names of views, triggers and virtual tables, each with its SQL.
    package private(set) var others: [(type: String, name: String, sql: String)] = []
    private var positions: [String: Int] = [:]

    /// Reads the schema of a store.
    ///
    /// - Parameters:
    ///   - connection: An open connection.
    ///   - schema: The name under which the store is attached.
    /// - Throws: ``DatabaseError``.
    package init(_ connection: Connection, schema: String = "main") throws(DatabaseError) {
        let master = Connection.quoted(schema) + ".sqlite_master"
        for row in try connection.rows("SELECT type, name, tbl_name, sql FROM \(master) ORDER BY rowid") {
            let (type, name, table) = (row[0].text ?? "", row[1].text ?? "", row[2].text ?? "")
            guard let sql = row[3].text, !name.lowercased().hasPrefix("sqlite_") else { continue }
            switch type {
            case "table" where sql.uppercased().hasPrefix("CREATE VIRTUAL"): others.append(("virtual table", name, sql))
            case "table": tables.append(Table(name: name, columns: [], keyColumns: [], sql: sql))
            case "index": indexes.append(IndexDefinition(name: name, table: table, sql: sql))
            case "trigger":
                triggers.append(TriggerDefinition(name: name, table: table, sql: sql))
                others.append((type, name, sql))
            default: others.append((type, name, sql))
            }
        }
        for position in tables.indices {
            positions[tables[position].name.uppercased()] = position
            try readColumns(of: position, connection, schema: schema)
        }
    }

    /// A table by its name, without regard to case.
    package func table(_ name: String) -> Table? { positions[name.uppercased()].map { tables[$0] } }

    private mutating func readColumns(of position: Int, _ connection: Connection, schema: String) throws(DatabaseError)
    {
        let rows = try connection.rows(
            "SELECT name, type, pk FROM pragma_table_info(?1, ?2) ORDER BY cid",
            [.text(tables[position].name), .text(schema)])
        tables[position].columns = rows.map { Column(name: $0[0].text ?? "", type: $0[1].text ?? "") }
        tables[position].keyColumns =
            rows.filter { ($0[2].integer ?? 0) > 0 }
            .sorted { ($0[2].integer ?? 0) < ($1[2].integer ?? 0) }
            .map { $0[0].text ?? "" }
    }
}
