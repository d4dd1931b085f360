internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// How mappings of one destination entity find objects: searches that are equal find the same ones.
struct UniqueSearch: Equatable {
    let attributes: [String]
    let nilIsEqual: Bool

    init(_ mapping: ResolvedEntityMapping) { (attributes, nilIsEqual) = (mapping.unique, mapping.nilIsEqual) }

    /// A hash of the values of `unique`: equal exactly if SQLite's `IS` finds the values equal.
    ///
    /// Values with nil have no hash where nil equals nothing.
    func hash(of values: [PlainValue], _ key: KeyedHash.Key) -> UniqueHash? {
        if !nilIsEqual, values.contains(where: \.isNull) { return nil }
        var hash = ValuesHash(key)
        for value in values {
            switch value {
            case .integer(let integer): hash.add(integer)
            case .real(let real): hash.add(real)
            case .text(let bytes): bytes.withUnsafeBytes { hash.add($0, isText: true) }
            case .blob(let bytes): bytes.withUnsafeBytes { hash.add($0, isText: false) }
            default: hash.addNull()
            }
        }
        return hash.finish()
    }
}

/// A keyed hash of 128 bits.
struct UniqueHash: Equatable {
    var low: UInt64
    var high: UInt64
}

private struct ValuesHash {
    private var hash: KeyedHash

    init(_ key: KeyedHash.Key) { hash = KeyedHash(key) }

    mutating func addNull() { hash.add(0) }

    mutating func add(_ integer: Int64) {
        hash.add(1)
        hash.add(UInt64(bitPattern: integer))
    }

    /// Equal numbers need equal hashes: a whole real counts as an integer, and -0 as 0.
    mutating func add(_ real: Double) {
        if let integer = Int64(exactly: real) { return add(integer) }
        hash.add(2)
        hash.add(real.bitPattern)
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer, isText: Bool) {
        hash.add(isText ? 3 : 4)
        hash.add(UInt64(bytes.count))
        hash.add(bytes)
    }

    func finish() -> UniqueHash {
        let (low, high) = hash.finish()
        return UniqueHash(low: low, high: high)
    }
}

/// The objects of a root table that mappings find by `unique`.
///
/// A table for each search has the first key of each hash. It is filled from the destination's rows, and sorted, before
/// the walk, which corrects it where a row has other values than expected: so every key before the walk's next one is that
/// of the first expected object, and most objects need no insertion.
final class UniqueObjects {
    private final class Lookup {
        let search: UniqueSearch
        let entity: String
        /// Of the attributes of `unique` in the destination's rows; nil for one that is not stored.
        let places: [Int?]
        let table: String
        /// Whether no two objects have equal values: then an object with the sought ones is the first.
        var isDistinct: Bool
        /// The hash of the last search; nil if its values equal no others.
        var sought: UniqueHash?
        /// The hash of the destination's row at a key: usually several searches see the same one.
        private var stored: (key: Int64, hash: UniqueHash?)?
        let recent: RecentObjects
        let find, add, remove: Statement

        /// Fills the table, unless an earlier call did.
        init(
            _ mapping: ResolvedEntityMapping, places: [Int?], bytes: Int, _ key: KeyedHash.Key,
            in context: VerificationContext
        ) throws {
            let (search, entity) = (UniqueSearch(mapping), mapping.destination)
            let table = "lookups.unique_\(mapping.position)"
            try context.progress.once("values of \(table)", in: context) {
                try UniqueObjects.fill(table, search, entity, key, in: context)
            }
            (self.search, self.entity, self.places, self.table) = (search, entity, places, table)
            isDistinct = !context.progress.state.repeated.contains(table)
            recent = RecentObjects(bytes: bytes)
            find = try context.connection.prepare("SELECT key FROM \(table) WHERE hash = ?")
            remove = try context.connection.prepare("DELETE FROM \(table) WHERE hash = ? AND key = ?")
            add = try context.connection.prepare(
                """
                INSERT INTO \(table) VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET key = min(key, excluded.key)
                """)
        }

