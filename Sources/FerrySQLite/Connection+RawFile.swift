internal import CSQLite

extension Connection {
    /// Bytes of the main database file, read through SQLite's own handle on it.
    ///
    /// A second descriptor on the file would, when it is closed, drop the locks that this process holds on it.
    ///
    /// - Returns: As many bytes as the file has there, at most `count`.
    package func rawBytes(count: Int, at offset: Int64) throws(DatabaseError) -> [UInt8] {
        let file = try mainFile()
        var size: Int64 = 0
        guard file.pointee.pMethods.pointee.xFileSize(file, &size) == SQLITE_OK else {
            throw DatabaseError(code: SQLITE_IOERR, message: "the size of the file cannot be read")
        }
        let available = Int(clamping: max(0, min(Int64(count), size - offset)))
        guard available > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: available)
        let code = bytes.withUnsafeMutableBytes {
            file.pointee.pMethods.pointee.xRead(file, $0.baseAddress, Int32(available), offset)
        }
        guard code == SQLITE_OK else { throw DatabaseError(code: code, message: "the file cannot be read") }
        return bytes
    }

    /// Whether some connection, of any process, holds the database's RESERVED lock: it is writing, by a journal.
    package func isReserved() throws(DatabaseError) -> Bool {
        let file = try mainFile()
        var result: Int32 = 0
        let code = file.pointee.pMethods.pointee.xCheckReservedLock(file, &result)
        guard code == SQLITE_OK else { throw DatabaseError(code: code, message: "the file's locks cannot be read") }
        return result != 0
    }

    private func mainFile() throws(DatabaseError) -> UnsafeMutablePointer<sqlite3_file> {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard code == SQLITE_OK, let file, file.pointee.pMethods != nil else {
            throw DatabaseError(code: SQLITE_ERROR, message: "the database has no file")
        }
        return file
    }
}
