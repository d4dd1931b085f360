package import FerryBase
internal import FerryMapping
internal import FerryPlan
package import FerrySQLite
package import FerryStore

/// What everything in a step's run shares: the connection, both layouts, and what the step does.
final class StepContext {
    let step: StepPlan
    let connection: Connection
    /// The names that the source store really has.
    let source: StoreLayout
    /// The names of the new store.
    let destination: StoreLayout
    let program: StepProgram
    let options: EngineOptions
    let progress: ProgressTable
    private let pageSize: Int64
    private var statements: [String: Statement] = [:]
    /// Opens the source alone, under the same name, for a thread that reads while this one writes.
    let openSource: () throws -> Connection

    init(
        step: StepPlan, connection: Connection, source: StoreLayout, destination: StoreLayout,
        program: StepProgram, options: EngineOptions, openSource: @escaping () throws -> Connection
    ) throws(DatabaseError) {
        self.openSource = openSource
        self.program = program
        self.step = step
        self.connection = connection
        self.source = source
        self.destination = destination
        self.options = options
        progress = try ProgressTable(on: connection)
        pageSize = try connection.integer("PRAGMA main.page_size") ?? 4096
    }

    func mapping(named name: String) throws(FerryError) -> ResolvedEntityMapping {
        guard let mapping = step.resolved.entityMapping(named: name) else {
            throw FerryError(.internalError, "The plan names entity mapping \(name), which it does not hold.")
        }
        return mapping
    }

    /// Whether carrying the rows leaves scratch alone: each object becomes one at most, and none is looked up.
    var carriesPlainRows: Bool {
        !program.storesAssociations && step.resolved.entityMappings.allSatisfy(\.isOneToOne)
    }

    func isAssociated(_ mapping: ResolvedEntityMapping) -> Bool {
        program.keys[mapping.position].association != .none
    }

    func sourceTable(of mapping: ResolvedEntityMapping) throws(FerryError) -> String {
        try source.knownTable(of: mapping.source, in: "source")
    }

    func destinationTable(of mapping: ResolvedEntityMapping) throws(FerryError) -> String {
        try destination.knownTable(of: mapping.destination, in: "new")
    }

    func sourceNumber(of mapping: ResolvedEntityMapping) throws(FerryError) -> Int64 {
        try source.knownNumber(of: mapping.source, in: "source")
    }

    func destinationNumber(of mapping: ResolvedEntityMapping) throws(FerryError) -> Int64 {
        try destination.knownNumber(of: mapping.destination, in: "new")
    }

    // MARK: Memory

    /// The pages that this connection has written so far, in bytes; no statement is needed to know that.
    var writtenBytes: Int64 { connection.pagesWritten * pageSize }

    // MARK: Kept statements

    /// More than policies of ordinary size have.
    private static let statementLimit = 256

    /// A kept statement, for work that is over before anything else is done.
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

    /// The first column of the first row; NULL where there is none.
    func single(_ sql: String, _ values: [Value]) throws(DatabaseError) -> Value {
        let statement = try cached(sql)
        try statement.bind(values)
        defer { statement.reset() }
        return try statement.step() ? statement.value(0) : .null
    }

    /// Whether a key is that of a source object of a mapping.
    func isSource(_ key: Int64, of mapping: ResolvedEntityMapping) throws -> Bool {
        try single(
            "SELECT Z_PK FROM source.\(sourceTable(of: mapping)) WHERE Z_PK = ?1 AND Z_ENT = ?2",
            [.integer(key), .integer(sourceNumber(of: mapping))]) != .null
    }

    /// What a kept statement gives in its first row for a key; nil where it has none.
    func first<Result>(_ sql: String, for key: Int64, _ read: (Statement) throws -> Result) throws -> Result? {
        let statement = try cached(sql)
        try statement.bind(key, at: 1)
        defer { statement.reset() }
        return try statement.step() ? try read(statement) : nil
    }

    /// Hands out the rows that a kept statement gives for a key.
    func forEachRow(_ sql: String, for key: Int64, _ body: (Statement) throws -> Void) throws {
        let statement = try cached(sql)
        try statement.bind(key, at: 1)
        defer { statement.reset() }
        while try statement.step() { try body(statement) }
    }

    // MARK: Units

    /// Runs one unit: its work and its record are committed together, or neither.
    func unit(writesScratch: Bool, _ body: () throws -> Void) throws {
        // Not IMMEDIATE: that would lock scratch for writing too, and make every commit a commit of two files.
        try connection.transaction {
            try body()
            // Where nothing was stored there after all, the commit is one of one file.
            let writesScratch = writesScratch && connection.isWriting("scratch")
            try progress.countUnit(writesScratch: writesScratch)
            if writesScratch { try ScratchDatabase.setLastUnit(progress.lastUnit(), on: connection) }
        }
        options.stop.unitIsDone()
    }

