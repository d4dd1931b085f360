internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Keyed hashes of 128 bits over the values of `unique`: equal exactly if SQLite's `IS` finds the values equal.
///
/// Values with nil have no hash where nil equals nothing.
struct UniqueValues {
    struct Hash: Equatable {
        var low: UInt64
        var high: UInt64
    }

    let key: KeyedHash.Key

    func hash(of values: [PlainValue], in search: UniqueSearch) -> Hash? {
        if !search.nilIsEqual, values.contains(where: \.isNull) { return nil }
        var hash = KeyedHash(key)
        for value in values {
            switch value {
            case .integer(let integer): Self.add(1, UInt64(bitPattern: integer), to: &hash)
            case .real(let real):
                // Equal numbers need equal hashes: a whole real counts as an integer, and -0 as 0.
                if let integer = Int64(exactly: real) {
                    Self.add(1, UInt64(bitPattern: integer), to: &hash)
                } else {
                    Self.add(2, real.bitPattern, to: &hash)
                }
            case .text(let bytes):
                Self.add(3, UInt64(bytes.count), to: &hash)
                bytes.withUnsafeBytes { hash.add($0) }
            case .blob(let bytes):
                Self.add(4, UInt64(bytes.count), to: &hash)
                bytes.withUnsafeBytes { hash.add($0) }
            default: hash.add(0)
            }
        }
        let (low, high) = hash.finish()
        return Hash(low: low, high: high)
    }

    private static func add(_ tag: UInt64, _ word: UInt64, to hash: inout KeyedHash) {
        hash.add(tag)
        hash.add(word)
    }

    /// The searches in one root table: the first mapping of each entity and list of attributes.
    static func searches(of mappings: [ResolvedEntityMapping]) -> [ResolvedEntityMapping] {
        var searches: [ResolvedEntityMapping] = []
        for mapping in mappings where !mapping.unique.isEmpty {
            let isKnown = searches.contains {
                $0.destination == mapping.destination && UniqueSearch($0) == UniqueSearch(mapping)
            }
            if !isKnown { searches.append(mapping) }
        }
        return searches
    }
}

/// How mappings of one destination entity find objects: searches that are equal find the same ones.
struct UniqueSearch: Equatable {
    let attributes: [String]
    let nilIsEqual: Bool

    init(_ mapping: ResolvedEntityMapping) { (attributes, nilIsEqual) = (mapping.unique, mapping.nilIsEqual) }
}

/// The objects of a root table that mappings find by `unique`, in the order of a walk.
protocol UniqueObjects: AnyObject {
    func isNeeded(for entity: String) -> Bool
    /// Finds the first object of the mapping's destination entity with the sought values of `unique`.
    ///
    /// `next` returns the values of the destination's object at the next new key; nil if it has none.
    func find(
        _ expected: ExpectedRow, _ sought: [PlainValue], source: Int64, element: Int64,
        next: () throws -> [PlainValue]?
    ) throws -> FoundObject
    /// Adds an object, with the search after which it was made; the first of equal values remains.
    func add(
        entity: String, key: Int64, by maker: UniqueSearch?, value: (String) throws -> PlainValue
    ) throws
}

enum FoundObject {
    case none
    case key(Int64)
    /// An earlier object, whose key becomes known later.
    case earlier
}

/// The keys of objects by a hash of their values: a table of fixed size, of all objects while they fit, then of recent ones.
final class KnownValues {
    private struct Entry {
        /// The hash 0 marks a free entry; a real hash is 0 once in 2¹²⁸.
        var hash = UniqueValues.Hash(low: 0, high: 0)
        var key: Int64 = 0

        var isFree: Bool { hash == UniqueValues.Hash(low: 0, high: 0) }
    }

    /// Entries per bucket of recent objects: with one, two frequent values could evict each other all the time.
    private static let ways = 4

    private let entries: UnsafeMutablePointer<Entry>
    private let capacity: Int
    /// The entries in use: all, or fewer for a pass over few objects.
    private var places: Int
    private var count = 0
    /// Whether no object was left out: then each value is in the first free place from its own on.
    private(set) var holdsAll: Bool

    /// Allocates the table at once, so that memory does not depend on the number of values.
    init(bytes: Int, holdsAll: Bool) {
        let most = UInt64(max(1, bytes / (MemoryLayout<Entry>.stride * Self.ways)))
        // The largest power of two up to `most`.
        capacity = (1 << (UInt64.bitWidth - 1 - most.leadingZeroBitCount)) * Self.ways
        places = capacity
        entries = .allocate(capacity: capacity)
        entries.initialize(repeating: Entry(), count: capacity)
        self.holdsAll = holdsAll
    }

    deinit { entries.deallocate() }

    func find(_ hash: UniqueValues.Hash) -> Int64? {
        if holdsAll {
            var place = Int(truncatingIfNeeded: hash.low) & (places - 1)
            while !entries[place].isFree {
                if entries[place].hash == hash { return entries[place].key }
                place = (place + 1) & (places - 1)
            }
            return nil
        }
        let first = bucket(of: hash)
        for place in first..<first + Self.ways where entries[place].hash == hash { return entries[place].key }
        return nil
    }

