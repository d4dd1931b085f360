/// A hash table of fixed size from the hashes of values to the keys of objects.
///
/// The slots are in the order of the hashes, each as near to its home slot as the earlier ones allow: saving to disk needs
/// no sorting.
package final class ObjectHashTable {
    /// The hash of one object's values.
    package struct Hash: Equatable {
        /// Stands for no hash; an object's hash has this value once in 2¹²⁷.
        static let none = Hash((0, 0))

        package var first: UInt64
        package var second: UInt64

        /// The table uses one of the bits itself.
        package init(_ hash: (UInt64, UInt64)) { (first, second) = (hash.0, hash.1 | 1) }
    }

    private struct Slot {
        var first: UInt64 = 0
        /// 0 if the slot is empty.
        var second: UInt64 = 0
        var key: Int64 = 0

        var hash: Hash { Hash((first, second)) }
    }

    /// Slots after the last home slot, so that searches do not wrap around.
    private static let tail = 4096

    private let bits: Int
    private let end: Int
    /// A pointer avoids access checks and copies; every place stays below `end`.
    private let slots: UnsafeMutablePointer<Slot>
    package private(set) var count = 0
    /// Seven eighths of the slots: a fuller table makes searches long.
    package let capacity: Int

    /// The largest power of two of slots that fits into `bytes`.
    package convenience init(bytes: Int) {
        let slots = max(1 << 8, bytes / MemoryLayout<Slot>.stride)
        self.init(bits: Int.bitWidth - 1 - slots.leadingZeroBitCount)
    }

    /// A table with 2 to the power of `bits` home slots.
    package init(bits: Int) {
        self.bits = bits
        end = 1 << bits + Self.tail
        capacity = (1 << bits) / 8 * 7
        slots = .allocate(capacity: end)
        slots.initialize(repeating: Slot(), count: end)
    }

    deinit { slots.deallocate() }

    private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> UInt64(64 - bits)) }

    /// The first slot from a hash's home slot on that does not hold a smaller hash.
    private func place(of hash: Hash) -> Int {
        var place = home(hash.first)
        while place < end, slots[place].second != 0 {
            let slot = slots[place]
            if slot.first > hash.first { break }
            if slot.first == hash.first, slot.second >= hash.second { break }
            place += 1
        }
        return place
    }

    /// The object with a hash, or nil.
    package func key(of hash: Hash) -> Int64? {
        let place = place(of: hash)
        guard place < end, slots[place].first == hash.first, slots[place].second == hash.second else { return nil }
        return slots[place].key
    }

    /// Adds an object that the table does not have; false if there is no room.
    package func add(_ key: Int64, with hash: Hash) -> Bool {
        guard count < capacity else { return false }
        let place = place(of: hash)
        var free = place
        while free < end, slots[free].second != 0 { free += 1 }
        guard free < end else { return false }
        (slots + place + 1).update(from: slots + place, count: free - place)
        slots[place] = Slot(first: hash.first, second: hash.second, key: key)
        count += 1
        return true
    }

    package func removeAll() {
        slots.update(repeating: Slot(), count: end)
        count = 0
    }

    /// The next object with a key above `last`, in the order of the hashes, or nil at the end; begin with place 0.
    package func next(from place: inout Int, above last: Int64) -> (hash: Hash, key: Int64)? {
        while place < end {
            defer { place += 1 }
            let slot = slots[place]
            if slot.second != 0, slot.key > last { return (slot.hash, slot.key) }
        }
        return nil
    }
}
