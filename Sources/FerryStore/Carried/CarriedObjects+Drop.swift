package import FerrySQLite

extension CarriedObjects {
    /// Drops from a store what was asked to be dropped.
    ///
    /// - Throws: ``DatabaseError``.
    package func drop(on connection: Connection) throws(DatabaseError) {
        // A table takes its indexes and triggers with it, so these go first.
        let order = ["trigger", "index", "view", "table", "virtual table"]
        for type in order {
            for object in dropped where object.type == type {
                let name = Connection.quoted(object.name)
                guard type == "virtual table" else {
                    try connection.execute("DROP \(type.uppercased()) \(name)")
                    continue
                }
                do {
                    try connection.execute("DROP TABLE \(name)")
                } catch {
                    // Its module, or what that needs, is not here: it cannot be asked to take it down.
                    try remove(object, on: connection)
                }
            }
        }
    }

    private func remove(_ object: Object, on connection: Connection) throws(DatabaseError) {
        let shadows = try Self.shadowTables(of: object.name, on: connection, schema: "main")
        connection.allowSchemaWrites()
        try connection.execute("PRAGMA writable_schema = ON")
        try connection.run(
            "DELETE FROM main.sqlite_master WHERE type = 'table' AND name = ? AND rootpage = 0", [.text(object.name)])
        try connection.execute("PRAGMA writable_schema = RESET")
        for shadow in shadows { try connection.execute("DROP TABLE \(Connection.quoted(shadow))") }
    }

    /// The tables in which a virtual table keeps its content.
    static func shadowTables(
        of name: String, on connection: Connection, schema: String
    ) throws(DatabaseError) -> [String] {
        let listed = try connection.rows(
            "SELECT name FROM pragma_table_list WHERE schema = ?1 AND type = 'shadow'", [.text(schema)])
        return listed.compactMap(\.[0].text).filter { $0.hasPrefix(name + "_") }
    }
}
