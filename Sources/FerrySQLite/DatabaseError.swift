internal import CSQLite

/// Extended result codes, whose macros Swift does not import.
enum ExtendedCode {
    static let writeFailed = SQLITE_IOERR | (3 << 8)
    static let syncFailed = SQLITE_IOERR | (4 << 8)
    static let truncateFailed = SQLITE_IOERR | (6 << 8)
    static let deleteFailed = SQLITE_IOERR | (10 << 8)
    /// The index of a `-wal` could not grow: its volume is full.
    static let sharedMemoryNotGrown = SQLITE_IOERR | (19 << 8)
    static let shortRead = SQLITE_IOERR | (2 << 8)
    /// Ours: SQLite's own extended codes of this family end far below.
    static let libraryTooOld = SQLITE_ERROR | (255 << 8)
}

/// A failed SQLite call: result code, SQLite's message, and the SQL with its parameters unbound.
package struct DatabaseError: Error, Sendable, CustomStringConvertible {
    /// SQLite's extended result code.
    package var code: Int32
    package var message: String
    package var sql: String?

    package init(code: Int32, message: String, sql: String? = nil) {
        self.code = code
        self.message = message
        self.sql = sql
    }

    /// The primary result code: the low byte of the extended one.
    package var primaryCode: Int32 { code & 0xff }

    package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
    package var isNotADatabase: Bool { primaryCode == SQLITE_NOTADB }
    /// Whether a page of the file does not hold what it should.
    package var isCorrupt: Bool { primaryCode == SQLITE_CORRUPT }
    package var isInterrupted: Bool { primaryCode == SQLITE_INTERRUPT || isInterruptedDeclaration }
    /// Whether the SQL text itself is wrong, such as by a name that the connection does not know.
    package var isInSQL: Bool { primaryCode == SQLITE_ERROR && !isLibraryTooOld && !isInterruptedDeclaration }
    /// Whether SQLite was interrupted while it parsed the columns of a table-valued function: `sqlite3_declare_vtab` calls
    /// every failure `SQLITE_ERROR`, and only the message is that of the interrupt (seen with SQLite 3.40.1).
    private var isInterruptedDeclaration: Bool {
        primaryCode == SQLITE_ERROR && message == String(cString: sqlite3_errstr(SQLITE_INTERRUPT))
    }
    /// Whether the SQLite library itself is older than Ferry can use; nothing was opened then.
    package var isLibraryTooOld: Bool { code == ExtendedCode.libraryTooOld }
    package var isTooBig: Bool { primaryCode == SQLITE_TOOBIG }
    /// Whether there is no file to open, or none that may be opened.
    package var cannotOpen: Bool { primaryCode == SQLITE_CANTOPEN }
    package var isFull: Bool { primaryCode == SQLITE_FULL || code == ExtendedCode.sharedMemoryNotGrown }
    package var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT }

    package var description: String {
        let place = sql.map { " in: \($0)" } ?? ""
        return "SQLite error \(code): \(message)\(place)"
    }
}
