internal import CDatabase
internal import CSQLite
internal import FerryBase

/// A prepared statement.
///
/// Reads of columns borrow SQLite's memory: the bytes of ``withBytes(_:_:)`` are valid only inside its closure.
package final class Statement {
    package let connection: Connection
    package let sql: String
    let handle: OpaquePointer
    /// Unchecked, like `isSilent`, for speed: both belong to the connection's thread, without overlapping accesses.
    @exclusivity(unchecked) private var started: UInt64 = 0
    /// Whether the trace omits the statement, because it runs inside a function of a traced statement.
    @exclusivity(unchecked) package var isSilent = false

    init(_ sql: String, on connection: Connection) throws(DatabaseError) {
        self.connection = connection
        self.sql = sql
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK else { throw connection.error(code, sql: sql) }
        guard let statement else {
            throw DatabaseError(code: SQLITE_MISUSE, message: "the SQL contains no statement", sql: sql)
        }
        handle = statement
    }

    deinit {
        // For queries that were not stepped to the end.
        report()
        sqlite3_finalize(handle)
    }

    // MARK: Parameters (counted from 1)

    package func bind(_ value: Int64, at index: Int) throws(DatabaseError) {
        try check(sqlite3_bind_int64(handle, Int32(index), value))
    }

    package func bind(_ value: Double, at index: Int) throws(DatabaseError) {
        try check(sqlite3_bind_double(handle, Int32(index), value))
    }

    package func bind(_ value: String, at index: Int) throws(DatabaseError) {
        var value = value
        try check(value.withUTF8 { bind(text: UnsafeRawBufferPointer($0), Int32(index)) })
    }

    /// Binds UTF-8 text; SQLite keeps its own copy.
    package func bind(text: UnsafeRawBufferPointer, at index: Int) throws(DatabaseError) {
        try check(bind(text: text, Int32(index)))
    }

    private func bind(text: UnsafeRawBufferPointer, _ index: Int32) -> Int32 {
        // A null pointer would bind NULL instead of an empty text.
        withUnsafeBytes(of: 0 as UInt8) { empty in
            sqlite3_bind_text64(
                handle, index, text.baseAddress ?? empty.baseAddress, UInt64(text.count), ferry_sqlite3_transient(),
                UInt8(SQLITE_UTF8))
        }
    }

    /// Binds a BLOB; SQLite keeps its own copy.
    package func bind(blob: UnsafeRawBufferPointer, at index: Int) throws(DatabaseError) {
        // A null pointer would bind NULL instead of an empty BLOB.
        guard !blob.isEmpty else { return try check(sqlite3_bind_zeroblob(handle, Int32(index), 0)) }
        try check(
            sqlite3_bind_blob64(
                handle, Int32(index), blob.baseAddress, UInt64(blob.count), ferry_sqlite3_transient()))
    }

    /// Binds a BLOB; SQLite keeps its own copy.
    package func bind(_ value: [UInt8], at index: Int) throws(DatabaseError) {
        let outcome = value.withUnsafeBytes { bytes in
            Result { () throws(DatabaseError) in try bind(blob: bytes, at: index) }
        }
        try outcome.get()
    }

    package func bindNull(at index: Int) throws(DatabaseError) {
        try check(sqlite3_bind_null(handle, Int32(index)))
    }

    /// Binds the value of another statement's current column, without decoding it.
    package func bind(column: Int, of source: Statement, at index: Int) throws(DatabaseError) {
        try check(sqlite3_bind_value(handle, Int32(index), sqlite3_column_value(source.handle, Int32(column))))
    }

    /// Binds the value of another statement's current column without a copy; the row must live until ``unbind()``.
    package func bind(borrowed column: Int, of source: Statement, at index: Int) throws(DatabaseError) {
        let type = source.storageClass(column)
        guard type == .text || type == .blob else { return try bind(column: column, of: source, at: index) }
        let bytes = source.lentBytes(column)
        guard !bytes.isEmpty else { return try bind(column: column, of: source, at: index) }
        try check(bind(borrowing: bytes, asText: type == .text, Int32(index)))
    }

    /// Binds a BLOB of zeros, which needs no memory if only such BLOBs follow it in the row.
    package func bind(zeros count: Int, at index: Int) throws(DatabaseError) {
        try check(sqlite3_bind_zeroblob64(handle, Int32(index), UInt64(count)))
    }

    /// Binds an object for a function of this connection, if the SQL has the parameter; it is released with the binding.
    package func bind(object: AnyObject, named name: String) throws(DatabaseError) {
        guard let index = parameter(name) else { return }
        // SQLite releases it if the binding fails, too.
        let pointer = Unmanaged.passRetained(object).toOpaque()
        try check(
            sqlite3_bind_pointer(handle, Int32(index), pointer, BoundObject.type) { pointer in
                pointer.map { Unmanaged<AnyObject>.fromOpaque($0).release() }
            })
    }

    /// Binds a pointer of ``RowSums``, which must outlive the run.
    func bind(_ reading: UnsafeMutablePointer<ferry_reading>, at index: Int) throws(DatabaseError) {
        try check(ferry_sqlite3_bind_reading(handle, Int32(index), reading))
    }

    /// Clears all bindings.
    package func unbind() { sqlite3_clear_bindings(handle) }

    package func bind(_ value: Value, at index: Int) throws(DatabaseError) {
        switch value {
        case .null: try bindNull(at: index)
        case .integer(let integer): try bind(integer, at: index)
        case .real(let real): try bind(real, at: index)
        case .text(let text): try bind(text, at: index)
        case .blob(let bytes): try bind(bytes, at: index)
        }
    }

    package func bind(_ values: [Value]) throws(DatabaseError) {
        for (offset, value) in values.enumerated() { try bind(value, at: offset + 1) }
    }

    /// Returns the index of a named parameter (`:name`, `@name`, `$name`), or nil if the SQL has none of this name.
    package func parameter(_ name: String) -> Int? {
        let index = sqlite3_bind_parameter_index(handle, name)
        return index == 0 ? nil : Int(index)
    }

    /// Binds a named parameter if the SQL has it.
    package func bind(_ value: Value, named name: String) throws(DatabaseError) {
        guard let index = parameter(name) else { return }
        try bind(value, at: index)
    }

    // MARK: Running

    /// Steps to the next row; false at the end, where the statement is reset and may be run again.
    package func step() throws(DatabaseError) -> Bool {
        begin()
        return try stepped(sqlite3_step(handle))
    }

    /// Starts the trace's clock; for use before steps by C code.
    func begin() {
        if connection.isTraced, !isSilent, started == 0 { started = Clock.nanoseconds() }
    }

    /// Returns whether a step with this result code is at a row.
    func stepped(_ code: Int32) throws(DatabaseError) -> Bool {
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            finish()
            return false
        case let code:
            let error = connection.error(code, sql: sql)
            finish()
            throw error
        }
    }

    /// Runs to the end and resets the statement; bindings stay.
    package func run() throws(DatabaseError) {
        while try step() {}
    }

    package func reset() { finish() }

    private func finish() {
        sqlite3_reset(handle)
        report()
    }

    /// Reports the time since the first step to the trace.
    private func report() {
        guard started != 0 else { return }
        connection.report(sql, nanoseconds: Clock.nanoseconds(since: started))
        started = 0
    }

    // MARK: Columns of the current row (counted from 0)

    package var columnCount: Int { Int(sqlite3_column_count(handle)) }

    package func storageClass(_ column: Int) -> StorageClass {
        StorageClass(rawValue: sqlite3_column_type(handle, Int32(column))) ?? .null
    }

    package func isNull(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }
    package func integer(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }
    package func real(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

    /// Returns the text of a column, with invalid UTF-8 repaired.
    package func text(_ column: Int) -> String {
        withBytes(column) { String(decoding: $0, as: UTF8.self) }
    }

    package func blob(_ column: Int) -> [UInt8] { withBytes(column) { Array($0) } }

    /// Calls the body with the bytes of a text or BLOB column.
    package func withBytes<Result>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
    {
        try body(lentBytes(column))
    }

    /// Returns the bytes of a text or BLOB column of the current row, valid until the next call on this statement.
    package func lentBytes(_ column: Int) -> UnsafeRawBufferPointer {
        // The pointer first: a read of the size first could convert the value twice.
        let pointer = sqlite3_column_blob(handle, Int32(column))
        let count = Int(sqlite3_column_bytes(handle, Int32(column)))
        return UnsafeRawBufferPointer(start: pointer, count: pointer == nil ? 0 : count)
    }

    package func value(_ column: Int) -> Value {
        switch storageClass(column) {
        case .null: .null
        case .integer: .integer(integer(column))
        case .real: .real(real(column))
        case .text: .text(text(column))
        case .blob: .blob(blob(column))
        }
    }

    func check(_ code: Int32) throws(DatabaseError) {
        guard code == SQLITE_OK else { throw connection.error(code, sql: sql) }
    }
}

