internal import FerryPlan
internal import FerrySQLite

/// Alters tables of a schema each in a database that holds it alone.
///
/// SQLite reads a whole schema several times over for each ALTER TABLE: of a store with a hundred indexes that takes a
/// millisecond, of one table some microseconds. What becomes of a table's statement, and of those of its indexes, depends
/// on nothing else where no view, trigger or foreign key names it.
struct TableAlterations {
    /// The whole schema, without rows that matter.
    let connection: Connection
    /// Whether no object of the schema names the table of another one.
    private let isPlain: Bool

    init(_ connection: Connection) throws {
        self.connection = connection
        isPlain =
            try connection.integer(
                "SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE '%REFERENCES%'") == nil
    }

    /// Runs statements that alter tables, and nothing else.
    func run(_ statements: ArraySlice<InPlaceStatement>) throws {
        guard isPlain else {
            for statement in statements { try connection.execute(statement.sql) }
            return
        }
        var tables: [TableApart] = []
        // Upper-case name at the moment to the place in `tables`.
        var places: [String: Int] = [:]
        for statement in statements {
            guard let alteration = statement.alteration else { continue }
            let name = alteration.table.uppercased()
            let place = places[name] ?? tables.count
            if place == tables.count { tables.append(try TableApart(alteration.table, in: connection)) }
            try tables[place].connection.execute(statement.sql)
            places[name] = nil
            places[alteration.newName.uppercased()] = place
        }
        try connection.execute("PRAGMA writable_schema = ON")
        let update = try connection.prepare("UPDATE sqlite_master SET name = ?, tbl_name = ?, sql = ? WHERE rowid = ?")
        for table in tables { try table.write(by: update) }
        // Makes the connection read the schema again.
        try connection.execute("PRAGMA writable_schema = RESET")
    }
}

/// One table with its indexes, in a database of its own.
private struct TableApart {
    let connection: Connection
    /// In the order of the schema table: where each object stands in the whole schema.
    private var places: [Value] = []

    init(_ name: String, in whole: Connection) throws {
        connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute("BEGIN")
        var found: [String: Value] = [:]
        // The table first. The index of a primary key has no statement: it comes with its table.
        for row in try whole.rows(
            "SELECT rowid, name, sql FROM sqlite_master WHERE tbl_name = ? COLLATE NOCASE ORDER BY type = 'index', rowid",
            [.text(name)])
        {
            found[row[1].text ?? ""] = row[0]
            if let sql = row[2].text { try connection.execute(sql) }
        }
        for row in try connection.rows("SELECT name FROM sqlite_master ORDER BY rowid") {
            places.append(found[row[0].text ?? ""] ?? .null)
        }
    }

    /// Puts what the objects have become where they were: altering leaves each in its place.
    func write(by update: Statement) throws {
        let objects = try connection.rows("SELECT name, tbl_name, sql FROM sqlite_master ORDER BY rowid")
        for (object, place) in zip(objects, places) {
            try update.bind(object + [place])
            try update.run()
        }
    }
}
