internal import CSQLite

/// A file that a connection has open, by the connection's own handle.
///
/// Opens and closes no descriptor, so the connection keeps its locks.
struct OpenFile {
    private let connection: Connection
    private let file: UnsafeMutablePointer<sqlite3_file>

    enum Part {
        case main
        /// The `-wal` of a connection in WAL mode, else its `-journal`.
        case journal
    }

    /// Nil if the connection has not opened the file.
    init?(_ part: Part, of connection: Connection, schema: String) throws(DatabaseError) {
        self.connection = connection
        var file: UnsafeMutablePointer<sqlite3_file>?
        let operation = part == .main ? SQLITE_FCNTL_FILE_POINTER : SQLITE_FCNTL_JOURNAL_POINTER
        let code = sqlite3_file_control(connection.handle, schema, operation, &file)
        guard code == SQLITE_OK else {
            throw DatabaseError(code: code, message: "SQLite does not lend the files of \(connection.path)")
        }
        guard let file, file.pointee.pMethods != nil else { return nil }
        self.file = file
    }

    func size() throws(DatabaseError) -> Int64 {
        var size: sqlite3_int64 = 0
        try check(file.pointee.pMethods.pointee.xFileSize(file, &size), "its size")
        return size
    }

    func isReserved() throws(DatabaseError) -> Bool {
        var result: Int32 = 0
        try check(file.pointee.pMethods.pointee.xCheckReservedLock(file, &result), "the locks")
        return result != 0
    }

    /// - Returns: False if another connection holds a lock.
    func lockExclusively() throws(DatabaseError) -> Bool {
        for level in [SQLITE_LOCK_SHARED, SQLITE_LOCK_EXCLUSIVE] {
            let code = file.pointee.pMethods.pointee.xLock(file, level)
            if code & 0xff == SQLITE_BUSY {
                try check(file.pointee.pMethods.pointee.xUnlock(file, SQLITE_LOCK_NONE), "the locks")
                return false
            }
            try check(code, "the locks")
        }
        return true
    }

    func empty() throws(DatabaseError) {
        try check(file.pointee.pMethods.pointee.xTruncate(file, 0), "its size")
        try check(file.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_FULL), "its content")
    }

    /// Fills the bytes from an offset; the file must contain all of them.
    func read(_ bytes: inout [UInt8], at offset: Int64) throws(DatabaseError) {
        try check(bytes.withUnsafeMutableBytes { read(into: $0, at: offset) }, "bytes at \(offset)")
    }

    /// Fills the buffer; bytes past the end of the file are zero with `zeroFills`, else an error.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, zeroFills: Bool
    ) throws(DatabaseError) {
        let code = read(into: buffer, at: offset)
        // On a short read SQLite's VFS zeroes the rest.
        if zeroFills, code == ExtendedCode.shortRead { return }
        try check(code, "bytes at \(offset)")
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int32 {
        file.pointee.pMethods.pointee.xRead(file, buffer.baseAddress, Int32(buffer.count), offset)
    }

    private func check(_ code: Int32, _ what: String) throws(DatabaseError) {
        guard code == SQLITE_OK else {
            throw DatabaseError(code: code, message: "could not read or change \(what) of a file of \(connection.path)")
        }
    }
}

extension Connection {
    /// Reads bytes of the main database file through SQLite's handle; possible before the first statement.
    ///
    /// The close of a second descriptor would drop all locks of this process on the file.
    ///
    /// - Returns: At most `count` bytes; fewer at the end of the file.
    package func rawBytes(count: Int, at offset: Int64) throws(DatabaseError) -> [UInt8] {
        guard let file = try OpenFile(.main, of: self, schema: "main") else { return [] }
        let available = try max(0, min(Int64(count), file.size() - offset))
        var bytes = [UInt8](repeating: 0, count: Int(available))
        if !bytes.isEmpty { try file.read(&bytes, at: offset) }
        return bytes
    }

    /// Whether any connection, of any process, holds the RESERVED lock: it writes with a rollback journal.
    package func isReserved() throws(DatabaseError) -> Bool {
        try OpenFile(.main, of: self, schema: "main")?.isReserved() ?? false
    }

    /// Takes SQLite's exclusive lock on any file; with `locking_mode = EXCLUSIVE` later transactions keep it.
    ///
    /// - Returns: False if another connection holds a lock.
    package func lockFile() throws(DatabaseError) -> Bool {
        try OpenFile(.main, of: self, schema: "main")?.lockExclusively() ?? false
    }

    /// Truncates the file to zero bytes, durably; for a file that this connection has locked and not read.
    package func emptyFile() throws(DatabaseError) { try OpenFile(.main, of: self, schema: "main")?.empty() }
}

extension Connection {
    package struct Overwriting: Sendable {
        package var donePages: Int64
        package var allPages: Int64
        /// Whether the next call writes the last pages and commits.
        package var isBeforeCommit: Bool
    }

    /// Pages between two calls of the caller's closure: 1 MiB at SQLite's usual page size.
    private static let pagesAtOnce: Int32 = 256

    /// Replaces the whole content with that of another database, in one transaction (`sqlite3_backup_init`).
    ///
    /// To other connections this is an ordinary commit: the file stays, and the schema version rises by one, so that
    /// SQLite prepares statements anew. A failure, a kill, or an error of `look`, called before each piece, has no
    /// effect.
    ///
    /// The source must be in a transaction that has read, so that its content does not change meanwhile.
    package func overwrite(with source: Connection, _ look: (Overwriting) throws -> Void) throws {
        precondition(!isInTransaction, "SQLite begins the transaction itself")
        let allPages = try source.pragma("page_count")?.integer ?? 0
        guard let backup = sqlite3_backup_init(handle, "main", source.handle, "main") else {
            throw error(sqlite3_errcode(handle))
        }
        var (done, code, end): (Int64, Int32, Int32) = (0, SQLITE_OK, SQLITE_OK)
        do {
            // This also sets the connection's message.
            defer { end = sqlite3_backup_finish(backup) }
            while code == SQLITE_OK {
                try look(
                    Overwriting(
                        donePages: done, allPages: allPages,
                        isBeforeCommit: allPages - done <= Int64(Self.pagesAtOnce)))
                code = sqlite3_backup_step(backup, Self.pagesAtOnce)
                done = allPages - Int64(sqlite3_backup_remaining(backup))
            }
        }
        if code == SQLITE_DONE { code = end }
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// Whether the path now leads to another file, or to none (`SQLITE_FCNTL_HAS_MOVED`).
    package func hasMoved() throws(DatabaseError) -> Bool {
        var result: Int32 = 0
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &result)
        guard code == SQLITE_OK else { throw error(code) }
        return result != 0
    }

    /// Whether SQLite opened the file read-only, in any ``Mode`` (`sqlite3_db_readonly`).
    package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

    /// Returns the number that each schema change raises by one (`PRAGMA schema_version`).
    package func schemaVersion() throws(DatabaseError) -> Int64 { try pragma("schema_version")?.integer ?? 0 }
}
