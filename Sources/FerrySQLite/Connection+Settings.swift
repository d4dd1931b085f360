internal import CSQLite
package import FerryBase

extension Connection {
    /// A limit that SQLite enforces on one connection (`sqlite3_limit`).
    package enum Limit: Sendable {
        /// Bytes of a text, BLOB or row (`SQLITE_LIMIT_LENGTH`).
        case length
        /// Arguments of a function (`SQLITE_LIMIT_FUNCTION_ARG`).
        case functionArguments

        fileprivate var code: Int32 {
            switch self {
            case .length: SQLITE_LIMIT_LENGTH
            case .functionArguments: SQLITE_LIMIT_FUNCTION_ARG
            }
        }
    }

    /// The limit as it is now.
    package func limit(_ limit: Limit) -> Int { Int(sqlite3_limit(handle, limit.code, -1)) }

    /// Sets a limit; SQLite keeps it below what it was compiled with.
    ///
    /// - Returns: The limit as it was.
    @discardableResult
    package func limit(_ limit: Limit, _ value: Int) -> Int {
        precondition(value >= 0, "a negative limit would set nothing")
        return Int(sqlite3_limit(handle, limit.code, Int32(clamping: value)))
    }

    /// Runs a body under another limit.
    package func with<Result>(_ limit: Limit, _ value: Int, _ body: () throws -> Result) rethrows -> Result {
        let before = self.limit(limit, value)
        defer { self.limit(limit, before) }
        return try body()
    }

