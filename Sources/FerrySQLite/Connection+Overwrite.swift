internal import CSQLite

extension Connection {
    /// How far an overwriting has come, in pages.
    package struct Overwriting: Sendable {
        package var donePages: Int64
        package var allPages: Int64
        /// Whether the next call of SQLite writes the last pages and commits.
        package var isBeforeCommit: Bool
    }

    /// Pages between two looks at the caller: 1 MiB at SQLite's usual page size.
    private static let pagesAtOnce: Int32 = 256

    /// Writes the whole content of another database over this one's, in one transaction (`sqlite3_backup_init`).
    ///
    /// To every other connection this is an ordinary commit: the file stays the same one, and the schema's number
    /// becomes one more than it was, so that statements are prepared anew. A failure, or a kill, leaves what was there.
    ///
    /// - Parameters:
    ///   - source: A connection in a transaction that has read, so that its database does not change meanwhile.
    ///   - look: Called before each piece; what it throws ends the transaction without a change.
    /// - Throws: ``DatabaseError``; whatever `look` throws.
    package func overwrite(with source: Connection, _ look: (Overwriting) throws -> Void) throws {
        precondition(!isInTransaction, "SQLite begins the transaction itself")
        let allPages = try source.pragma("page_count")?.integer ?? 0
        guard let backup = sqlite3_backup_init(handle, "main", source.handle, "main") else {
            throw error(sqlite3_errcode(handle))
        }
        var isFinished = false
        defer { if !isFinished { sqlite3_backup_finish(backup) } }
        var done: Int64 = 0
        while true {
            try look(
                Overwriting(
                    donePages: done, allPages: allPages, isBeforeCommit: allPages - done <= Int64(Self.pagesAtOnce)))
            let code = sqlite3_backup_step(backup, Self.pagesAtOnce)
            if code == SQLITE_DONE { break }
            guard code == SQLITE_OK else {
                // Finishing sets the connection's message.
                sqlite3_backup_finish(backup)
                isFinished = true
                throw error(code)
            }
            done = allPages - Int64(sqlite3_backup_remaining(backup))
        }
        isFinished = true
        let code = sqlite3_backup_finish(backup)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// Whether another file, or none, stands at the path by now (`SQLITE_FCNTL_HAS_MOVED`).
    package func hasMoved() throws(DatabaseError) -> Bool {
        var result: Int32 = 0
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &result)
        guard code == SQLITE_OK else { throw error(code) }
        return result != 0
    }

    /// Whether SQLite could open the file for reading only, whatever was asked for (`sqlite3_db_readonly`).
    package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

    /// The number that each change of the schema makes one more (`PRAGMA schema_version`).
    package func schemaVersion() throws(DatabaseError) -> Int64 { try pragma("schema_version")?.integer ?? 0 }
}
