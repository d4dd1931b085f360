internal import CSQLite
package import FerryBase

extension Statement {
    /// A keyed hash of some columns of the row at hand: of their storage classes and bytes, in the order given.
    package func hash(of columns: [Int], key: KeyedHash.Key) -> (UInt64, UInt64) {
        var hash = KeyedHash(key)
        for column in columns {
            let value = sqlite3_column_value(handle, Int32(column))
            switch sqlite3_value_type(value) {
            case SQLITE_NULL: hash.add(0)
            case SQLITE_INTEGER:
                hash.add(1)
                hash.add(UInt64(bitPattern: sqlite3_value_int64(value)))
            case SQLITE_FLOAT:
                hash.add(2)
                hash.add(sqlite3_value_double(value).bitPattern)
            case let type:
                // The pointer first: asking for the size first could convert the value twice.
                let start = sqlite3_value_blob(value)
                let count = Int(sqlite3_value_bytes(value))
                hash.add((type == SQLITE_TEXT ? 3 : 4) | UInt64(count) << 8)
                if let start { hash.add(UnsafeRawBufferPointer(start: start, count: count)) }
            }
        }
        return hash.finish()
    }
}