        /// The hash of a destination row; nil if its values equal no others.
        func hash(of row: TableRows, _ key: KeyedHash.Key) throws -> UniqueHash? {
            let number = row.integer(0)
            if let stored, stored.key == number { return stored.hash }
            let hash = search.hash(of: try places.map { place in try place.map(row.raw) ?? .null }, key)
            stored = (number, hash)
            return hash
        }
    }

    private let lookups: [Lookup]
    private let key: KeyedHash.Key
    private let context: VerificationContext

    /// The objects that the mappings find in a root table.
    init(_ mappings: [ResolvedEntityMapping], of root: String, in context: VerificationContext) throws {
        self.context = context
        key = context.progress.state.hashKey
        var searches: [ResolvedEntityMapping] = []
        for mapping in mappings where !mapping.unique.isEmpty {
            let isKnown = searches.contains {
                $0.destination == mapping.destination && UniqueSearch($0) == UniqueSearch(mapping)
            }
            if !isKnown { searches.append(mapping) }
        }
        let bytes = context.verification.knownValueBytes / max(1, searches.count)
        let columns = try context.destinationTable(of: root).columns
        lookups = try searches.map { [key] mapping in
            let places = mapping.unique.map { attribute in
                context.destination.column(of: attribute, in: mapping.destination).flatMap { column in
                    columns.firstIndex { $0.name == column.name }.map { $0 + ExpectedRow.firstColumn }
                }
            }
            return try Lookup(mapping, places: places, bytes: bytes, key, in: context)
        }
    }

    func isNeeded(for entity: String) -> Bool { lookups.contains { $0.entity == entity } }

    // MARK: Filling

    private static func fill(
        _ table: String, _ search: UniqueSearch, _ entity: String, _ key: KeyedHash.Key,
        in context: VerificationContext
    ) throws {
        let connection = context.connection
        let columns = search.attributes.map { attribute in
            context.destination.column(of: attribute, in: entity).map { Connection.quoted($0.name) } ?? "NULL"
        }
        let function = "ferry_hash_of_\(table.dropFirst("lookups.".count))"
        var rows: Int64 = 0
        try connection.register(function, arguments: columns.count, deterministic: false) { arguments, result in
            rows += 1
            var hash = ValuesHash(key)
            for index in 0..<columns.count {
                switch arguments.storageClass(index) {
                case .null: hash.addNull()
                case .integer: hash.add(arguments.integer(index))
                case .real: hash.add(arguments.real(index))
                case .text: arguments.withBytes(index) { hash.add($0, isText: true) }
                case .blob: arguments.withBytes(index) { hash.add($0, isText: false) }
                }
            }
            withUnsafeBytes(of: hash.finish()) { result.setBlob($0) }
        }
        let known = search.nilIsEqual ? "" : columns.map { " AND \($0) IS NOT NULL" }.joined()
        try connection.execute(
            """
            CREATE TABLE \(table) (hash BLOB PRIMARY KEY, key INTEGER) WITHOUT ROWID;
            INSERT OR IGNORE INTO \(table)
            SELECT \(function)(\(columns.joined(separator: ", "))), Z_PK
            FROM destination.\(try context.destinationTable(of: entity).name) NOT INDEXED
            WHERE Z_ENT = \(try context.destinationNumber(of: entity))\(known) ORDER BY 1, 2
            """)
        if connection.changes < rows { context.progress.state.repeated.insert(table) }
    }

    // MARK: The walk

