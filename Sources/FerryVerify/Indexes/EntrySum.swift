/// A sum of keyed hashes: equal for two sets of entries if and, but for one chance in 2⁶⁴, only if they are the same,
/// whatever their order.
struct EntrySum: Equatable, Sendable, Codable {
    private(set) var count: Int64
    private var sum: UInt64

    init(count: Int64 = 0, sum: UInt64 = 0) { (self.count, self.sum) = (count, sum) }

    mutating func add(_ other: EntrySum) {
        sum &+= other.sum
        count += other.count
    }
}
