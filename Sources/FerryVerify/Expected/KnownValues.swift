internal import FerryBase

/// The keys of objects that were looked for last, by a hash of their values: a table of fixed size in front of the one in
/// the lookup file.
final class KnownValues {
    struct Hash: Equatable {
        var low: UInt64
        var high: UInt64
    }

    private struct Entry {
        /// Nothing has the hash 0, but for one chance in 2¹²⁸.
        var hash = Hash(low: 0, high: 0)
        var key: Int64 = 0
    }

    /// Places in which a hash may stand: with one, two values that are met all the time could drive each other out.
    private static let ways = 4

    private let entries: UnsafeMutablePointer<Entry>
    private let capacity: Int
    private let buckets: UInt64

    /// - Parameter bytes: What it may take; made at once, so that memory does not depend on how many values come.
    init(bytes: Int) {
        let most = UInt64(max(1, bytes / (MemoryLayout<Entry>.stride * Self.ways)))
        // The largest power of two that is not above.
        buckets = 1 << UInt64(UInt64.bitWidth - 1 - most.leadingZeroBitCount)
        capacity = Int(buckets) * Self.ways
        entries = .allocate(capacity: capacity)
        entries.initialize(repeating: Entry(), count: capacity)
    }

    deinit { entries.deallocate() }

    func find(_ hash: Hash) -> Int64? {
        let first = place(of: hash)
        for place in first..<first + Self.ways where entries[place].hash == hash { return entries[place].key }
        return nil
    }

    /// Takes an object that is not in the table, in the place of another one where there is no free one.
    func add(_ hash: Hash, key: Int64) {
        let first = place(of: hash)
        let free = (first..<first + Self.ways).first { entries[$0].hash == Hash(low: 0, high: 0) }
        let place = free ?? first + Int(hash.high % UInt64(Self.ways))
        entries[place] = Entry(hash: hash, key: key)
    }

    private func place(of hash: Hash) -> Int { Int(hash.low & (buckets - 1)) * Self.ways }
}
