internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// The objects of a root table by `unique`, as the destination shows them, to be confirmed once all are known.
///
/// While the memory table holds all objects, it answers, and nothing is claimed. Once it does not:
///
/// If the object at the next key has the sought values, the claim is that it is the first with them; else that an
/// earlier object has them. Claims are put into partitions by their hash, each in the order in which they were made. In a
/// partition, each hash must begin with an object and have no second one: then every claim equals the result of a lookup
/// among all objects, and no lookup was needed. Values in the memory table are known, and not claimed again.
final class UniqueClaims: UniqueObjects {
    private enum Kind: Int64 {
        /// An object that exists independently of the search.
        case object = 0
        /// An object that was made because no other had its values.
        case made = 1
        /// A source object that merged into an earlier object.
        case earlier = 2
    }

    private final class Lookup {
        let search: UniqueSearch
        let table: String
        let rows: RowPartitions
        /// Whether the destination key of each source object is needed later.
        let isAssociated: Bool
        private let bytes: Int
        private(set) lazy var known = KnownValues(bytes: bytes, holdsAll: isFirst)
        /// Whether no earlier call, whose memory is gone, has made claims.
        private let isFirst: Bool
        /// The hash of the last search; nil if its values equal no others.
        var sought: UniqueValues.Hash?

        init(
            _ search: UniqueSearch, _ table: String, _ rows: RowPartitions, isAssociated: Bool, bytes: Int,
            isFirst: Bool
        ) {
            (self.search, self.table, self.rows) = (search, table, rows)
            (self.isAssociated, self.bytes, self.isFirst) = (isAssociated, bytes, isFirst)
        }

        /// Adds the first object with its values.
        func add(_ hash: UniqueValues.Hash, _ kind: Kind, key: Int64) throws {
            if known.addIfAll(hash, key: key) { return }
            try claimAll()
            try add(hash, kind, key: key, element: 0)
            known.add(hash, key: key)
        }

        /// Claims the objects that only the memory table holds.
        func claimAll() throws {
            if known.holdsAll { try known.leaveAll { try add($0, .object, key: $1, element: 0) } }
        }

        func add(_ hash: UniqueValues.Hash, _ kind: Kind, mapping: Int = 0, key: Int64, element: Int64) throws {
            try rows.add(
                to: Int(hash.high % UInt64(rows.count)), Int64(bitPattern: hash.low),
                Int64(bitPattern: hash.high), kind.rawValue + Int64(mapping) * 4, key, element)
        }

        /// Whether all claims are right; `found` gets the mapping, source key, element and destination key of each
        /// merged source object.
        func areRight(found: (Int, Int64, Int64, Int64) throws -> Void) throws -> Bool {
            try rows.flush()
            for partition in 0..<rows.count {
                guard try areRight(in: partition, found: found) else { return false }
            }
            return true
        }

        private func areRight(
            in partition: Int, found: (Int, Int64, Int64, Int64) throws -> Void
        ) throws -> Bool {
            // Too many for the memory table only if their hashes are equal, which is wrong, too.
            guard let passes = try passes(over: partition) else { return false }
            var isRight = true
            for (slots, objects) in passes where isRight {
                known.restart(for: objects)
                try rows.forEach(in: partition) { row in
                    guard isRight, slots.contains(slot(of: row)) else { return }
                    let hash = UniqueValues.Hash(low: UInt64(bitPattern: row[0]), high: UInt64(bitPattern: row[1]))
                    let first = known.find(hash)
                    if Self.kind(of: row) != .earlier {
                        // A second object: made although there was one, or possibly found in its place.
                        isRight = first == nil && known.addIfAll(hash, key: row[3])
                    } else if let first {
                        if isAssociated { try found(Int(row[2] / 4), row[3], row[4], first) }
                    } else {
                        isRight = false
                    }
                }
            }
            return isRight
        }

        private static let slots = 1_024

        private func slot(of row: UnsafePointer<Int64>) -> Int {
            Int(UInt64(bitPattern: row[1]) / UInt64(rows.count) % UInt64(Self.slots))
        }

        /// The slots of each pass over a partition, whose objects have room in the memory table: usually all of them.
        private func passes(over partition: Int) throws -> [(slots: Range<Int>, objects: Int)]? {
            var objects = [Int](repeating: 0, count: Self.slots)
            try rows.forEach(in: partition) { if Self.kind(of: $0) != .earlier { objects[slot(of: $0)] += 1 } }
            var passes: [(slots: Range<Int>, objects: Int)] = []
            var (first, sum) = (0, 0)
            for (slot, number) in objects.enumerated() {
                if number > known.room { return nil }
                if sum + number > known.room {
                    passes.append((first..<slot, sum))
                    (first, sum) = (slot, 0)
                }
                sum += number
            }
            return passes + [(first..<Self.slots, sum)]
        }

