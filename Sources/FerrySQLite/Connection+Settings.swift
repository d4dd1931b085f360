internal import CSQLite

extension Connection {
    /// A limit that SQLite enforces on one connection (`sqlite3_limit`).
    package enum Limit: Sendable {
        /// Bytes of a text, BLOB or row (`SQLITE_LIMIT_LENGTH`).
        case length
        /// Databases attached at one time (`SQLITE_LIMIT_ATTACHED`).
        case attached
        /// Parameters of a statement (`SQLITE_LIMIT_VARIABLE_NUMBER`).
        case parameters
        /// Columns of a table or result (`SQLITE_LIMIT_COLUMN`).
        case columns

        fileprivate var code: Int32 {
            switch self {
            case .length: SQLITE_LIMIT_LENGTH
            case .attached: SQLITE_LIMIT_ATTACHED
            case .parameters: SQLITE_LIMIT_VARIABLE_NUMBER
            case .columns: SQLITE_LIMIT_COLUMN
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

    /// How long a statement waits for another connection's lock; at first not at all.
    package func waitWhenBusy(milliseconds: Int) { sqlite3_busy_timeout(handle, Int32(clamping: milliseconds)) }

    /// Attaches a database under a name.
    ///
    /// - Throws: ``DatabaseError``; unlike opening, attaching reads the file.
    package func attach(
        path: String, as schema: String, readOnly: Bool = false, immutable: Bool = false
    ) throws(DatabaseError) {
        let uri = Connection.uri(path: path, immutable: immutable, readOnly: readOnly)
        try run("ATTACH ? AS \(Connection.quoted(schema))", [.text(uri)])
    }

    package func detach(_ schema: String) throws(DatabaseError) {
        try execute("DETACH \(Connection.quoted(schema))")
    }

    /// A name as an SQL identifier.
    package static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// The value of a pragma, or nil when it yields none.
    package func pragma(_ name: String, in schema: String = "main") throws(DatabaseError) -> Value? {
        try value("PRAGMA \(Connection.quoted(schema)).\(name)")
    }

    /// Sets a pragma.
    ///
    /// - Returns: What SQLite answered, for pragmas such as `journal_mode` that say what they really set.
    @discardableResult
    package func setPragma(_ name: String, to setting: String, in schema: String = "main") throws(DatabaseError)
        -> Value?
    {
        try value("PRAGMA \(Connection.quoted(schema)).\(name) = \(setting)")
    }

    @discardableResult
    package func setPragma(_ name: String, to setting: Int64, in schema: String = "main") throws(DatabaseError)
        -> Value?
    {
        try setPragma(name, to: String(setting), in: schema)
    }

    /// Rows changed since the connection was opened (`sqlite3_total_changes64`).
    package var totalChanges: Int64 { sqlite3_total_changes64(handle) }

    /// The key of the last row inserted (`sqlite3_last_insert_rowid`).
    package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Makes every sync reach the medium, where the system has a weaker one too (Darwin); elsewhere it changes nothing.
    package func syncFully() throws(DatabaseError) {
        try execute("PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1")
    }

    /// Lets statements of ours write to the schema table, where SQLite was built to refuse that
    /// (`SQLITE_DBCONFIG_DEFENSIVE`).
    package func allowSchemaWrites() { _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 0) }

    /// Runs a body while no trigger runs.
    package func withoutTriggers<Result>(_ body: () throws -> Result) rethrows -> Result {
        _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        defer { _ = ferry_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1) }
        return try body()
    }
}
