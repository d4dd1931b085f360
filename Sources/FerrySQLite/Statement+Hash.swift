internal import CSQLite
package import FerryBase

extension Statement {
    /// A keyed hash of some columns of the row at hand: of their storage classes and bytes, in the order given.
    ///
    /// That of ``KeyedHash`` over a word for each storage class, with the size where there is one, and the value's words.
    package func hash(of columns: [Int], key: KeyedHash.Key) -> (UInt64, UInt64) {
        var hash: (UInt64, UInt64) = (0, 0)
        columns.withUnsafeBufferPointer { columns in
            withUnsafeMutableBytes(of: &hash) { hash in
                ferry_sqlite3_row_hash(
                    handle, columns.baseAddress, columns.count, key.low, key.high,
                    hash.baseAddress?.assumingMemoryBound(to: UInt64.self))
            }
        }
        return hash
    }
}