/// A column of one statement and the column of another one to compare it with.
package struct ColumnPair: Sendable {
    fileprivate var own: Int32
    fileprivate var other: Int32

    package init(_ own: Int, _ other: Int) {
        (self.own, self.other) = (Int32(own), Int32(other))
    }
}

extension Statement {
    /// Whether two columns of current rows are equal, in storage class and bytes; copies nothing.
    package func holdsSame(_ column: Int, as other: Statement, _ otherColumn: Int) -> Bool {
        ferry_sqlite3_columns_equal(handle, Int32(column), other.handle, Int32(otherColumn)) != 0
    }

    /// Whether all of these columns are NULL.
    package func areNull(_ columns: [Int32]) -> Bool {
        columns.withUnsafeBufferPointer { ferry_sqlite3_are_null(handle, $0.baseAddress, $0.count) != 0 }
    }

    /// Whether all pairs of columns are equal.
    package func holdsSame(_ pairs: [ColumnPair], as other: Statement) -> Bool {
        pairs.withUnsafeBytes { pairs in
            ferry_sqlite3_rows_equal(
                handle, other.handle, pairs.baseAddress?.assumingMemoryBound(to: Int32.self),
                pairs.count / MemoryLayout<ColumnPair>.stride) != 0
        }
    }
}

/// Compares two byte strings like SQLite's BINARY: below 0 if the first one comes first.
package func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    Int(ferry_compare_bytes(left.baseAddress, left.count, right.baseAddress, right.count))
}

/// The required order of a statement's rows, by SQLite's order of values.
package struct RowOrder: Sendable {
    package enum Collation: Int32, Sendable { case binary, noCase, rightTrim }

    let orders: [ferry_order]
    let keyCount: Int
    let isUnique: Bool

    /// With `isUnique`, no two rows may have equal values without NULL in the first `keyCount` columns.
    package init(_ columns: [(collation: Collation, isDescending: Bool)], keyCount: Int, isUnique: Bool) {
        orders = columns.map { ferry_order(collation: $0.collation.rawValue, is_descending: $0.isDescending ? 1 : 0) }
        self.keyCount = keyCount
        self.isUnique = isUnique
    }
}
