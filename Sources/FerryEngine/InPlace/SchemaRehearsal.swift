internal import FerryBase
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// A store's schema without its rows, in memory, on which steps in place are tried.
///
/// The numbers of the entities and what ANALYZE found are the only rows: both are as small as the schema.
struct SchemaRehearsal {
    let connection: Connection

    /// Makes every table, index, view and trigger of a store anew.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - path: Where the new one is made.
    /// - Throws: ``DatabaseError`` for what cannot be made here (a module or collation of the app's).
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
                try run(next)
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
        for planned in plan.closing { try run(planned) }
    }

    private func run(_ planned: InPlaceStatement) throws {
        let statement = planned.values.isEmpty ? nil : try connection.prepare(planned.sql)
        guard let statement else {
            return try connection.execute(planned.sql)
        }
        for named in planned.values { try statement.bind(Value(named.value), named: named.name) }
        try statement.run()
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
