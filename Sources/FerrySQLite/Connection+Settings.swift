internal import CSQLite
package import FerryBase

extension Connection {
    /// A limit of a connection (`sqlite3_limit`).
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

    package func limit(_ limit: Limit) -> Int { Int(sqlite3_limit(handle, limit.code, -1)) }

    /// Sets a limit, and returns the old one; SQLite clamps limits to its compiled maximum.
    @discardableResult
    package func limit(_ limit: Limit, _ value: Int) -> Int {
        precondition(value >= 0, "a negative limit would set nothing")
        return Int(sqlite3_limit(handle, limit.code, Int32(clamping: value)))
    }

    package func with<Result>(_ limit: Limit, _ value: Int, _ body: () throws -> Result) rethrows -> Result {
        let before = self.limit(limit, value)
        defer { self.limit(limit, before) }
        return try body()
    }

    /// Pages that all caches of this connection have written since its open (`SQLITE_DBSTATUS_CACHE_WRITE`).
    package var pagesWritten: Int64 {
        var (current, highest): (Int32, Int32) = (0, 0)
        _ = sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 0)
        return Int64(UInt32(bitPattern: current))
    }

    /// The bytes that the schemas of all attached databases take in this connection (`SQLITE_DBSTATUS_SCHEMA_USED`).
    package var schemaBytes: Int {
        var (current, highest): (Int32, Int32) = (0, 0)
        _ = sqlite3_db_status(handle, SQLITE_DBSTATUS_SCHEMA_USED, &current, &highest, 0)
        return Int(current)
    }

    /// - Throws: ``DatabaseError``; ATTACH reads the file, unlike an open.
    ///
    /// The database is read by `vfs`, which must live as long as the connection, if it is not the connection's own.
    package func attach(
        path: String, as schema: String, mode: Mode = .readWrite
    ) throws(DatabaseError) {
        let statement = "ATTACH ? AS \(Connection.quoted(schema))"
        let uri = Value.text(try Connection.uri(path: path, mode: mode))
        guard try Connection.indexesLogInMemory(path, mode) else { return try run(statement, [uri]) }
        // ATTACH reads the file, so the mode must be set for all databases before.
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        try run(statement, [uri])
        try execute("PRAGMA locking_mode = NORMAL")
    }

    /// Ends the use of an attached database; does nothing if there is none of that name.
    package func detach(_ schema: String) throws(DatabaseError) {
        guard try rows("PRAGMA database_list").contains(where: { $0[1].text == schema }) else { return }
        try execute("DETACH \(Connection.quoted(schema))")
    }

    /// Runs the body with a second name for the main database.
    ///
    /// A virtual table keeps the database name of its first use, so the call first uses `virtualTables` under `main`.
    ///
    /// - Throws: ``DatabaseError``; any error of the body.
    package func withMain<Result>(
        named name: StaticString, meeting virtualTables: [String] = [], _ body: () throws -> Result
    ) throws -> Result {
        for table in virtualTables { _ = try prepare("SELECT 1 FROM main.\(Connection.quoted(table))") }
        nameMain(name)
        defer { nameMain("main") }
        return try body()
    }

    /// Gives `main` a second name in statements, for as long as the connection is open or until the next call.
    package func nameMain(_ name: StaticString) {
        // SQLite keeps the pointer.
        name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) {
            _ = ferry_sqlite3_name_main(handle, $0)
        }
    }

    package static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    package func pragma(_ name: String, in schema: String = "main") throws(DatabaseError) -> Value? {
        try value("PRAGMA \(Connection.quoted(schema)).\(name)")
    }

    /// Returns the bytes of a database's content, with the content of its `-wal`.
    package func contentBytes() throws(DatabaseError) -> Int64 {
        let pages = try pragma("page_count")?.integer ?? 0
        let pageSize = try pragma("page_size")?.integer ?? 0
        // The maximum of SQLite, also for damaged files.
        return min(max(pages, 0), 1 << 32) * min(max(pageSize, 0), 1 << 16)
    }

    /// Sets a pragma.
    ///
    /// - Returns: The result of the pragma: `journal_mode` and others return the value that they really set.
    @discardableResult
    package func setPragma(
        _ name: String, to setting: some CustomStringConvertible, in schema: String = "main"
    ) throws(DatabaseError) -> Value? {
        try value("PRAGMA \(Connection.quoted(schema)).\(name) = \(setting)")
    }

    /// Runs a checkpoint in one of SQLite's modes (`PASSIVE`, `TRUNCATE`).
    ///
    /// - Returns: Whether all frames of the `-wal` were written back.
    package func checkpoint(_ mode: String) throws(DatabaseError) -> Bool {
        let row = try rows("PRAGMA main.wal_checkpoint(\(mode))").first?.map { $0.integer ?? -1 } ?? []
        // Busy, frames in the -wal, frames written back.
        return row.count == 3 && row[0] == 0 && row[1] == row[2]
    }

    /// Divides memory between the page caches of the attached databases and the sorters of a statement.
    ///
    /// A sorter uses as much as the main database's cache, at least 250 pages, and sorts the rest in runs on disk. The
    /// division counts `sorters` sorters, each with the parts of `main`.
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

    /// Runs a body under a larger page cache, and then restores the cache's size.
    ///
    /// With a rollback journal, each time that changed pages fill the cache costs two syncs. Without sorters the cache may
    /// use the memory of all caches, because no other cache is in use meanwhile.
    ///
    /// - Throws: ``DatabaseError``; any error of the body.
    package func withCache<Result>(_ bytes: Int, _ body: () throws -> Result) throws -> Result {
        let before = try pragma("cache_size")?.integer ?? -2_000
        try setPragma("cache_size", to: -Int64(bytes / 1024))
        let result = try body()
        // The cache can only release written pages; a later sorter may need their memory.
        let code = sqlite3_db_cacheflush(handle)
        guard code == SQLITE_OK else { throw error(code) }
        try setPragma("cache_size", to: before)
        return result
    }

    /// Makes every sync reach the medium on Darwin, whose plain `fsync` does not; no effect elsewhere.
    package func syncFully() throws(DatabaseError) {
        try execute("PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1")
    }

    /// Allows writes to the schema table and to shadow tables.
    ///
    /// Connections are defensive (`SQLITE_DBCONFIG_DEFENSIVE`) as with Apple's SQLite: a missing call fails everywhere.
    package func allowSchemaWrites() { _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 0) }

    /// Turns the rollback journal off, for new databases only: a failure leaves a useless file.
    package func keepNoJournal(in schema: String = "main") throws(DatabaseError) {
        // A defensive connection silently ignores the pragma.
        let wasDefensive = ferry_sqlite3_db_config_flag_value(handle, SQLITE_DBCONFIG_DEFENSIVE)
        allowSchemaWrites()
        defer { _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, wasDefensive) }
        try setPragma("journal_mode", to: "OFF", in: schema)
    }

    /// Calls `tick` again and again while statements run in the body, on the thread that runs them.
    package func ticking<Result>(_ tick: @escaping () -> Void, _ body: () throws -> Result) rethrows -> Result {
        let box = Unmanaged.passRetained(CallFromC(tick))
        // A few milliseconds of work of the virtual machine.
        sqlite3_progress_handler(
            handle, 50_000,
            { context in
                _ = CallFromC.run(context)
                return 0
            }, box.toOpaque())
        defer {
            sqlite3_progress_handler(handle, 0, nil, nil)
            box.release()
        }
        return try body()
    }

    package func withoutTriggers<Result>(_ body: () throws -> Result) rethrows -> Result {
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        defer { _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1) }
        return try body()
    }
}

extension Connection {
    /// Lets a stop request interrupt long statements until the body returns.
    ///
    /// Such a statement throws a ``DatabaseError`` that ``DatabaseError/isInterrupted``, and SQLite rolls back.
    package func abandoning<Result>(on stop: StopRequest, _ body: () throws -> Result) rethrows -> Result {
        let interrupter = interrupter(on: stop)
        stops.append(stop)
        defer {
            interrupter.end()
            stops.removeLast()
        }
        return try body()
    }

    /// Lets a stop request interrupt long statements until this connection closes; for use at its opening.
    package func abandonStatements(on stop: StopRequest) {
        interrupter?.end()
        interrupter = interrupter(on: stop)
        stops = [stop]
    }

    private func interrupter(on stop: StopRequest) -> StopRequest.Interrupter {
        // Any thread may interrupt; the connection ends the interrupter before it closes the handle.
        nonisolated(unsafe) let handle = handle
        return stop.add { sqlite3_interrupt(handle) }
    }
}
