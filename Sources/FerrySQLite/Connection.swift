internal import CSQLite
package import FerryBase

/// What becomes of statements before they run, for a list of them.
package enum StatementEvent: Sendable {
    case statement(String)
    case binding(String, name: String, Value)
}

package typealias StatementHook = @Sendable (StatementEvent) -> Void

/// A connection to an SQLite database; belongs to one thread at a time.
///
/// Statements hold their connection strongly, so a cache of statements belongs to a reader or writer, never here.
package final class Connection {
    package enum Mode: Sendable {
        case readOnly
        case readWrite
        case create
        /// Takes no locks and ignores the `-wal`: only for a file that cannot change.
        case immutable
        /// Takes no locks and reads the `-wal`, where there is one, by an index in memory: only for files that cannot
        /// change, in a folder that may take no new ones.
        case unlocked
    }

    package let path: String
    package let handle: OpaquePointer
    private let trace: TraceHook?
    /// Held so that it stays registered while this connection is open.
    private let vfs: VFS?
    /// What a function of ours threw last, until it is taken.
    var functionError: (any Error)?
    /// Whether the function that reads rows is known to it.
    var knowsReading = false
    /// Set while a request for a stop may end statements.
    var interrupter: StopRequest.Interrupter?
    /// Receives each statement when it is prepared, or run at once, and what is bound to its named parameters.
    package var onStatement: StatementHook?

    /// Opens a database file.
    ///
    /// - Throws: ``DatabaseError``; opening reads nothing, so "not a database" comes with the first statement.
    ///   ``DatabaseError/isLibraryTooOld`` where the SQLite at hand lacks what Ferry uses.
    package init(path: String, mode: Mode, vfs: VFS? = nil, trace: TraceHook? = nil) throws(DatabaseError) {
        try SQLiteLibrary.check()
        self.path = path
        self.trace = trace
        self.vfs = vfs
        var flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        switch mode {
        case .readOnly, .immutable, .unlocked: flags |= SQLITE_OPEN_READONLY
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        }
        var database: OpaquePointer?
        let code = sqlite3_open_v2(try Connection.uri(path: path, mode: mode), &database, flags, vfs?.name)
        guard let database, code == SQLITE_OK else {
            let message = database.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(database)
            throw DatabaseError(code: code, message: message)
        }
        handle = database
        // The store's own triggers call functions that only Apple registers; nothing in a file may call ours.
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        // As Apple's SQLite does it by itself: what writes to the schema or to shadow tables has to say so.
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        sqlite3_busy_timeout(handle, 0)
        if try Connection.indexesLogInMemory(path, mode) { try execute("PRAGMA locking_mode = EXCLUSIVE") }
    }

    deinit {
        interrupter?.end()
        sqlite3_close_v2(handle)
    }

    /// The file URI of a path, for `sqlite3_open_v2` and ATTACH.
    package static func uri(path: String, mode: Mode) throws(DatabaseError) -> String {
        var escaped = ""
        for scalar in path.unicodeScalars {
            escaped += ["%", "?", "#"].contains(scalar) ? "%" + String(scalar.value, radix: 16) : String(scalar)
        }
        let options =
            switch mode {
            case .readWrite, .create: ""
            case .readOnly: "?mode=ro"
            // Without locks, since the exclusive one that an index in memory requires cannot be had on such a file.
            case .unlocked where try indexesLogInMemory(path, mode): "?mode=ro&vfs=unix-none"
            case .immutable, .unlocked: "?mode=ro&immutable=1"
            }
        // Two slashes at the start would be read as a host name.
        let scheme = path.hasPrefix("//") ? "file://" : "file:"
        return scheme + escaped + options
    }

    /// Whether the index of a log is kept in memory instead of in a `-shm`: with exclusive locking that is set before the
    /// first access to the file.
    static func indexesLogInMemory(_ path: String, _ mode: Mode) throws(DatabaseError) -> Bool {
        guard mode == .unlocked else { return false }
        do throws(FerryError) {
            return (try FileLayer().attributesIfPresent(path + "-wal")?.size ?? 0) > 0
        } catch {
            // Passing over a log would show an older state.
            throw DatabaseError(code: SQLITE_CANTOPEN, message: error.message)
        }
    }

    /// Prepares one statement, with values for its first parameters.
    package func prepare(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> Statement {
        let statement = try Statement(sql, on: self)
        try statement.bind(values)
        return statement
    }

    /// Runs SQL text of one or more statements that return no rows of interest.
    package func execute(_ sql: String) throws(DatabaseError) {
        onStatement?(.statement(sql))
        let start = isTraced ? Clock.nanoseconds() : 0
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        if isTraced { report(sql, nanoseconds: Clock.nanoseconds(since: start)) }
        guard code == SQLITE_OK else { throw error(code, sql: sql) }
    }

    /// Runs one statement with bound values to its end.
    package func run(_ sql: String, _ values: [Value] = []) throws(DatabaseError) {
        try prepare(sql, values).run()
    }

    /// The first column of the first row, or nil when there is no row.
    package func value(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> Value? {
        let statement = try prepare(sql, values)
        return try statement.step() ? statement.value(0) : nil
    }

    package func integer(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> Int64? {
        try value(sql, values)?.integer
    }

    /// All rows, owned: only for tables whose size does not depend on the store's rows.
    package func rows(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> [[Value]] {
        let statement = try prepare(sql, values)
        var rows: [[Value]] = []
        while try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.value($0) })
        }
        return rows
    }

    /// Runs the body in a transaction that commits when it returns and is rolled back when it throws.
    package func transaction<Result>(_ begin: String = "BEGIN", _ body: () throws -> Result) throws -> Result {
        try execute(begin)
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // SQLite may have rolled back by itself (disk full, I/O error); the first error is the one to report.
            if isInTransaction { _ = sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE.
    package var changes: Int64 { sqlite3_changes64(handle) }

    /// Whether the transaction at work has begun to write to a database (`sqlite3_txn_state`).
    package func isWriting(_ schema: String) -> Bool { sqlite3_txn_state(handle, schema) == SQLITE_TXN_WRITE }

    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Keeps closing this connection from checkpointing the `-wal` (`SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE`), or lets it.
    package func keepWriteAheadLogOnClose(_ isKept: Bool = true) {
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isKept ? 1 : 0)
    }

    package func error(_ code: Int32, sql: String? = nil) -> DatabaseError {
        DatabaseError(
            code: sqlite3_extended_errcode(handle) == SQLITE_OK ? code : sqlite3_extended_errcode(handle),
            message: String(cString: sqlite3_errmsg(handle)), sql: sql)
    }

    func report(_ sql: String, nanoseconds: UInt64) {
        trace?(TraceEvent(kind: .statement, text: sql, nanoseconds: nanoseconds))
    }

    var isTraced: Bool { trace != nil }
}