    /// Runs a piece of work that is one unit by itself, unless an earlier call has finished it.
    func once(
        _ unit: String, phase: Phase, subject: String?, writesScratch: Bool = false, _ body: () throws -> Void
    ) throws {
        var entry = try progress.entry(unit)
        guard !entry.isDone else { return }
        try options.stop.check()
        options.progress?(ProgressUpdate(phase: phase, subject: subject))
        try self.unit(writesScratch: writesScratch) {
            try body()
            entry.isDone = true
            try progress.save(entry, for: unit)
        }
    }
}

/// How the engine runs: chunk size, and what it is given from above.
package struct EngineOptions: Sendable {
    package enum ChunkSize: Sendable, Hashable { case rows(Int), automatic }

    package var chunkSize: ChunkSize
    /// What an automatic chunk may write, and how long it may take.
    package var chunkBytes = 4 << 20
    package var chunkNanoseconds: UInt64 = 500_000_000
    /// The largest value that goes with its chunk; nil for what ``memoryLimit`` and ``chunkBytes`` allow.
    package var valueLimit: Int?
    /// `now()`, in seconds since 2001-01-01 UTC; fixed once per run.
    package var now: Double
    package var trace: TraceHook?
    package var progress: ProgressHook?
    /// Receives the statements before they run; for a list of them.
    package var onStatement: StatementHook?
    package var stop: StopRequest
    /// Bytes that the process may hold; a value that must be whole in memory costs twice its size of it.
    package var memoryLimit = MemoryBudget.defaultLimit
    /// Whether a verification is at work at the same time.
    package var isBesideVerification = false
    package var vfs: VFS?
    /// Where the files of values outside the database are; nil for the place beside the source.
    package var externalFolder: String?
    /// Names of objects that no model explains and that are to be left out of the first step's result.
    package var dropping: Set<String> = []
    /// What becomes of rows that no rule heals.
    package var damaged = DamagedRows.keep
    /// What was wrong with the source, as a scan of this run has found; nil before there was one.
    package var sourceDamage: [StoreDamage]?

    /// Shares of the limit; of the least one where values are held to less than that.
    package var memory: MemoryBudget {
        let whole = MemoryBudget(limit: min(max(memoryLimit, MemoryBudget.least), MemoryBudget.most))
        return (isBesideVerification ? whole.besideEachOther?.step : nil) ?? whole
    }

    package init(
        chunkSize: ChunkSize, now: Double, trace: TraceHook? = nil, progress: ProgressHook? = nil,
        stop: StopRequest = StopRequest(), vfs: VFS? = nil, externalFolder: String? = nil
    ) {
        (self.chunkSize, self.now, self.trace, self.progress) = (chunkSize, now, trace, progress)
        (self.stop, self.vfs, self.externalFolder) = (stop, vfs, externalFolder)
    }

    /// The largest value, and the largest row, that goes with its chunk, in bytes (`SQLITE_LIMIT_LENGTH`).
    ///
    /// A statement holds a value and the row that it becomes at the same time, so it is half of what a chunk may write;
    /// and a sixteenth of the memory at most, which leaves room for what runs beside it. Rows of ordinary size never
    /// come near the smallest limit.
    package var valueBytes: Int { valueLimit ?? max(1 << 16, min(chunkBytes / 2, memoryLimit / 16)) }

    /// Makes the functions that statements call known to a connection, for a source at a path.
    func registerFunctions(forStore path: String, on connection: Connection) throws(DatabaseError) {
        try FunctionRegistry.register(on: connection)
        try ExternalContents(
            folder: externalFolder ?? ExternalData.folder(forStore: path), dropsMissing: damaged == .drop,
            limit: wholeValueBytes
        ).register(on: connection)
    }

    /// The largest value that may be whole in memory: it is there twice, as itself and in the row that it becomes.
    package var wholeValueBytes: Int { max(valueBytes, memoryLimit / 2) }
}

extension StoreLayout {
    /// The name of an entity's table, which the store must have.
    func knownTable(of entity: String, in store: String) throws(FerryError) -> String {
        guard let table = table(of: entity) else { throw missing("table", of: entity, in: store) }
        return table.name
    }

    /// The number of an entity, which the store must have.
    func knownNumber(of entity: String, in store: String) throws(FerryError) -> Int64 {
        guard let number = number(of: entity) else { throw missing("number", of: entity, in: store) }
        return number
    }

    private func missing(_ what: String, of entity: String, in store: String) -> FerryError {
        FerryError(.internalError, "The \(store) store has no \(what) for entity \(entity).")
    }
}
