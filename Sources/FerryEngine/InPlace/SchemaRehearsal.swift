internal import FerryBase
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// A store's schema without its rows, in memory, on which steps in place are tried.
///
/// The numbers of the entities and what ANALYZE found are the only rows: both are as small as the schema.
struct SchemaRehearsal {
    let connection: Connection

    /// Makes every table, index, view and trigger of a store anew at a path; throws ``DatabaseError`` for what cannot
    /// be made here (a module or collation of the app's).
    init(of store: Connection, at path: String = ":memory:") throws {
        connection = try Connection(path: path, mode: .create)
        connection.allowSchemaWrites()
        try FunctionRegistry.register(on: connection)
        try ExternalContents(folder: "").register(on: connection)
        let objects = try store.rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        // A virtual table brings its shadow tables with it.
        let isVirtual = { (sql: String) in sql.uppercased().hasPrefix("CREATE VIRTUAL") }
        let ordered = objects.filter { isVirtual($0[1].text ?? "") } + objects.filter { !isVirtual($0[1].text ?? "") }
        try connection.execute("BEGIN")
        for object in ordered {
            guard let name = object[0].text, let sql = object[1].text, !name.hasPrefix("sqlite_") else { continue }
            let known = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = ?", [.text(name)])
            if known == nil { try connection.execute(sql) }
        }
        for row in try store.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY") {
            try connection.run("INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, ?)", row)
        }
        if objects.contains(where: { $0[0].text == Self.statistics }) {
            // Analysing the schema alone makes the empty table, which no CREATE statement can.
            try connection.execute("ANALYZE sqlite_master")
            for row in try store.rows("SELECT tbl, idx, stat FROM \(Self.statistics)") {
                try connection.run("INSERT INTO \(Self.statistics) (tbl, idx, stat) VALUES (?, ?, ?)", row)
            }
        }
        try connection.execute("COMMIT")
    }

    private static let statistics = "sqlite_stat1"

    /// Runs the statements of a plan, but for those on rows, of which there are none here.
    func run(_ plan: InPlacePlan) throws {
        var alterations: TableAlterations?
        var rest = plan.statements.filter { !$0.writesObjects }[...]
        while let next = rest.first {
            guard next.alteration != nil else {
                try connection.run(next)
                rest.removeFirst()
                continue
            }
            let together = rest.prefix { $0.alteration != nil }
            let known = try alterations ?? TableAlterations(connection)
            alterations = known
            try known.run(together)
            rest = rest.dropFirst(together.count)
        }
        try StaleStatistics.remove(on: connection)
        for planned in plan.closing { try connection.run(planned) }
    }

    // MARK: What there is

    /// An entry of the schema.
    struct Entry: Hashable {
        var type: String
        var name: String
        var table: String
        var sql: String?
    }

    func entries() throws -> Set<Entry> {
        let rows = try connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master")
        return Set(
            rows.map {
                Entry(type: $0[0].text ?? "", name: $0[1].text ?? "", table: $0[2].text ?? "", sql: $0[3].text)
            })
    }

    /// What ANALYZE found; nil where it never ran.
    func statisticsRows() throws -> [[Value]]? {
        let exists = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = ?", [.text(Self.statistics)])
        return exists == nil
            ? nil : try connection.rows("SELECT tbl, idx, stat FROM \(Self.statistics) ORDER BY tbl, idx, stat")
    }
}

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

/// What ANALYZE said about tables and indexes that have gone, or have other names.
enum StaleStatistics {
    static func remove(on connection: Connection) throws(DatabaseError) {
        let exists = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'")
        guard exists != nil else { return }
        try connection.execute(
            """
            DELETE FROM sqlite_stat1 WHERE tbl NOT IN (SELECT name FROM sqlite_master WHERE type = 'table')
                OR (idx IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sqlite_master AS m
                    WHERE m.type = 'index' AND m.name = idx AND m.tbl_name = tbl)
                    AND idx <> tbl)
            """)
    }
}
