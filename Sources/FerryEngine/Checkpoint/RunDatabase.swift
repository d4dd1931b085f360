internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
package import FerrySQLite
internal import FerryStore

/// The connection of a run, with the destination as main database and scratch and source attached.
///
/// SQLite commits destination and scratch together. With `journal_mode=TRUNCATE` and `synchronous` on for both, it
/// writes a super-journal, so rows, progress, associations and lookups are one atomic commit.
struct RunDatabase {
    let run: StepRun
    let file: StepFile

    /// Pages of a chunk should stay in the cache until its commit: each spilled page costs a sync of the journal.
    private static let rowsCaches: KeyValuePairs = ["main": 5, "scratch": 2, "source": 2, "temp": 1]

    /// Cache shares if the rows phase does not use scratch: chunks of several mappings may be larger.
    private static let plainRowsCaches: KeyValuePairs = ["main": 8, "scratch": 1, "source": 9, "temp": 1]

    /// A sorter is as large as the main cache; small sorters are faster than large ones.
    static let sortingCaches: KeyValuePairs = ["main": 3, "scratch": 3, "source": 3, "temp": 2]

    /// Building an index reads the new store only; SQLite writes sorted runs twice if one merge cannot take all.
    static let indexCaches: KeyValuePairs = ["main": 10, "scratch": 1, "source": 1, "temp": 1]

    /// The cache of the read-ahead connection, in KiB: it reads each row once, in key order.
    private static let readerCache = 200

    /// Bytes that a chunk may read more than once from the cache: three quarters of the source's cache.
    static func reusedSourceBytes(_ context: StepContext) -> Int {
        // The main share counts twice: for its cache and for a sorter.
        let caches = context.options.memory.workingCaches
        return (context.carriesPlainRows ? caches / 27 * 9 : caches / 15 * 2) / 4 * 3
    }

    static func shareCaches(_ shares: KeyValuePairs<String, Int>, _ context: StepContext) throws(DatabaseError) {
        try context.connection.shareCaches(context.options.memory.workingCaches, among: shares)
    }

    /// Opens or creates a run; the flag says whether an earlier call has finished a unit.
    func open() throws -> (StepContext, resumed: Bool) {
        let connection = try connect(file.destinationPath)
        try connection.syncFully()
        connection.abandonStatements(on: run.options.stop)
        try connection.attach(path: file.scratchPath, as: "scratch")
        try attachSource(to: connection)
        try configure(connection)
        let planning = try StepPlanning(
            run.step, on: connection, named: "source", dropping: run.options.dropping)
        let damage =
            run.step.mode == .inPlace
            ? []
            : try run.options.sourceDamage
                ?? StoreDamage.brokenLinks(in: planning.source, on: connection, schema: "source")
        let program = try planning.program(damage: damage)
        let known = try ProgressTable.exists(on: connection)
        if known {
            try checkAgreement(on: connection)
        } else {
            if !run.step.keepsTables { try StoreCreation.prepare(connection) }
            try begin(connection, to: planning.destination, program)
        }
        try prepareForRows(connection)
        let context = try StepContext(run, planning, program, on: connection, openSource: openSource)
        try Self.shareCaches(context.carriesPlainRows ? Self.plainRowsCaches : Self.rowsCaches, context)
        return (context, try known && context.progress.lastUnit() > 0)
    }

    /// The context of a step in the store, within its transaction.
    static func inStore(_ run: StepRun, _ connection: Connection) throws -> StepContext {
        let planning = try StepPlanning(run.step, on: connection, dropping: run.options.dropping)
        let program = try run.found ?? planning.program()
        try run.options.registerFunctions(forStore: connection.path, on: connection)
        try ProgressTable.create(on: connection, inStore: true)
        return try StepContext(run, planning, program, on: connection) {
            preconditionFailure("a step in the store fills no table")
        }
    }

