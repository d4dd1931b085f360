package import FerryBase
internal import FerryMapping
internal import FerryPlan
package import FerrySQLite
internal import FerryStore

/// The shared state of a step's run: the connection, both layouts, and the program.
final class StepContext {
    let step: StepPlan
    let connection: Connection
    let planning: StepPlanning
    let program: StepProgram
    let options: EngineOptions
    let progress: ProgressTable
    /// The statements that follow from the plan.
    let sql: StepSQL
    /// Whether each unit commits; in the store they are parts of one transaction.
    let commitsUnits: Bool
    /// Whether the statements of tables that stay have not all run.
    var isAltering = false
    private let pageSize: Int64
    private var statements: [String: Statement] = [:]
    private var evidence: PolicyEvidence?
    let notes: SourceNotes
    /// Opens a connection to the source only, under the same schema name, for the thread that reads ahead.
    let openSource: () throws -> Connection

    /// The layout with the actual table and column names of the source store.
    var source: StoreLayout { planning.source }
    var destination: StoreLayout { planning.destination }
    /// The name of the old version's database before the first operation.
    var sourceName: String { planning.storeName }

    init(
        _ run: StepRun, _ planning: StepPlanning, _ program: StepProgram, on connection: Connection,
        openSource: @escaping () throws -> Connection
    ) throws {
        (step, options) = (run.step, run.options)
        (self.planning, self.program, self.connection, self.openSource) = (planning, program, connection, openSource)
        commitsUnits = if case .file = run.place { true } else { false }
        notes = try SourceNotes(step, planning, program, on: connection)
        progress = try ProgressTable(on: connection, inStore: !commitsUnits)
        sql = StepSQL(
            step, source: planning.source, destination: planning.destination, program: program,
            indexes: ValueIndexes(of: planning.source, on: connection),
            wholeJoinTables: try program.joinTablesCopiedWhole(
                to: planning.destination, on: connection, schema: "source"))
        pageSize = try connection.integer("PRAGMA main.page_size") ?? 4096
    }

    /// Whether the rows phase does not use scratch: no mapping has associations, `unique` or an iteration.
    var carriesPlainRows: Bool {
        !program.fills.storesAssociations && step.resolved.entityMappings.allSatisfy(\.isOneToOne)
    }

    func isAssociated(_ mapping: ResolvedEntityMapping) -> Bool {
        program.fills.keys[mapping.position].storesAssociations
    }

    /// The source rows that entity mappings read, if they are exactly known.
    func rows(of mappings: [ResolvedEntityMapping]) -> Int64? {
        guard let rows = step.rows, !mappings.contains(where: { rows.isEstimated($0.source) }) else { return nil }
        return mappings.reduce(0) { $0 + rows.count(of: $1.source) }
    }

    /// The bytes of the pages that this connection has written so far; reading the number needs no statement.
    var writtenBytes: Int64 { connection.pagesWritten * pageSize }

    /// The effects of policies, once all of them have run.
    func policyEvidence() throws -> PolicyEvidence {
        let evidence = try evidence ?? PolicyRun.evidence(in: self)
        self.evidence = evidence
        return evidence
    }

    // MARK: Cached statements

    /// Policies of ordinary size have fewer statements.
    private static let statementLimit = 256

    /// A cached statement; the caller must finish with it before other code can prepare or run the same SQL.
    func cached(_ sql: String) throws(DatabaseError) -> Statement {
        if let known = statements[sql] { return known }
        if statements.count >= Self.statementLimit { statements.removeAll() }
        let statement = try connection.prepare(sql)
        statements[sql] = statement
        return statement
    }

    func run(_ sql: String, _ values: [Value]) throws(DatabaseError) {
        let statement = try cached(sql)
        try statement.bind(values)
        try statement.run()
    }

    /// The first column of the first row, or NULL if there is no row.
    func single(_ sql: String, _ values: [Value]) throws(DatabaseError) -> Value {
        let statement = try cached(sql)
        try statement.bind(values)
        defer { statement.reset() }
        return try statement.step() ? statement.value(0) : .null
    }

    func isSource(_ key: Int64, of mapping: ResolvedEntityMapping) throws -> Bool {
        try single(
            "SELECT Z_PK FROM source.\(sql.sourceTable(of: mapping)) WHERE Z_PK = ?1 AND Z_ENT = ?2",
            [.integer(key), .integer(sql.sourceNumber(of: mapping))]) != .null
    }

    /// Reads the first row of a cached statement for a key; nil if there is no row.
    func first<Result>(_ sql: String, for key: Int64, _ read: (Statement) throws -> Result) throws -> Result? {
        let statement = try cached(sql)
        try statement.bind(key, at: 1)
        defer { statement.reset() }
        return try statement.step() ? try read(statement) : nil
    }

    func forEachRow(_ sql: String, for key: Int64, _ body: (Statement) throws -> Void) throws {
        let statement = try cached(sql)
        try statement.bind(key, at: 1)
        defer { statement.reset() }
        while try statement.step() { try body(statement) }
    }

    // MARK: Units

    /// Runs one unit: SQLite commits its work and its progress record together, or neither.
    func unit(_ body: () throws -> Void) throws {
        guard commitsUnits else { return try body() }
        // IMMEDIATE would lock scratch for writing as well, and each commit would then cover two files.
        try connection.transaction {
            try body()
            // If the body has not written to scratch, the commit covers one file only.
            let wroteScratch = connection.isWriting("scratch")
            try progress.countUnit(writesScratch: wroteScratch)
            if wroteScratch { try ScratchDatabase.setLastUnit(progress.lastUnit(), on: connection) }
        }
        options.stop.unitIsDone()
    }

