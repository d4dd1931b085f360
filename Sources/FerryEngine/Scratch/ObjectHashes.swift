internal import FerryBase
internal import FerrySQLite

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
    /// By a pointer, so that no access is checked or can copy all of them; every place is held below `end`.
    private let slots: UnsafeMutablePointer<Slot>
    package private(set) var count = 0
    /// Seven eighths: beyond, walks get long.
    package let capacity: Int

    /// As many slots as fit into some bytes, a power of two of them.
    package convenience init(bytes: Int) {
        let slots = max(1 << 8, bytes / MemoryLayout<Slot>.stride)
        self.init(bits: Int.bitWidth - 1 - slots.leadingZeroBitCount)
    }

    /// Takes the logarithm of the number of slots.
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

    /// Remembers an object that is not remembered yet; false where there is no room.
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

    /// Forgets objects with keys up to `last`, at least half of those that may be forgotten: first those that were not
    /// found lately.
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

    /// Goes through the objects with keys above the given one, in the order of their hashes; nil at the end.
    ///
    /// The place is 0 at first, then as the last call left it.
    package func next(from place: inout Int, above last: Int64) -> (hash: Hash, key: Int64)? {
        while place < end {
            defer { place += 1 }
            let slot = slots[place]
            if slot.second != 0, slot.key > last { return (slot.hash, slot.key) }
        }
        return nil
    }
}

/// The part of a lookup that is on disk, in scratch: hashes of values and keys of their objects.
///
/// Three tables in the order of the hashes, each several times as large as the one before, which is emptied into it when
/// it is full. So what is added is written a few times in order, and a search looks into three tables at most.
final class ObjectHashesOnDisk {
    /// How many objects the first table and the second one hold before they are emptied into the next one.
    private let limits: [Int64]
    private let name: String
    private let connection: Connection
    private let search: Statement
    private let insert: Statement
    private let moves: [(copy: Statement, clear: Statement)]
    private let record: Statement
    /// Objects in each table.
    private var counts: [Int64] = []
    /// All objects with keys up to it are in these tables; nil when none has been saved yet.
    private(set) var last: Int64?

    /// `rows` is SQL that gives hashes and keys of what is to be saved, `batch` objects at a time, in the order of the
    /// hashes.
    init(_ name: String, rows: String, batch: Int, on connection: Connection) throws(DatabaseError) {
        self.name = name
        self.connection = connection
        limits = [Int64(batch) * 4, Int64(batch) * 32]
        let tables = ScratchDatabase.lookupTables(of: name)
        let columns = "(first, second, destination)"
        let selects = tables.map { "SELECT destination FROM \($0) WHERE first = ?1 AND second = ?2" }
        search = try connection.prepare(selects.joined(separator: " UNION ALL "))
        insert = try connection.prepare("INSERT INTO \(tables[0]) \(columns) \(rows)")
        var moves: [(copy: Statement, clear: Statement)] = []
        for (upper, lower) in zip(tables, tables.dropFirst()) {
            let copy = try connection.prepare(
                "INSERT INTO \(lower) \(columns) SELECT first, second, destination FROM \(upper) ORDER BY first, second"
            )
            moves.append((copy, try connection.prepare("DELETE FROM \(upper)")))
        }
        self.moves = moves
        record = try connection.prepare(
            "UPDATE \(ScratchDatabase.lookups) SET last = ?2, count0 = ?3, count1 = ?4, count2 = ?5 WHERE name = ?1")
        // They run within a function, many times in a statement.
        for statement in [search, insert, record] + moves.flatMap({ [$0.copy, $0.clear] }) { statement.isSilent = true }
        try reload()
    }

    /// Whether scratch is as the last call left it: a unit that was rolled back took what it saved with it.
    func isCurrent() throws(DatabaseError) -> Bool {
        try connection.integer("SELECT last FROM \(ScratchDatabase.lookups) WHERE name = ?", [.text(name)]) == last
    }

    /// Takes over what is in scratch now.
    func reload() throws(DatabaseError) {
        let row = try connection.rows(
            "SELECT last, count0, count1, count2 FROM \(ScratchDatabase.lookups) WHERE name = ?", [.text(name)]
        ).first
        last = row?[0].integer
        counts = (1...3).map { row?[$0].integer ?? 0 }
    }

    /// The object with these values, if it was saved.
    func key(of hash: ObjectHashTable.Hash) throws(DatabaseError) -> Int64? {
        try search.bind(Self.integer(hash.first), at: 1)
        try search.bind(Self.integer(hash.second), at: 2)
        defer { search.reset() }
        return try search.step() ? search.integer(0) : nil
    }

    /// Saves what the lookup's rows are now; `last` is the highest of their keys.
    func save(through last: Int64) throws(DatabaseError) {
        try insert.run()
        counts[0] += connection.changes
        for level in limits.indices where counts[level] >= limits[level] {
            try moves[level].copy.run()
            try moves[level].clear.run()
            counts[level + 1] += counts[level]
            counts[level] = 0
        }
        self.last = last
        try record.bind([.text(name), .integer(last)] + counts.map { .integer($0) })
        try record.run()
    }

    func forEach(_ body: (ObjectHashTable.Hash) -> Void) throws(DatabaseError) {
        for table in ScratchDatabase.lookupTables(of: name) {
            let all = try connection.prepare("SELECT first, second FROM \(table)")
            while try all.step() {
                body(ObjectHashTable.Hash((Self.unsigned(all.integer(0)), Self.unsigned(all.integer(1)))))
            }
        }
    }

    // MARK: Hashes as integers of the same order

    static func integer(_ word: UInt64) -> Int64 { Int64(bitPattern: word ^ 1 << 63) }
    private static func unsigned(_ integer: Int64) -> UInt64 { UInt64(bitPattern: integer) ^ 1 << 63 }
}