    /// Drops the progress table, and deletes the journal beside the destination, whose main file then has all of it.
    func finish() throws {
        let connection = try connect(file.destinationPath)
        try connection.syncFully()
        // SQLite deletes this connection's journal at the commit, and only EXTRA syncs the folder then. Otherwise a
        // power cut could restore the journal, and with it the progress table, in a step that is recorded as finished.
        try connection.execute("PRAGMA main.synchronous = EXTRA")
        try attachSource(to: connection)
        try ProgressTable.drop(on: connection)
        guard try connection.setPragma("journal_mode", to: "DELETE")?.text == "delete" else {
            throw FerryError(.internalError, "The journal mode of \(file.destinationPath) could not be set to DELETE.")
        }
    }

    // MARK: Opening

    private func attachSource(to connection: Connection) throws {
        try connection.attach(
            path: file.sourcePath, as: "source", mode: file.isSourcePrivate ? .unlocked : .readOnly)
    }

    private func prepareForRows(_ connection: Connection) throws {
        // From here on the connection reads and writes rows: no row may take all memory.
        connection.limit(.length, run.options.wholeValueBytes)
        try run.options.registerFunctions(forStore: file.sourcePath, on: connection)
    }

    /// Opens a connection to the source only, for another thread; no program writes the source during the run.
    private func openSource() throws -> Connection {
        let connection = try connect(":memory:")
        try attachSource(to: connection)
        try connection.execute(
            "PRAGMA query_only = 1; PRAGMA temp_store = FILE; PRAGMA source.cache_size = -\(Self.readerCache)")
        try prepareForRows(connection)
        return connection
    }

    private func connect(_ path: String) throws -> Connection {
        try Connection(path: path, mode: .create, vfs: run.options.vfs, trace: run.options.trace)
    }

    private func configure(_ connection: Connection) throws {
        // Zeroing deleted content would write every page of the temporary tables twice. Of the destination SQLite overwrites
        // it only in pages that it writes anyway, as in Core Data.
        try connection.execute("PRAGMA secure_delete = OFF; PRAGMA main.secure_delete = FAST")
        try connection.execute("PRAGMA temp_store = FILE")
        try connection.keepNoJournal(in: "temp")
        for schema in ["main", "scratch"] {
            try connection.execute("PRAGMA \(schema).journal_mode = TRUNCATE")
            try connection.execute("PRAGMA \(schema).synchronous = FULL")
            // No other program opens these files during the run. Under an exclusive lock SQLite keeps the journal open;
            // otherwise it would create the journal anew for each commit and sync its name each time. The lock lasts as
            // long as the connection, and an object that a policy keeps can hold the connection open beyond the run.
            if !run.step.resolved.hasPolicies {
                try connection.execute("PRAGMA \(schema).locking_mode = EXCLUSIVE")
            }
        }
        try AtomicCommit.require(of: ["main", "scratch"], on: connection)
    }

    // MARK: Beginning

    /// Creates all tables in one transaction: a destination is either as it was or has its progress table.
    private func begin(_ connection: Connection, to destination: StoreLayout, _ program: StepProgram) throws {
        try connection.transaction("BEGIN IMMEDIATE") {
            try ProgressTable.create(on: connection)
            if !run.step.keepsTables { try createStore(of: destination, on: connection) }
            try createScratch(program, on: connection)
        }
    }

    private func createStore(of destination: StoreLayout, on connection: Connection) throws {
        let resolved = run.step.resolved
        let metadata = try StoreMetadata.read(from: connection, schema: "source").restamped(for: resolved.destination)
        let hasModelCache = try ModelCache.hasTable(connection, schema: "source")
        try StoreCreation.createTables(of: destination, on: connection, hasModelCache: hasModelCache)
        try StoreCreation.writeEntityNumbers(of: destination, maximumKeys: [:], on: connection)
        try metadata.write(to: connection)
        // Core Data leaves both at 0; other values belong to the app.
        for name in ["user_version", "application_id"] {
            guard let number = try connection.pragma(name, in: "source")?.integer, number != 0 else { continue }
            try connection.setPragma(name, to: number)
        }
        if try ModelCache.hasModel(connection, schema: "source") {
            try ModelCache.write(resolved.destination.model, on: connection)
        }
    }

