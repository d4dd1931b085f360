internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// A store's schema in memory, on which steps in place are tried; its only rows are `Z_PRIMARYKEY` and `sqlite_stat1`.
struct SchemaRehearsal {
    let connection: Connection

    private init() throws {
        connection = try Connection(path: ":memory:", mode: .create)
        connection.allowSchemaWrites()
        try FunctionRegistry.register(on: connection)
        try ExternalContents(folder: "").register(on: connection)
    }

    /// Makes the schema of a new store by the statements of its program.
    init(of layout: StoreLayout, by statements: [ProgramStatement], numbersOf source: SchemaRehearsal) throws {
        try self.init()
        try run(statements)
        try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: [:], on: connection)
        for row in try source.connection.rows(
            "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT > \(HistoryTables.firstNumber)")
        { try connection.run(StoreCreation.entityNumber, row) }
    }

    /// Recreates a store's schema; throws ``DatabaseError`` if that needs a module or a collation of the app.
    init(of store: Connection) throws {
        try self.init()
        let objects = try store.rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        // CREATE VIRTUAL TABLE creates the shadow tables as well.
        let isVirtual = { (sql: String) in sql.uppercased().hasPrefix("CREATE VIRTUAL") }
        let ordered = objects.filter { isVirtual($0[1].text ?? "") } + objects.filter { !isVirtual($0[1].text ?? "") }
        try connection.execute("BEGIN")
        for object in ordered {
            guard let name = object[0].text, let sql = object[1].text, !name.hasPrefix("sqlite_") else { continue }
            let known = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = ?", [.text(name)])
            if known == nil { try connection.execute(sql) }
        }
        for row in try store.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY") {
            try connection.run(StoreCreation.entityNumber, row)
        }
        if objects.contains(where: { $0[0].text == Self.statistics }) {
            // ANALYZE of the schema table creates an empty `sqlite_stat1`; a CREATE statement cannot.
            try connection.execute("ANALYZE sqlite_master")
            for row in try store.rows("SELECT tbl, idx, stat FROM \(Self.statistics)") {
                try connection.run("INSERT INTO \(Self.statistics) (tbl, idx, stat) VALUES (?, ?, ?)", row)
            }
        }
        try connection.execute("COMMIT")
    }

    private static let statistics = "sqlite_stat1"

    /// Runs the statements that make the schema, and no other: only those on rows read the time.
    func run(_ statements: [ProgramStatement]) throws {
        var alterations: TableAlterations?
        var rest = statements.filter { $0.form == .schema }[...]
        while let next = rest.first {
            guard next.alteration != nil else {
                try connection.run(next, now: 0)
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
    }

    // MARK: Schema entries

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

    /// The rows of `sqlite_stat1`; nil if ANALYZE never ran.
    func statisticsRows() throws -> [[Value]]? {
        let exists = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = ?", [.text(Self.statistics)])
        return exists == nil
            ? nil : try connection.rows("SELECT tbl, idx, stat FROM \(Self.statistics) ORDER BY tbl, idx, stat")
    }
}

/// Runs each table's ALTER TABLE statements in a database that holds only this table.
///
/// SQLite reads the whole schema several times for each ALTER TABLE: a millisecond with a hundred indexes, some
/// microseconds with one table. No other object affects the result if no view, trigger or foreign key names the table.
struct TableAlterations {
    let connection: Connection
    /// Whether the schema has no view, no trigger and no foreign key.
    private let isPlain: Bool

    init(_ connection: Connection) throws {
        self.connection = connection
        isPlain =
            try connection.integer(
                "SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE '%REFERENCES%'") == nil
    }

    /// Runs statements, all of which are ALTER TABLE.
    func run(_ statements: ArraySlice<ProgramStatement>) throws {
        guard isPlain else {
            for statement in statements { try connection.execute(statement.sql.text) }
            return
        }
        var tables: [IsolatedTable] = []
        // The current upper-case name of each table, with its index in `tables`.
        var places: [String: Int] = [:]
        for statement in statements {
            guard let alteration = statement.alteration else { continue }
            let name = alteration.table.uppercased()
            let place = places[name] ?? tables.count
            if place == tables.count { tables.append(try IsolatedTable(alteration.table, in: connection)) }
            try tables[place].connection.execute(statement.sql.text)
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

/// One table with its indexes, in its own database.
private struct IsolatedTable {
    let connection: Connection
    /// The rowids of the objects in the whole schema table, in the order of this database's schema table.
    private var places: [Value] = []

    init(_ name: String, in whole: Connection) throws {
        connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute("BEGIN")
        var found: [String: Value] = [:]
        // The table comes first. The index of a primary key has no SQL: SQLite creates it with its table.
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

    /// Writes the altered objects to their rows of the whole schema table: ALTER TABLE keeps their order.
    func write(by update: Statement) throws {
        let objects = try connection.rows("SELECT name, tbl_name, sql FROM sqlite_master ORDER BY rowid")
        for (object, place) in zip(objects, places) {
            try update.bind(object + [place])
            try update.run()
        }
    }
}
