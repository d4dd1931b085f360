/// A sum of keyed hashes: equal for two sets of entries if and, but for one chance in 2¹²⁸, only if they are the same,
/// whatever their order.
struct EntrySum: Equatable, Sendable, Codable {
    private(set) var count: Int64
    private var low: UInt64
    private var high: UInt64

    init(count: Int64 = 0, low: UInt64 = 0, high: UInt64 = 0) {
        (self.count, self.low, self.high) = (count, low, high)
    }

    mutating func add(_ other: EntrySum) {
        low &+= other.low
        high &+= other.high
        count += other.count
    }
}