    private func createScratch(_ program: StepProgram, on connection: Connection) throws {
        let resolved = run.step.resolved
        try dropScratch(connection)
        try ScratchDatabase.createUnit(on: connection)
        guard run.step.mode == .copy else { return }
        for statement in ScratchTables.creation(for: program, of: resolved) { try connection.execute(statement) }
        if resolved.hasPolicies { try ScratchDatabase.createPolicyTables(on: connection) }
        let lookups = resolved.entityMappings.filter { !$0.unique.isEmpty }.map { ScratchDatabase.lookup(for: $0) }
        try ScratchDatabase.createLookups(Set(lookups).sorted(), on: connection)
    }

    /// Drops the scratch tables of a destination that no longer exists.
    private func dropScratch(_ connection: Connection) throws {
        let names = try connection.rows(
            "SELECT name FROM scratch.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for name in names.compactMap({ $0[0].text }) {
            try connection.execute("DROP TABLE scratch.\(Connection.quoted(name))")
        }
    }

    /// Throws `.runDiffers` unless destination and scratch record the same last unit: they belong to one run only then.
    private func checkAgreement(on connection: Connection) throws {
        let recorded = try ProgressTable(on: connection).lastScratchUnit()
        guard try ScratchDatabase.lastUnit(on: connection) == recorded else {
            throw FerryError(
                .runDiffers, "The scratch database in \(file.folder) does not belong to the new store next to it.",
                remedy: "Start the run over with \(on: .restart).")
        }
    }
}

/// Atomic commits of several attached databases: SQLite joins their journals by a super-journal.
package enum AtomicCommit {
    /// Checks that SQLite will write a super-journal; call it after every ATTACH, before the first write.
    ///
    /// With another journal mode, or with `synchronous=OFF` on a file, a crash could keep rows without their progress.
    ///
    /// - Throws: ``FerryError`` `.internalError` with the name of the database that has no such journal.
    package static func require(of schemas: [String], on connection: Connection) throws {
        for schema in schemas {
            let journal = try connection.value("PRAGMA \(schema).journal_mode")
            let isSynchronous = try connection.integer("PRAGMA \(schema).synchronous") ?? 0 >= 1
            guard journal == .text("truncate"), isSynchronous else {
                throw FerryError(
                    .internalError, "SQLite cannot use a crash-safe journal for the \(schema) database.",
                    remedy: "Use a file system that supports file locking.")
            }
        }
    }
}

/// The table of finished units, in the destination itself, so that SQLite commits it together with the rows.
///
/// Only the unit itself can interpret its `mark`, a watermark: for a walk over keys, the last finished key. The row
/// named `""` counts all units and stores the last unit that wrote to scratch. A step in the store leaves nothing for a
/// later call, so that its table is a temporary one.
struct ProgressTable {
    private let connection: Connection
    private let name: String
    private let record: Statement
    private let advance: Statement

    struct Entry {
        var mark: Int64 = 0
        var isDone = false
        var chunks: Int64 = 0
        var read: Int64 = 0
        var written: Int64 = 0
        var dropped: Int64 = 0
        var merged: Int64 = 0
        var created: Int64 = 0
    }

    /// A table name that the source does not use: the same in every call, since the source does not change in a run.
    private static func name(on connection: Connection) throws(DatabaseError) -> String {
        var (name, number) = ("ferry_progress", 0)
        while try connection.integer("SELECT 1 FROM source.sqlite_master WHERE name = ? COLLATE NOCASE", [.text(name)])
            != nil
        {
            number += 1
            name = "ferry_progress_\(number)"
        }
        return name
    }

    /// Creates the table; like all functions here it needs the attached source.
    static func create(on connection: Connection, inStore: Bool = false) throws(DatabaseError) {
        let name = try qualifiedName(on: connection, inStore: inStore)
        try connection.execute(
            """
            CREATE TABLE \(name) (
                unit TEXT PRIMARY KEY, mark INTEGER, done INTEGER, chunks INTEGER, read INTEGER, written INTEGER,
                dropped INTEGER, merged INTEGER, created INTEGER
            ) WITHOUT ROWID
            """)
        try connection.execute("INSERT INTO \(name) VALUES ('', 0, 0, 0, 0, 0, 0, 0, 0)")
    }

