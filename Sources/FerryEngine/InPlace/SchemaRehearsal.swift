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
        for statement in statements where statement.form == .schema { try connection.run(statement, now: 0) }
        try StaleStatistics.remove(on: connection)
    }
}
