internal import CSQLite

/// A column of one statement and the column of another one that is to hold the same.
package struct ColumnPair: Sendable {
    fileprivate var own: Int32
    fileprivate var other: Int32

    package init(_ own: Int, _ other: Int) {
        (self.own, self.other) = (Int32(own), Int32(other))
    }
}

extension Statement {
    /// Whether a column of the row at hand holds the same as one of another statement's: same storage class and bytes.
    ///
    /// Nothing is copied.
    package func holdsSame(_ column: Int, as other: Statement, _ otherColumn: Int) -> Bool {
        ferry_sqlite3_columns_equal(handle, Int32(column), other.handle, Int32(otherColumn)) != 0
    }

    /// Whether all these columns hold the same as the other statement's.
    package func holdsSame(_ pairs: [ColumnPair], as other: Statement) -> Bool {
        pairs.withUnsafeBytes { pairs in
            ferry_sqlite3_rows_equal(
                handle, other.handle, pairs.baseAddress?.assumingMemoryBound(to: Int32.self),
                pairs.count / MemoryLayout<ColumnPair>.stride) != 0
        }
    }

    /// The bytes of a text or BLOB column of the row at hand, lent until the next call on this statement.
    package func lentBytes(_ column: Int) -> UnsafeRawBufferPointer {
        // The pointer first: asking for the size first could convert the value twice.
        let pointer = sqlite3_column_blob(handle, Int32(column))
        return UnsafeRawBufferPointer(
            start: pointer, count: pointer == nil ? 0 : Int(sqlite3_column_bytes(handle, Int32(column))))
    }
}

/// The order of two runs of bytes: below 0 where the first one comes first (SQLite's BINARY).
package func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    Int(ferry_compare_bytes(left.baseAddress, left.count, right.baseAddress, right.count))
}
