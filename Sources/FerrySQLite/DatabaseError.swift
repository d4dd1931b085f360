internal import CSQLite
package import FerryBase

/// Extended result codes, whose macros Swift does not import.
enum ExtendedCode {
    static let writeFailed = SQLITE_IOERR | (3 << 8)
    static let syncFailed = SQLITE_IOERR | (4 << 8)
    static let truncateFailed = SQLITE_IOERR | (6 << 8)
    static let deleteFailed = SQLITE_IOERR | (10 << 8)
    /// The `-shm` could not grow: its volume is full.
    static let sharedMemoryNotGrown = SQLITE_IOERR | (19 << 8)
    static let shortRead = SQLITE_IOERR | (2 << 8)
    /// A code of Ferry: SQLite's extended codes of this family are far lower.
    static let libraryTooOld = SQLITE_ERROR | (255 << 8)
}

/// A failed SQLite call: result code, SQLite's message, and the SQL without parameter values.
package struct DatabaseError: Error, Sendable, CustomStringConvertible {
    package var code: Int32
    package var message: String
    package var sql: String?

    package init(code: Int32, message: String, sql: String? = nil) {
        self.code = code
        self.message = message
        self.sql = sql
    }

    package var primaryCode: Int32 { code & 0xff }

    package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
    package var isNotADatabase: Bool { primaryCode == SQLITE_NOTADB }
    /// Whether pages do not fit together, or the header names a form of schema that SQLite never had.
    package var isCorrupt: Bool {
        primaryCode == SQLITE_CORRUPT || (primaryCode == SQLITE_ERROR && message == "unsupported file format")
    }
    /// Whether a stop request ended the statement; ``Connection/error(_:sql:)`` decides that.
    package var isInterrupted: Bool { primaryCode == SQLITE_INTERRUPT }
    /// Whether the SQL text is wrong, for example because of an unknown name.
    package var isInSQL: Bool { primaryCode == SQLITE_ERROR && !isLibraryTooOld }
    /// Whether the SQLite library is too old for Ferry; no file was opened then.
    package var isLibraryTooOld: Bool { code == ExtendedCode.libraryTooOld }
    package var isTooBig: Bool { primaryCode == SQLITE_TOOBIG }
    /// Whether SQLite got no memory, from the system or within its limit.
    package var isOutOfMemory: Bool { primaryCode == SQLITE_NOMEM }
    /// Whether the file does not exist or may not be opened.
    package var cannotOpen: Bool { primaryCode == SQLITE_CANTOPEN }
    package var isFull: Bool { primaryCode == SQLITE_FULL || code == ExtendedCode.sharedMemoryNotGrown }
    package var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT }

    package var description: String {
        let place = sql.map { " in: \($0)" } ?? ""
        return "SQLite error \(code): \(message)\(place)"
    }
}

extension FerryError {
    /// An error of SQLite that ended a piece of work, such as "migrating to version 2".
    package init(database error: DatabaseError, whileDoing work: String) {
        if error.isInterrupted {
            self.init(.interrupted, "Stopped while \(work).", remedy: "\(action: .again) to continue.", cause: error)
        } else if error.isTooBig {
            self.init(
                .valueTooLarge, "A value or a row is too large for memory while \(work).",
                remedy: """
                    Set \(setting: .memoryLimit) to at least \(MemoryBudget.program >> 20) MiB and three times its size, and \
                    \(action: .again).
                    """, cause: error)
        } else if error.isOutOfMemory {
            self.init(
                .outOfMemory, "SQLite ran out of memory while \(work).",
                remedy: "Raise \(setting: .memoryLimit) and \(action: .again) to continue.", cause: error)
        } else if error.isFull {
            self.init(
                .databaseFailed, "The volume is full: SQLite could not continue \(work).",
                remedy: "Free space on it and \(action: .again) to continue.", cause: error)
        } else {
            self.init(
                .databaseFailed, "SQLite failed while \(work): \(error.message) (code \(error.code)).",
                remedy: "\(action: .again); if it fails again, check the file with PRAGMA integrity_check.",
                cause: error)
        }
    }
}

package enum SQLiteLibrary {
    /// The first with 64-bit counts of changes, extended codes from `sqlite3_open_v2`, and `PRAGMA table_list`.
    package static let oldest = "3.37.0"
    private static let oldestNumber: Int32 = 3_037_000

    package static var version: String { String(cString: sqlite3_libversion()) }

    /// Whether the whole row counts against `SQLITE_LIMIT_LENGTH`, even for a read of one small value.
    ///
    /// From 3.39 on, each read value counts alone.
    package static var limitsWholeRows: Bool { sqlite3_libversion_number() < 3_039_000 }

    /// Limits the heap of all connections of the process, in bytes.
    ///
    /// Near `soft` SQLite takes pages of its caches again, and writes a sorter's rows to disk, instead of more memory;
    /// above `hard` a statement fails.
    package static func limitHeap(soft: Int, hard: Int) {
        sqlite3_hard_heap_limit64(Int64(hard))
        sqlite3_soft_heap_limit64(Int64(soft))
    }

    /// Checks a version number of SQLite (`sqlite3_libversion_number`).
    ///
    /// - Throws: ``DatabaseError`` that ``DatabaseError/isLibraryTooOld``.
    package static func check(_ number: Int32 = sqlite3_libversion_number()) throws(DatabaseError) {
        guard number < oldestNumber else { return }
        let version = "\(number / 1_000_000).\(number / 1_000 % 1_000).\(number % 1_000)"
        throw DatabaseError(
            code: ExtendedCode.libraryTooOld, message: "the SQLite library is version \(version), older than \(oldest)")
    }
}
