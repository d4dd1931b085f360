internal import CSQLite
package import FerryBase

/// A connection to an SQLite database; belongs to one thread at a time.
///
/// Statements hold their connection strongly, so a reader or writer owns a cache of statements, never the connection.
package final class Connection {
    package enum Mode: Sendable {
        case readOnly
        case readWrite
        case create
        /// Takes no locks and ignores the `-wal`: only for a file that cannot change.
        case immutable
        /// Takes no locks and reads a `-wal` with an index in memory: only for files that cannot change, in a read-only
        /// folder.
        case unlocked
    }

    package let path: String
    package let handle: OpaquePointer
    private let trace: TraceHook?
    /// Stays registered while this connection is open.
    private let vfs: VFS?
    /// The last error of a registered function, until ``takeFunctionError()``.
    var functionError: (any Error)?
    var hasReadingFunction = false
    /// Lives as long as the authorizer of ``keep(_:)`` refers to it.
    var keptTables: KeptTableNames?
    /// The stop requests that can interrupt statements now.
    var stops: [StopRequest] = []
    var interrupter: StopRequest.Interrupter?

    /// Opens a database file.
    ///
    /// - Throws: ``DatabaseError``, with ``DatabaseError/isLibraryTooOld`` if the SQLite library is too old. An open
    ///   reads nothing: "not a database" is an error of the first statement.
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
        // A file's schema must not call registered functions; a store's triggers only call functions of Apple.
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        // As with Apple's SQLite: writes to the schema or to shadow tables need ``allowSchemaWrites()``.
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        sqlite3_busy_timeout(handle, 0)
        if try Connection.indexesLogInMemory(path, mode) { try execute("PRAGMA locking_mode = EXCLUSIVE") }
    }

    deinit {
        interrupter?.end()
        sqlite3_close_v2(handle)
    }

    /// Returns the file URI of a path, for `sqlite3_open_v2` and ATTACH.
    package static func uri(path: String, mode: Mode) throws(DatabaseError) -> String {
        var escaped = ""
        for scalar in path.unicodeScalars {
            escaped += ["%", "?", "#"].contains(scalar) ? "%" + String(scalar.value, radix: 16) : String(scalar)
        }
        let options =
            switch mode {
            case .readWrite, .create: ""
            case .readOnly: "?mode=ro"
            // Without locks: an index in memory requires the exclusive lock, which a read-only file cannot give.
            case .unlocked where try indexesLogInMemory(path, mode): "?mode=ro&vfs=unix-none"
            case .immutable, .unlocked: "?mode=ro&immutable=1"
            }
        // Two slashes at the start would begin a host name.
        let scheme = path.hasPrefix("//") ? "file://" : "file:"
        return scheme + escaped + options
    }

    /// Whether the `-wal`'s index is in memory, which needs `locking_mode = EXCLUSIVE` before the first access.
    static func indexesLogInMemory(_ path: String, _ mode: Mode) throws(DatabaseError) -> Bool {
        guard mode == .unlocked else { return false }
        do throws(FerryError) {
            return (try FileLayer().attributesIfPresent(path + "-wal")?.size ?? 0) > 0
        } catch {
            // Without the `-wal`, a read would show an older state.
            throw DatabaseError(code: SQLITE_CANTOPEN, message: error.message)
        }
    }

    package func prepare(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> Statement {
        let statement = try Statement(sql, on: self)
        try statement.bind(values)
        return statement
    }

    /// Runs one or more statements, and ignores rows that they return.
    package func execute(_ sql: String) throws(DatabaseError) {
        let start = isTraced ? Clock.nanoseconds() : 0
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        if isTraced { report(sql, nanoseconds: Clock.nanoseconds(since: start)) }
        guard code == SQLITE_OK else { throw error(code, sql: sql) }
    }

    package func run(_ sql: String, _ values: [Value] = []) throws(DatabaseError) {
        try prepare(sql, values).run()
    }

    package func value(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> Value? {
        let statement = try prepare(sql, values)
        return try statement.step() ? statement.value(0) : nil
    }

    package func integer(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> Int64? {
        try value(sql, values)?.integer
    }

    /// Returns all rows: only for tables whose size does not depend on the number of objects.
    package func rows(_ sql: String, _ values: [Value] = []) throws(DatabaseError) -> [[Value]] {
        let statement = try prepare(sql, values)
        var rows: [[Value]] = []
        while try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.value($0) })
        }
        return rows
    }

    /// Reads the schema, at which SQLite rolls back a hot journal; a transaction sees this state from now on.
    package func readSchema() throws(DatabaseError) { _ = try integer("SELECT count(*) FROM sqlite_master") }

    /// Runs the body in a transaction; commits, or rolls back if the body throws.
    package func transaction<Result>(_ begin: String = "BEGIN", _ body: () throws -> Result) throws -> Result {
        try execute(begin)
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // SQLite may have rolled back already (disk full, I/O error); the first error is the one to throw.
            if isInTransaction { _ = sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }

    package var changes: Int64 { sqlite3_changes64(handle) }

    /// Whether the current transaction has begun to write to a database (`sqlite3_txn_state`).
    package func isWriting(_ schema: String) -> Bool { sqlite3_txn_state(handle, schema) == SQLITE_TXN_WRITE }

    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Sets whether the close of this connection skips the checkpoint (`SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE`).
    package func keepWriteAheadLogOnClose(_ isKept: Bool = true) {
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isKept ? 1 : 0)
    }

    /// The error of a failed call.
    ///
    /// An interrupt can end a call with any code and any message: a table-valued function whose declaration is
    /// interrupted fails with `SQLITE_ERROR`. Therefore each failure after a stop request is an interruption; a
    /// failure with another cause comes again when the work is resumed.
    package func error(_ code: Int32, sql: String? = nil) -> DatabaseError {
        let extended = sqlite3_extended_errcode(handle)
        // Some calls, such as a flush of the cache, set no error of the connection.
        let message = extended == SQLITE_OK ? sqlite3_errstr(code) : sqlite3_errmsg(handle)
        var error = DatabaseError(
            code: extended == SQLITE_OK ? code : extended, message: message.map { String(cString: $0) } ?? "", sql: sql)
        if error.primaryCode != SQLITE_INTERRUPT, stops.contains(where: \.isRequested) {
            error.message = "stopped: \(error.message) (code \(error.code))"
            error.code = SQLITE_INTERRUPT
        }
        return error
    }

    func report(_ sql: String, nanoseconds: UInt64) {
        trace?(TraceEvent(kind: .statement, text: sql, nanoseconds: nanoseconds))
    }

    var isTraced: Bool { trace != nil }
}
