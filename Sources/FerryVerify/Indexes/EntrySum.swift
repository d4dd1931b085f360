internal import FerryBase
internal import FerrySQLite

/// A sum of keyed hashes: equal for two sets of entries if and, but for one chance in 2¹²⁸, only if they are the same,
/// whatever their order.
struct EntrySum: Equatable, Sendable, Codable {
    private(set) var count: Int64 = 0
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// Adds the entry that some columns of a row make.
    mutating func add(_ row: Statement, _ columns: [Int], key: KeyedHash.Key) {
        let sum = row.hash(of: columns, key: key)
        low &+= sum.0
        high &+= sum.1
        count += 1
    }

    mutating func add(_ other: EntrySum) {
        low &+= other.low
        high &+= other.high
        count += other.count
    }
}