    /// Runs work as one unit, unless the progress table says that an earlier call has finished it.
    func once(_ unit: String, phase: Phase, subject: String?, _ body: () throws -> Void) throws {
        var entry = try progress.entry(unit)
        guard !entry.isDone else { return }
        try check()
        options.progress?(ProgressUpdate(phase: phase, subject: subject))
        let start = Clock.nanoseconds()
        try self.unit {
            try body()
            entry.isDone = true
            try progress.save(entry, for: unit)
        }
        try check(after: Clock.nanoseconds(since: start))
    }

    /// Checks for a stop; only between units that commit work may rest, since the store is locked.
    private func check(after worked: UInt64 = 0) throws(FerryError) {
        if commitsUnits { try options.stop.checkBetweenUnits(after: worked) } else { try options.stop.check() }
    }
}

/// What a report says of rows that no operation counts; read before the first one, as long as the source is there.
struct SourceNotes {
    /// The rows of entities that the new version does not have.
    private(set) var unmapped: [(entity: String, rows: Int64)] = []
    /// The changes of the history that the step leaves out.
    private(set) var droppedHistory: [(entity: String, rows: Int64)] = []

    fileprivate init(_ step: StepPlan, _ planning: StepPlanning, _ program: StepProgram, on connection: Connection)
        throws
    {
        for entity in step.resolved.droppedEntities {
            guard let number = planning.source.number(of: entity), let table = planning.source.table(of: entity) else {
                continue
            }
            let rows =
                try step.sourceRows?[entity]
                ?? connection.integer(
                    "SELECT count(*) FROM \(planning.storeName).\(table.name) WHERE Z_ENT = ?", [.integer(number)]) ?? 0
            if rows > 0 { unmapped.append((entity, rows)) }
        }
        guard let changes = planning.appObjects.history?.changes else { return }
        // Their objects get new keys or lose their entity, so that their object IDs are not valid any more.
        let dropped = program.moves.droppedHistory
        if dropped.isEmpty { return }
        let names = planning.source.entitiesByNumber
        let rows = try connection.rows(
            """
            SELECT ZENTITY, count(*) FROM \(planning.storeName).\(changes.quotedName) GROUP BY ZENTITY ORDER BY ZENTITY
            """)
        for row in rows {
            let number = row[0].integer ?? 0
            guard dropped.contains(number) else { continue }
            droppedHistory.append((names[number] ?? "entity \(number)", row[1].integer ?? 0))
        }
    }
}

/// The settings of a run: chunk size, memory, hooks, and the caller's decisions on damage.
package struct EngineOptions: Sendable {
    package var chunkSize: ChunkSize
    /// The byte and time limits of a chunk of automatic size.
    package var chunkBytes = 4 << 20
    package var chunkNanoseconds: UInt64 = 500_000_000
    /// The largest value that is written with its chunk; if nil, ``memoryLimit`` and ``chunkBytes`` decide.
    package var valueLimit: Int?
    /// `now()`, in seconds since 2001-01-01 UTC; fixed once per run.
    package var now: Double
    package var trace: TraceHook?
    package var progress: ProgressHook?
    package var stop: StopRequest
    /// Bytes that the process may hold; a value that must be whole in memory takes twice its size.
    package var memoryLimit = MemoryBudget.defaultLimit
    /// Bytes that models, plan and statements hold; see ``MemoryBudget``.
    package var memoryHeld = 0
    package var vfs: VFS?
    /// The folder of external-storage files; nil for the `_SUPPORT` folder beside the source.
    package var externalFolder: String?
    /// The rows of each pass over the source after which a rehearsal goes on with what follows; nil for all.
    package var sample: Int64?
    /// Names of the app's own schema objects that the first step leaves out.
    package var dropping: Set<String> = []
    /// The treatment of rows that no rule repairs.
    package var damaged = DamagedRows.keep
    /// Damage that a scan of this run has found in the source; nil if no scan ran.
    package var sourceDamage: [StoreDamage]?

    /// Shares of the memory limit, bounded by the budget's least and most limits.
    package var memory: MemoryBudget {
        MemoryBudget(limit: min(max(memoryLimit, MemoryBudget.least), MemoryBudget.most), held: memoryHeld)
    }

    package init(
        chunkSize: ChunkSize, now: Double, trace: TraceHook? = nil, progress: ProgressHook? = nil,
        stop: StopRequest = StopRequest(), vfs: VFS? = nil, externalFolder: String? = nil
    ) {
        (self.chunkSize, self.now, self.trace, self.progress) = (chunkSize, now, trace, progress)
        (self.stop, self.vfs, self.externalFolder) = (stop, vfs, externalFolder)
    }

    /// The largest value, and the largest row, that is written with its chunk, in bytes (`SQLITE_LIMIT_LENGTH`).
    ///
    /// A statement holds a value and its new row, so the limit is half of a chunk's bytes. A sixteenth of the memory
    /// limit leaves room for other work. Rows of ordinary size stay far below the smallest limit.
    package var valueBytes: Int { valueLimit ?? max(1 << 16, min(chunkBytes / 2, memoryLimit / 16)) }

    /// Registers the SQL functions that statements call on a connection, for a source store at a path.
    func registerFunctions(forStore path: String, on connection: Connection) throws(DatabaseError) {
        try FunctionRegistry.register(on: connection)
        try ExternalContents(
            folder: externalFolder ?? ExternalData.folder(forStore: path), dropsMissing: damaged == .drop,
            limit: wholeValueBytes
        ).register(on: connection)
    }

    /// The largest value that may be whole in memory: SQLite holds the value and its new row at the same time.
    package var wholeValueBytes: Int { max(valueBytes, memoryLimit / 2) }
}
