internal import CSQLite

/// One text or BLOB of one row, read or written in pieces (`sqlite3_blob`).
///
/// The size is fixed; a statement that changes the row makes the handle invalid.
package struct BlobHandle: ~Copyable {
    private let connection: Connection
    private let handle: OpaquePointer
    package private(set) var count: Int

    /// Opens the value of a column in the row with this row id; a writable column must not be in an index.
    ///
    /// - Throws: ``DatabaseError``, also if the value is neither text nor a BLOB.
    package init(
        _ column: String, of table: String, row: Int64, schema: String, writable: Bool = false,
        on connection: Connection
    ) throws(DatabaseError) {
        guard !writable || schema != "main" || !connection.keeps(table) else {
            throw DatabaseError(code: SQLITE_AUTH, message: "\(table) is a table that stays as it is")
        }
        var handle: OpaquePointer?
        let code = sqlite3_blob_open(connection.handle, schema, table, column, row, writable ? 1 : 0, &handle)
        guard code == SQLITE_OK, let handle else { throw connection.error(code) }
        self.connection = connection
        self.handle = handle
        count = Int(sqlite3_blob_bytes(handle))
    }

    deinit { sqlite3_blob_close(handle) }

    /// Moves the handle to the same column of another row, faster than opening another one.
    ///
    /// - Throws: As the initializer; the handle is then of no use.
    package mutating func reopen(row: Int64) throws(DatabaseError) {
        try check(sqlite3_blob_reopen(handle, row))
        count = Int(sqlite3_blob_bytes(handle))
    }

    /// Fills the buffer from an offset; all its bytes must lie within the value.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DatabaseError) {
        guard let start = buffer.baseAddress else { return }
        try check(sqlite3_blob_read(handle, start, Int32(buffer.count), Int32(offset)))
    }

    /// Writes bytes at an offset; all must lie within the value.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        guard let start = bytes.baseAddress else { return }
        try check(sqlite3_blob_write(handle, start, Int32(bytes.count), Int32(offset)))
    }

    private func check(_ code: Int32) throws(DatabaseError) {
        guard code == SQLITE_OK else { throw connection.error(code) }
    }
}