    /// Adds an object that is not in the table, unless it holds all others and has no place for this one, too.
    func addIfAll(_ hash: UniqueValues.Hash, key: Int64) -> Bool {
        // With more entries a search for a new value would pass too many others.
        guard holdsAll, count < Self.room(of: places) else { return false }
        var place = Int(truncatingIfNeeded: hash.low) & (places - 1)
        while !entries[place].isFree { place = (place + 1) & (places - 1) }
        entries[place] = Entry(hash: hash, key: key)
        count += 1
        return true
    }

    /// Calls the body with all objects and forgets them; from now on the table holds recent ones.
    func leaveAll(_ body: (UniqueValues.Hash, _ key: Int64) throws -> Void) rethrows {
        for place in 0..<places where !entries[place].isFree {
            try body(entries[place].hash, entries[place].key)
        }
        holdsAll = false
        entries.update(repeating: Entry(), count: places)
    }

    /// The number of objects that an empty table holds.
    var room: Int { Self.room(of: capacity) }

    private static func room(of places: Int) -> Int { places / 4 * 3 }

    /// Forgets all objects; from now on the table holds all, at most `objects`.
    ///
    /// Few objects get a small part of the table, which is cleared at once and stays in the processor's cache.
    func restart(for objects: Int) {
        (holdsAll, count) = (true, 0)
        places = capacity
        while places > Self.ways, objects <= Self.room(of: places / 2) { places /= 2 }
        entries.update(repeating: Entry(), count: places)
    }

    /// Adds an object that is not in the table of recent ones; a full bucket loses an entry.
    func add(_ hash: UniqueValues.Hash, key: Int64) {
        let first = bucket(of: hash)
        let free = (first..<first + Self.ways).first { entries[$0].isFree }
        entries[free ?? first + Int(hash.high % UInt64(Self.ways))] = Entry(hash: hash, key: key)
    }

    private func bucket(of hash: UniqueValues.Hash) -> Int {
        Int(truncatingIfNeeded: hash.low) & (places / Self.ways - 1) * Self.ways
    }
}

/// The objects of a root table by `unique`, looked up one by one, to find the wrong claims of ``UniqueClaims``.
///
/// One table in the lookup file per entity and list of attributes; recent values are in memory, too.
final class UniqueLookups: UniqueObjects {
    private final class Lookup {
        let search: UniqueSearch
        let insert: Statement
        let find: Statement
        private let bytes: Int
        private(set) lazy var known = KnownValues(bytes: bytes, holdsAll: false)

        init(_ search: UniqueSearch, insert: Statement, find: Statement, bytes: Int) {
            (self.search, self.insert, self.find, self.bytes) = (search, insert, find, bytes)
        }
    }

    private var lookups: [String: [Lookup]] = [:]
    private let values: UniqueValues

    /// The number distinguishes the tables of root tables.
    init(_ mappings: [ResolvedEntityMapping], number: Int, in context: VerificationContext) throws {
        values = UniqueValues(key: context.progress.hashKey())
        let searches = UniqueValues.searches(of: mappings)
        for mapping in searches {
            let table = "lookups.unique_\(number)_\(mapping.position)"
            try context.connection.execute(
                "CREATE TABLE IF NOT EXISTS \(table) (value BLOB PRIMARY KEY, key INTEGER) WITHOUT ROWID")
            lookups[mapping.destination, default: []].append(
                Lookup(
                    UniqueSearch(mapping),
                    insert: try context.connection.prepare("INSERT OR IGNORE INTO \(table) VALUES (?, ?)"),
                    find: try context.connection.prepare("SELECT key FROM \(table) WHERE value = ?"),
                    bytes: context.verification.knownValueBytes / searches.count))
        }
    }

    func isNeeded(for entity: String) -> Bool { lookups[entity] != nil }

    func find(
        _ expected: ExpectedRow, _ sought: [PlainValue], source: Int64, element: Int64,
        next: () throws -> [PlainValue]?
    ) throws -> FoundObject {
        let mapping = expected.mapping
        guard let lookup = lookups[mapping.destination]?.first(where: { $0.search == UniqueSearch(mapping) }) else {
            preconditionFailure("no lookup for \(mapping.name)")
        }
        guard let hash = values.hash(of: sought, in: lookup.search) else { return .none }
        if let key = lookup.known.find(hash) { return .key(key) }
        try bind(hash, to: lookup.find)
        defer { lookup.find.reset() }
        guard try lookup.find.step() else { return .none }
        let key = lookup.find.integer(0)
        lookup.known.add(hash, key: key)
        return .key(key)
    }

    func add(
        entity: String, key: Int64, by maker: UniqueSearch?, value: (String) throws -> PlainValue
    ) throws {
        for lookup in lookups[entity] ?? [] {
            guard let hash = try values.hash(of: lookup.search.attributes.map(value), in: lookup.search) else {
                continue
            }
            try bind(hash, to: lookup.insert)
            try lookup.insert.bind(key, at: 2)
            try lookup.insert.run()
        }
    }

    private func bind(_ hash: UniqueValues.Hash, to statement: Statement) throws(DatabaseError) {
        let bytes = withUnsafeBytes(of: (hash.low.bigEndian, hash.high.bigEndian)) { Array($0) }
        try statement.bind(bytes, at: 1)
    }
}
