internal import CDatabase
internal import CSQLite
internal import FerryBase

extension Connection {
    /// Commits by a rollback journal, and looks at the result before that: while `check` runs, the main file holds all
    /// new pages, and the journal, which is synced, would undo them.
    ///
    /// The check may read both by other connections: the file as it is (``Mode/immutable``), and the database before
    /// the transaction (``JournaledPages``).
    ///
    /// - Throws: The error of the check, after a rollback; ``DatabaseError``.
    package func commit(checking check: () throws -> Void) throws {
        guard try pragma("journal_mode")?.text != "wal" else {
            throw DatabaseError(code: SQLITE_MISUSE, message: "a commit by a -wal cannot be checked")
        }
        // The cache's memory is the check's; SQLite writes pages that are not in use.
        try cacheFlush()
        try execute("PRAGMA shrink_memory")
        try withoutActuallyEscaping(check) { check in
            let call = CallFromC(check)
            try withExtendedLifetime(call) {
                try setCommitCheck(call)
                do {
                    try execute("COMMIT")
                } catch let error as DatabaseError {
                    try setCommitCheck(nil)
                    if isInTransaction { try execute("ROLLBACK") }
                    // Where memory or the disk ended the commit, a check within its rollback has seen the old pages.
                    throw error.code == ExtendedCode.checkFailed ? call.error ?? error : error
                }
                guard call.hasRun else {
                    throw FerryError(.internalError, "The transaction was committed without its check.")
                }
            }
        }
    }

    private func cacheFlush() throws(DatabaseError) {
        let code = sqlite3_db_cacheflush(handle)
        guard code == SQLITE_OK else { throw error(code) }
    }

    private func setCommitCheck(_ check: CallFromC?) throws(DatabaseError) {
        var call = ferry_behind_call()
        if let check {
            call.before_end = { CallFromC.run($0) ? SQLITE_OK : ExtendedCode.checkFailed }
            call.argument = Unmanaged.passUnretained(check).toOpaque()
        }
        let code = sqlite3_file_control(handle, "main", Int32(FERRY_BEHIND_CALL), &call)
        guard code == SQLITE_OK else {
            throw DatabaseError(code: code, message: "the files of \(path) have no write filter")
        }
    }
}