        private static func kind(of row: UnsafePointer<Int64>) -> Kind? { Kind(rawValue: row[2] % 4) }
    }

    /// By destination entity.
    private var lookups: [String: [Lookup]] = [:]
    // Usually the next search is of the same mapping as the one before.
    private var last: (position: Int, lookup: Lookup)?
    private let mappings: [ResolvedEntityMapping]
    private let values: UniqueValues
    private let context: VerificationContext

    /// The claims of the mappings that give new keys in a root table; the number distinguishes root tables.
    ///
    /// Mappings at associated positions need the destination key of each source object.
    init(
        _ mappings: [ResolvedEntityMapping], associated: Set<Int>, number: Int, in context: VerificationContext
    ) throws {
        (self.mappings, self.context) = (mappings, context)
        values = UniqueValues(key: context.progress.hashKey())
        let searches = UniqueValues.searches(of: mappings)
        // The rest is for claims that are not in the file yet.
        let bytes = context.verification.knownValueBytes / searches.count
        for search in searches {
            let table = "lookups.claims_\(number)_\(search.position)"
            let rows = try RowPartitions(into: table, width: 5, bytes: bytes / 8, on: context.connection)
            let isAssociated = mappings.contains {
                $0.destination == search.destination && UniqueSearch($0) == UniqueSearch(search)
                    && associated.contains($0.position)
            }
            lookups[search.destination, default: []].append(
                Lookup(
                    UniqueSearch(search), table, rows, isAssociated: isAssociated, bytes: bytes / 8 * 7,
                    isFirst: rows.isEmpty && context.progress.state.rows == nil))
        }
    }

    func isNeeded(for entity: String) -> Bool { lookups[entity] != nil }

    // MARK: Claims

    func find(
        _ expected: ExpectedRow, _ sought: [PlainValue], source: Int64, element: Int64,
        next: () throws -> [PlainValue]?
    ) throws -> FoundObject {
        let lookup = lookup(of: expected)
        lookup.sought = values.hash(of: sought, in: lookup.search)
        guard let hash = lookup.sought else { return .none }
        if let key = lookup.known.find(hash) { return .key(key) }
        if lookup.known.holdsAll { return .none }
        if let next = try next(), values.hash(of: next, in: lookup.search) == hash { return .none }
        try lookup.add(hash, .earlier, mapping: expected.position, key: source, element: element)
        // If no mapping needs the key, any key will do.
        if !lookup.isAssociated { lookup.known.add(hash, key: 0) }
        return .earlier
    }

    private func lookup(of expected: ExpectedRow) -> Lookup {
        if let last, last.position == expected.position { return last.lookup }
        let mapping = expected.mapping
        guard let lookup = lookups[mapping.destination]?.first(where: { $0.search == UniqueSearch(mapping) }) else {
            preconditionFailure("no lookup for \(mapping.name)")
        }
        last = (expected.position, lookup)
        return lookup
    }

    func add(
        entity: String, key: Int64, by maker: UniqueSearch?, value: (String) throws -> PlainValue
    ) throws {
        for lookup in lookups[entity] ?? [] {
            if lookup.search == maker {
                if let hash = lookup.sought { try lookup.add(hash, .made, key: key) }
                continue
            }
            // The first object with the values remains.
            guard let hash = try values.hash(of: lookup.search.attributes.map(value), in: lookup.search),
                lookup.known.find(hash) == nil
            else { continue }
            try lookup.add(hash, .object, key: key)
        }
    }

    /// To be called before the lookup file is committed for a later call.
    func flush() throws {
        for lookup in lookups.values.joined() {
            try lookup.claimAll()
            try lookup.rows.flush()
        }
    }

    // MARK: Confirmation

    /// Returns whether all claims are right, adds the associations of merged objects if so, and drops the claims.
    func areRight() throws -> Bool {
        let bytes = context.verification.knownValueBytes
        let found = FoundObjects(bytes: bytes / 8, for: mappings.count, in: context)
        var isRight = true
        for lookup in lookups.values.joined() {
            if isRight { isRight = try lookup.areRight(found: found.add) }
            try context.connection.execute("DROP TABLE \(lookup.table)")
        }
        // Their memory sorts what was found.
        (lookups, last) = ([:], nil)
        if isRight { try found.associate(sorting: bytes / 2) }
        try found.drop()
        return isRight
    }
}