    /// Pages that the caches of all databases of this connection have written since it was opened
    /// (`SQLITE_DBSTATUS_CACHE_WRITE`).
    package var pagesWritten: Int64 {
        var (current, highest): (Int32, Int32) = (0, 0)
        _ = sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 0)
        return Int64(UInt32(bitPattern: current))
    }

    /// Attaches a database under a name.
    ///
    /// - Throws: ``DatabaseError``; unlike opening, attaching reads the file.
    package func attach(path: String, as schema: String, mode: Mode = .readWrite) throws(DatabaseError) {
        let statement = "ATTACH ? AS \(Connection.quoted(schema))"
        let uri = Value.text(try Connection.uri(path: path, mode: mode))
        guard try Connection.indexesLogInMemory(path, mode) else { return try run(statement, [uri]) }
        // Attaching reads the file, so the mode is set for all databases before; that of this one stays.
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        try run(statement, [uri])
        try execute("PRAGMA locking_mode = NORMAL")
    }

    /// Runs a body while statements can name the main database otherwise, too.
    ///
    /// A virtual table keeps the name of the database under which it is met first, so those that the body reads are met
    /// before.
    ///
    /// - Throws: ``DatabaseError``; whatever the body throws.
    package func withMain<Result>(
        named name: StaticString, meeting virtualTables: [String] = [], _ body: () throws -> Result
    ) throws -> Result {
        for table in virtualTables { _ = try prepare("SELECT 1 FROM main.\(Connection.quoted(table))") }
        nameMain(name)
        defer { nameMain("main") }
        return try body()
    }

    private func nameMain(_ name: StaticString) {
        // SQLite keeps the pointer.
        name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) {
            _ = ferry_sqlite3_name_main(handle, $0)
        }
    }

    /// A name as an SQL identifier.
    package static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// The value of a pragma, or nil when it yields none.
    package func pragma(_ name: String, in schema: String = "main") throws(DatabaseError) -> Value? {
        try value("PRAGMA \(Connection.quoted(schema)).\(name)")
    }

    /// Bytes of a database as it reads now, what its `-wal` holds included.
    package func contentBytes(in schema: String = "main") throws(DatabaseError) -> Int64 {
        let pages = try pragma("page_count", in: schema)?.integer ?? 0
        let pageSize = try pragma("page_size", in: schema)?.integer ?? 0
        // No file has more, whatever a damaged one says.
        return min(max(pages, 0), 1 << 32) * min(max(pageSize, 0), 1 << 16)
    }

    /// Sets a pragma.
    ///
    /// - Returns: What SQLite answered, for pragmas such as `journal_mode` that say what they really set.
    @discardableResult
    package func setPragma(
        _ name: String, to setting: some CustomStringConvertible, in schema: String = "main"
    ) throws(DatabaseError) -> Value? {
        try value("PRAGMA \(Connection.quoted(schema)).\(name) = \(setting)")
    }

    /// Writes the `-wal` back into the main file, by one of SQLite's modes (`PASSIVE`, `TRUNCATE`).
    ///
    /// - Returns: Whether all of it was written back.
    package func checkpoint(_ mode: String) throws(DatabaseError) -> Bool {
        let row = try rows("PRAGMA wal_checkpoint(\(mode))").first?.map { $0.integer ?? -1 } ?? []
        // Busy, frames in the -wal, frames written back.
        return row.count == 3 && row[0] == 0 && row[1] == row[2]
    }

    /// Shares memory out among the page caches of the attached databases and the sorters of a statement.
    ///
    /// A sorter takes as much as the main database's cache, and no less than 250 pages; what no longer fits is sorted in
    /// runs on disk. So many of a statement's sorters are counted, each with the parts of `main`.
    package func shareCaches(
        _ bytes: Int, among parts: KeyValuePairs<String, Int>, sorters: Int = 1
    ) throws(DatabaseError) {
        var sum = 0
        for (schema, count) in parts { sum += schema == "main" ? count * (1 + sorters) : count }
        for (schema, count) in parts {
            // Negative is in KiB, positive in pages.
            try setPragma("cache_size", to: -Int64(max(1, bytes * count / sum / 1024)), in: schema)
        }
    }

    /// Runs a statement that sorts nothing with a larger page cache, and goes back to the one of before.
    ///
    /// Under a rollback journal each filling of the cache with changed pages costs two syncs. The cache may have what all
    /// caches may hold: no other one is asked meanwhile.
    ///
    /// - Throws: ``DatabaseError``; whatever the body throws.
    package func withCache<Result>(_ bytes: Int, _ body: () throws -> Result) throws -> Result {
        let before = try pragma("cache_size")?.integer ?? -2_000
        try setPragma("cache_size", to: -Int64(bytes / 1024))
        let result = try body()
        // Only pages that are written can leave the cache; a sorter may want their memory now.
        let code = sqlite3_db_cacheflush(handle)
        guard code == SQLITE_OK else { throw error(code) }
        try setPragma("cache_size", to: before)
        return result
    }

    /// Makes every sync reach the medium, where the system has a weaker one too (Darwin); elsewhere it changes nothing.
    package func syncFully() throws(DatabaseError) {
        try execute("PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1")
    }

    /// Lets statements of ours write to the schema table, and to the shadow tables of virtual ones.
    ///
    /// Every connection is defensive from its beginning (`SQLITE_DBCONFIG_DEFENSIVE`), as Apple's SQLite makes them, so
    /// that what forgets to ask fails on every system.
    package func allowSchemaWrites() { _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 0) }

    /// Writes a database without a rollback journal: a failure leaves nothing of use, so it is for one that is made anew
    /// then.
    package func keepNoJournal(in schema: String = "main") throws(DatabaseError) {
        // A defensive connection passes over it without a word.
        let wasDefensive = ferry_sqlite3_db_config_flag_value(handle, SQLITE_DBCONFIG_DEFENSIVE)
        allowSchemaWrites()
        defer { _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, wasDefensive) }
        try setPragma("journal_mode", to: "OFF", in: schema)
    }

    /// Runs a body while no trigger runs.
    package func withoutTriggers<Result>(_ body: () throws -> Result) rethrows -> Result {
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        defer { _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1) }
        return try body()
    }
}

extension Connection {
    /// Lets a request for a stop end statements that take too long, until the body returns.
    ///
    /// What is ended throws a ``DatabaseError`` that ``DatabaseError/isInterrupted``, and its transaction is rolled back.
    package func abandoning<Result>(on stop: StopRequest, _ body: () throws -> Result) rethrows -> Result {
        let interrupter = interrupter(on: stop)
        defer { interrupter.end() }
        return try body()
    }

    /// The same until this connection closes.
    package func abandonStatements(on stop: StopRequest) {
        interrupter?.end()
        interrupter = interrupter(on: stop)
    }

    private func interrupter(on stop: StopRequest) -> StopRequest.Interrupter {
        // SQLite lets any thread interrupt; the connection ends this before it closes the handle.
        nonisolated(unsafe) let handle = handle
        return stop.add { sqlite3_interrupt(handle) }
    }
}
