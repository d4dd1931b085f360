/// Remembers, within a fixed size, which object has which values, by the hashes of the values.
///
/// A table of slots in the order of the hashes, each as near to its own place as those before it allow: what is written
/// to disk comes out sorted, and what is forgotten leaves no gap that a search would stop at.
package final class ObjectHashTable {
    /// What stands for the values of one object.
    package struct Hash: Equatable {
        package var first: UInt64
        package var second: UInt64

        /// Of all bits two are the table's own.
        package init(_ hash: (UInt64, UInt64)) {
            first = hash.0
            second = hash.1 & ~Slot.isUsed | Slot.isTaken
        }

        static func < (left: Hash, right: Hash) -> Bool {
            left.first != right.first ? left.first < right.first : left.second < right.second
        }
    }

    fileprivate struct Slot {
        static let isUsed: UInt64 = 1
        static let isTaken: UInt64 = 2

        var first: UInt64 = 0
        /// 0 when the slot is empty; the lowest bit says that the object was found since the last clearing.
        var second: UInt64 = 0
        var key: Int64 = 0

        var hash: Hash { Hash((first, second)) }
    }

    /// Slots behind the last place, so that nothing has to begin again at the front.
    private static let tail = 4096

    private let bits: Int
    private let end: Int
    private let slots: UnsafeMutablePointer<Slot>
    package private(set) var count = 0
    /// Seven eighths: beyond, walks get long.
    package let capacity: Int

    /// - Parameter bytes: The size; as many slots as fit, a power of two of them.
    package convenience init(bytes: Int) {
        let slots = max(1 << 8, bytes / MemoryLayout<Slot>.stride)
        self.init(bits: Int.bitWidth - 1 - slots.leadingZeroBitCount)
    }

    /// - Parameter bits: The logarithm of the number of slots.
    package init(bits: Int) {
        self.bits = bits
        end = 1 << bits + Self.tail
        capacity = (1 << bits) / 8 * 7
        slots = .allocate(capacity: end)
        slots.initialize(repeating: Slot(), count: end)
    }

    deinit { slots.deallocate() }

    private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> UInt64(64 - bits)) }

    /// The first slot from a hash's own place that does not hold a smaller one.
    private func place(of hash: Hash) -> Int {
        var place = home(hash.first)
        while place < end, slots[place].second != 0 {
            let slot = slots[place]
            if slot.first > hash.first { break }
            if slot.first == hash.first, slot.second & ~Slot.isUsed >= hash.second { break }
            place += 1
        }
        return place
    }

    /// The object with these values, if it is remembered.
    package func key(of hash: Hash) -> Int64? {
        let place = place(of: hash)
        guard place < end, slots[place].first == hash.first, slots[place].second & ~Slot.isUsed == hash.second else {
            return nil
        }
        if slots[place].second & Slot.isUsed == 0 { slots[place].second |= Slot.isUsed }
        return slots[place].key
    }

    /// Remembers an object that is not remembered yet.
    ///
    /// - Returns: Whether there was room.
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

    /// Forgets objects, at least half of those that may be forgotten: first those that were not found lately.
    ///
    /// - Parameter last: Objects with keys above it stay.
    package func makeRoom(keepingAbove last: Int64) {
        var used = 0
        for place in 0..<end where slots[place].second & Slot.isUsed != 0 && slots[place].key <= last { used += 1 }
        // Where too many were found lately, every other one goes.
        let halves = used > capacity / 2
        var next = 0
        var isKept = false
        count = 0
        for place in 0..<end where slots[place].second != 0 {
            var slot = slots[place]
            slots[place] = Slot()
            if slot.key <= last {
                guard slot.second & Slot.isUsed != 0 else { continue }
                isKept.toggle()
                if halves, isKept { continue }
            }
            slot.second &= ~Slot.isUsed
            // With fewer before it, it stands where it was or nearer to its own place.
            next = max(home(slot.first), next)
            slots[next] = slot
            next += 1
            count += 1
        }
    }

    package func removeAll() {
        slots.update(repeating: Slot(), count: end)
        count = 0
    }

    /// Goes through the objects with keys above the given one, in the order of their hashes.
    ///
    /// - Parameters:
    ///   - place: 0 at first; then as the last call left it.
    ///   - last: Objects with keys up to this one are left out.
    /// - Returns: Nil at the end.
    package func next(from place: inout Int, above last: Int64) -> (hash: Hash, key: Int64)? {
        while place < end {
            defer { place += 1 }
            let slot = slots[place]
            if slot.second != 0, slot.key > last { return (slot.hash, slot.key) }
        }
        return nil
    }
}