    /// The key of the first object of the mapping's destination entity with the sought values of `unique`; nil if an object
    /// is made at the next key, where the destination has the stored row of the entity, or none.
    func find(_ expected: ExpectedRow, _ sought: [PlainValue], before next: Int64, stored: TableRows?) throws -> Int64?
    {
        let mapping = expected.mapping
        guard
            let lookup = lookups.first(where: {
                $0.entity == mapping.destination && $0.search == expected.search
            })
        else { preconditionFailure("no lookup for \(mapping.name)") }
        lookup.sought = lookup.search.hash(of: sought, key)
        guard let hash = lookup.sought else { return nil }
        if lookup.isDistinct, let stored, try lookup.hash(of: stored, key) == hash { return nil }
        if let known = lookup.recent.find(hash) { return known }
        try lookup.find.bind(hash)
        defer { lookup.find.reset() }
        guard try lookup.find.step() else { return nil }
        let found = lookup.find.integer(0)
        guard found < next else { return nil }
        lookup.recent.add(hash, key: found)
        return found
    }

    /// Corrects the tables if an object's stored values are not the expected ones.
    ///
    /// The expected values are by attribute, and nil if no object is expected at the key; the stored row is nil if there is
    /// none of the entity. Without a maker, the object exists independently of a search.
    func settle(
        entity: String, key: Int64, by maker: UniqueSearch? = nil, expected: ((String) throws -> PlainValue)?,
        stored: TableRows?
    ) throws {
        for lookup in lookups where lookup.entity == entity {
            let right =
                lookup.search == maker
                ? lookup.sought
                : try expected.flatMap { lookup.search.hash(of: try lookup.search.attributes.map($0), self.key) }
            let found = try stored.flatMap { try lookup.hash(of: $0, self.key) }
            if lookup.isDistinct, found == right {
                if let right { lookup.recent.add(right, key: key) }
                continue
            }
            if lookup.isDistinct {
                lookup.isDistinct = false
                context.progress.state.repeated.insert(lookup.table)
            }
            if let found, found != right { try lookup.remove.run(found, key: key) }
            if let right { try lookup.add.run(right, key: key) }
        }
    }
}

extension Statement {
    fileprivate func bind(_ hash: UniqueHash) throws(DatabaseError) {
        let bound = withUnsafeBytes(of: hash) { bytes in
            Result { () throws(DatabaseError) in try bind(blob: bytes, at: 1) }
        }
        try bound.get()
    }

    fileprivate func run(_ hash: UniqueHash, key: Int64) throws(DatabaseError) {
        try bind(hash)
        try bind(key, at: 2)
        try run()
    }
}

/// The keys of recent objects by a hash of their values, in memory of fixed size.
private final class RecentObjects {
    private struct Entry {
        /// The hash 0 marks a free entry; a real hash is 0 once in 2¹²⁸.
        var hash = UniqueHash(low: 0, high: 0)
        var key: Int64 = 0
    }

    /// Entries per bucket: with one, two frequent values could evict each other all the time.
    private static let ways = 4

    private let entries: UnsafeMutablePointer<Entry>
    private let buckets: Int

    init(bytes: Int) {
        let most = UInt64(max(1, bytes / (MemoryLayout<Entry>.stride * Self.ways)))
        // The largest power of two up to `most`.
        buckets = 1 << (UInt64.bitWidth - 1 - most.leadingZeroBitCount)
        entries = .allocate(capacity: buckets * Self.ways)
        entries.initialize(repeating: Entry(), count: buckets * Self.ways)
    }

    deinit { entries.deallocate() }

    private func bucket(of hash: UniqueHash) -> Range<Int> {
        let first = (Int(truncatingIfNeeded: hash.low) & (buckets - 1)) * Self.ways
        return first..<first + Self.ways
    }

    func find(_ hash: UniqueHash) -> Int64? {
        for place in bucket(of: hash) where entries[place].hash == hash { return entries[place].key }
        return nil
    }

    /// Adds an object that is not in the table; a full bucket loses an entry.
    func add(_ hash: UniqueHash, key: Int64) {
        let bucket = bucket(of: hash)
        let free = bucket.first { entries[$0].hash == UniqueHash(low: 0, high: 0) }
        entries[free ?? bucket.lowerBound + Int(hash.high % UInt64(Self.ways))] =
            Entry(hash: hash, key: key)
    }
}
