internal import CSQLite

/// A file that a connection has open, read through the connection's own handle.
///
/// No descriptor of ours is opened or closed, so the connection keeps its locks.
struct OpenFile {
    private let connection: Connection
    private let file: UnsafeMutablePointer<sqlite3_file>

    enum Part {
        case main
        /// The `-wal` of a connection in WAL mode, else its `-journal`.
        case journal
    }

    /// The file, or nil when the connection has not opened it.
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

    /// Whether some connection, of any process, holds the RESERVED lock.
    func isReserved() throws(DatabaseError) -> Bool {
        var result: Int32 = 0
        try check(file.pointee.pMethods.pointee.xCheckReservedLock(file, &result), "the locks")
        return result != 0
    }

    /// - Returns: False when another connection holds a lock.
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

    /// Fills the bytes from a place in the file, which must have them.
    func read(_ bytes: inout [UInt8], at offset: Int64) throws(DatabaseError) {
        let code = bytes.withUnsafeMutableBytes {
            file.pointee.pMethods.pointee.xRead(file, $0.baseAddress, Int32($0.count), offset)
        }
        try check(code, "bytes at \(offset)")
    }

    /// Fills the buffer; what is past the end of the file is zero where `zeroFills`, else an error.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, zeroFills: Bool
    ) throws(DatabaseError) {
        let code = file.pointee.pMethods.pointee.xRead(file, buffer.baseAddress, Int32(buffer.count), offset)
        // On a short read SQLite's files set the rest to zero.
        if zeroFills, code == ExtendedCode.shortRead { return }
        try check(code, "bytes at \(offset)")
    }

    private func check(_ code: Int32, _ what: String) throws(DatabaseError) {
        guard code == SQLITE_OK else {
            throw DatabaseError(code: code, message: "could not read or change \(what) of a file of \(connection.path)")
        }
    }
}