    private static func qualifiedName(on connection: Connection, inStore: Bool) throws(DatabaseError) -> String {
        inStore ? "temp.ferry_progress" : "main.\(try name(on: connection))"
    }

    static func exists(on connection: Connection) throws(DatabaseError) -> Bool {
        let name = try name(on: connection)
        return try connection.integer(
            "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?", [.text(name)]) != nil
    }

    static func drop(on connection: Connection) throws(DatabaseError) {
        try connection.execute("DROP TABLE IF EXISTS main.\(name(on: connection))")
    }

    init(on connection: Connection, inStore: Bool = false) throws(DatabaseError) {
        self.connection = connection
        let name = try Self.qualifiedName(on: connection, inStore: inStore)
        self.name = name
        record = try connection.prepare("REPLACE INTO \(name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        // `mark` counts the units, `read` is the number of the last unit that wrote to scratch.
        advance = try connection.prepare(
            "UPDATE \(name) SET mark = mark + 1, read = CASE WHEN ? THEN mark + 1 ELSE read END WHERE unit = ''"
        )
    }

    /// Drops the table of a step in the store.
    func drop() throws(DatabaseError) { try connection.execute("DROP TABLE \(name)") }

    func entry(_ unit: String) throws(DatabaseError) -> Entry {
        let row = try connection.rows(
            "SELECT mark, done, chunks, read, written, dropped, merged, created FROM \(name) WHERE unit = ?",
            [.text(unit)]
        ).first
        guard let row else { return Entry() }
        // No run reaches these counts. If a file holds larger ones, verification reports counts that do not balance.
        let numbers = row.map { min(max($0.integer ?? 0, 0), Int64.max / 4) }
        return Entry(
            mark: row[0].integer ?? 0, isDone: numbers[1] != 0, chunks: numbers[2], read: numbers[3],
            written: numbers[4],
            dropped: numbers[5], merged: numbers[6], created: numbers[7])
    }

    /// Saves a unit's entry; call it inside the transaction of the unit's work.
    func save(_ entry: Entry, for unit: String) throws(DatabaseError) {
        try record.bind([
            .text(unit), .integer(entry.mark), .integer(entry.isDone ? 1 : 0), .integer(entry.chunks),
            .integer(entry.read), .integer(entry.written), .integer(entry.dropped), .integer(entry.merged),
            .integer(entry.created),
        ])
        try record.run()
    }

    /// Changes a unit's entry; call it inside the transaction of the unit's work.
    func change(_ unit: String, _ body: (inout Entry) -> Void) throws(DatabaseError) {
        var entry = try entry(unit)
        body(&entry)
        try save(entry, for: unit)
    }

    /// Counts one more unit; call it once in each unit's transaction.
    func countUnit(writesScratch: Bool) throws(DatabaseError) {
        try advance.bind(Int64(writesScratch ? 1 : 0), at: 1)
        try advance.run()
    }

    func lastScratchUnit() throws(DatabaseError) -> Int64 {
        try connection.integer("SELECT read FROM \(name) WHERE unit = ''") ?? 0
    }

    func lastUnit() throws(DatabaseError) -> Int64 {
        try connection.integer("SELECT mark FROM \(name) WHERE unit = ''") ?? 0
    }

    /// The entries of units whose names begin with a prefix, with the rest of each name.
    func entries(_ word: String) throws(DatabaseError) -> [(name: String, entry: Entry)] {
        let units = try connection.rows(
            "SELECT unit FROM \(name) WHERE substr(unit, 1, ?1) = ?2 ORDER BY unit",
            [.integer(Int64(word.unicodeScalars.count)), .text(word)])
        var entries: [(name: String, entry: Entry)] = []
        for unit in units.compactMap(\.[0].text) {
            entries.append((String(unit.dropFirst(word.count)), try entry(unit)))
        }
        return entries
    }

    func totalChunks() throws(DatabaseError) -> Int {
        Int(try connection.integer("SELECT sum(chunks) FROM \(name)") ?? 0)
    }
}
