internal import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
internal import FerryStore

/// Lists the statements of the steps of a plan, one after another, on a store's schema in memory.
///
/// No step runs: only what changes the schema does, since the next step starts from it. The only rows are those of
/// `Z_PRIMARYKEY`.
package struct StatementRehearsal {
    private var connection: Connection
    private let hasModelCache: Bool
    private let hasModel: Bool

    private static let statistics = "sqlite_stat1"
    private static let numbers = "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY"

    /// Recreates a store's schema.
    ///
    /// - Parameter store: The store, as the main database.
    /// - Throws: ``DatabaseError`` if the schema needs a module or a collation of the app.
    package init(of store: Connection) throws {
        connection = try Self.emptySchema()
        hasModelCache = try ModelCache.hasTable(store)
        hasModel = try ModelCache.hasModel(store)
        let objects = try store.rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        // CREATE VIRTUAL TABLE creates the shadow tables as well.
        let isVirtual = { (sql: String) in sql.uppercased().hasPrefix("CREATE VIRTUAL") }
        let ordered = objects.filter { isVirtual($0[1].text ?? "") } + objects.filter { !isVirtual($0[1].text ?? "") }
        try connection.transaction {
            for object in ordered {
                guard let name = object[0].text, let sql = object[1].text, !name.hasPrefix("sqlite_") else { continue }
                let known = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = ?", [.text(name)])
                if known == nil { try connection.execute(sql) }
            }
            for row in try store.rows(Self.numbers) { try connection.run(StoreCreation.entityNumber, row) }
            guard objects.contains(where: { $0[0].text == Self.statistics }) else { return }
            // ANALYZE of the schema table creates an empty `sqlite_stat1`; a CREATE statement cannot.
            try connection.execute("ANALYZE sqlite_master")
        }
    }

    private static func emptySchema() throws -> Connection {
        let connection = try Connection(path: ":memory:", mode: .create)
        connection.allowSchemaWrites()
        try FunctionRegistry.register(on: connection)
        try ExternalContents(folder: "").register(on: connection)
        return connection
    }

    /// Lists the statements of the next step, and brings the schema to its end.
    ///
    /// - Parameters:
    ///   - step: The step, which starts from the present schema.
    ///   - dropping: The names of the app's objects that the run drops.
    /// - Returns: The statements.
    /// - Throws: ``FerryError`` if the step cannot run on this schema, ``DatabaseError`` if SQLite cannot make it.
    package mutating func statements(of step: StepPlan, dropping: Set<String>) throws -> StepStatements {
        let planning = try StepPlanning(step, on: connection, dropping: dropping)
        let program = try planning.program()
        let indexes = ValueIndexes(listedFor: planning.source, on: connection)
        let sql = StepSQL(
            step, source: planning.source, destination: planning.destination, program: program, indexes: indexes,
            wholeJoinTables: try program.joinTablesCopiedWhole(
                to: planning.destination, on: connection, schema: "main"))
        var statements = StepStatements()
        if step.keepsTables {
            statements.add(texts: planning.appObjects.dropStatements, .rows, "objects of the app that the run drops")
            try planning.appObjects.drop(on: connection)
        } else {
            statements.addTables(of: planning.destination, hasModelCache: hasModelCache)
            statements.addVersion(hasModel: hasModel, nil)
        }
        if step.mode == .copy {
            statements.add(
                texts: ScratchTables.creation(for: program, of: step.resolved), nil, "associations and links")
        }
        try statements.addOperations(of: sql, hasModel: hasModel, indexes: indexes.takeListed)
        try run(statements.groups.flatMap(\.statements), of: step, in: planning.destination)
        return statements
    }

    /// Runs the statements that make the schema, and no other: only those on rows read the time.
    private mutating func run(_ made: [ProgramStatement], of step: StepPlan, in destination: StoreLayout) throws {
        if !step.keepsTables { connection = try Self.emptySchema() }
        for statement in made where statement.form == .schema { try connection.run(statement, now: 0) }
        guard !step.keepsTables else { return }
        try StoreCreation.writeEntityNumbers(of: destination, maximumKeys: [:], on: connection)
    }
}
