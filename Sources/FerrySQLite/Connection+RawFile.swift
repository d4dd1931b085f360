extension Connection {
    /// Bytes of the main database file, read through SQLite's own handle on it; possible before the first statement.
    ///
    /// A second descriptor on the file would, when it is closed, drop the locks that this process holds on it.
    ///
    /// - Returns: As many bytes as the file has there, at most `count`.
    package func rawBytes(count: Int, at offset: Int64) throws(DatabaseError) -> [UInt8] {
        guard let file = try OpenFile(.main, of: self, schema: "main") else { return [] }
        let available = try max(0, min(Int64(count), file.size() - offset))
        var bytes = [UInt8](repeating: 0, count: Int(available))
        if !bytes.isEmpty { try file.read(&bytes, at: offset) }
        return bytes
    }

    /// Whether some connection, of any process, holds the database's RESERVED lock: it is writing, by a journal.
    package func isReserved() throws(DatabaseError) -> Bool {
        try OpenFile(.main, of: self, schema: "main")?.isReserved() ?? false
    }

    /// Takes SQLite's exclusive lock on the file, whatever is in it; with `locking_mode = EXCLUSIVE` later transactions
    /// keep it.
    ///
    /// - Returns: False when another connection holds a lock.
    package func lockFile() throws(DatabaseError) -> Bool {
        try OpenFile(.main, of: self, schema: "main")?.lockExclusively() ?? false
    }

    /// Takes all bytes out of the file, durably; for a file that this connection has locked and not read.
    package func emptyFile() throws(DatabaseError) { try OpenFile(.main, of: self, schema: "main")?.empty() }
}
