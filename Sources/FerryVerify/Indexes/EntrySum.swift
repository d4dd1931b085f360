internal import FerryBase
internal import FerrySQLite

/// A sum of keyed hashes: equal for two sets of entries if and, but for one chance in 2¹²⁸, only if they are the same,
/// whatever their order.
struct EntrySum: Equatable {
    private(set) var count: Int64 = 0
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    static func == (left: EntrySum, right: EntrySum) -> Bool {
        (left.count, left.low, left.high) == (right.count, right.low, right.high)
    }

    /// Adds the entry that some columns of a row make.
    mutating func add(_ row: Statement, _ columns: [Int], key: KeyedHash.Key) {
        var hash = KeyedHash(key)
        for column in columns {
            switch row.storageClass(column) {
            case .null: hash.add(0)
            case .integer:
                hash.add(1)
                hash.add(UInt64(bitPattern: row.integer(column)))
            case .real:
                hash.add(2)
                hash.add(row.real(column).bitPattern)
            case .text:
                row.withBytes(column) { bytes in
                    hash.add(3 | UInt64(bytes.count) << 8)
                    hash.add(bytes)
                }
            case .blob:
                row.withBytes(column) { bytes in
                    hash.add(4 | UInt64(bytes.count) << 8)
                    hash.add(bytes)
                }
            }
        }
        let sum = hash.finish()
        low &+= sum.0
        high &+= sum.1
        count += 1
    }
}
