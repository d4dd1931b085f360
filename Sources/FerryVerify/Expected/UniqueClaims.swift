internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// The objects of a root table by `unique`, as the destination shows them, to be confirmed in one sorted pass.
///
/// While the memory table holds all objects, it answers, and nothing is claimed. Once it does not:
///
/// If the object at the next key has the sought values, the claim is that it is the first with them; else that an
/// earlier object has them. Claims are appended to a table. Sorted by values and insertion, each group must begin with
/// an object and hold no second one: then every claim equals the result of a lookup among all objects, and no lookup
/// was needed. Values in the memory table are known, and not claimed again.
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
        let rows: IntegerRows
        /// Whether the destination key of each source object is needed later.
        let isAssociated: Bool
        private let bytes: Int
        private(set) lazy var known = KnownValues(bytes: bytes, holdsAll: isFirst)
        /// Whether no earlier call, whose memory is gone, has made claims.
        private let isFirst: Bool
        /// The hash of the last search; nil if its values equal no others.
        var sought: UniqueValues.Hash?

        init(
            _ search: UniqueSearch, _ table: String, _ rows: IntegerRows, isAssociated: Bool, bytes: Int, isFirst: Bool
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
                Int64(bitPattern: hash.low), Int64(bitPattern: hash.high), kind.rawValue, Int64(mapping), key, element)
        }

        /// Whether all claims are right; `found` gets the destination keys of merged source objects.
        func isRight(on connection: Connection, found: IntegerRows) throws -> Bool {
            let claims = try connection.prepare(
                "SELECT low, high, kind, mapping, key, element FROM \(table) ORDER BY low, high, rowid")
            defer { claims.reset() }
            var (low, high) = (Int64(0), Int64(0))
            var first: Int64?
            while try claims.step() {
                if claims.integer(0) != low || claims.integer(1) != high {
                    (low, high, first) = (claims.integer(0), claims.integer(1), nil)
                }
                if Kind(rawValue: claims.integer(2)) == .earlier {
                    guard let first else { return false }
                    if isAssociated { try found.add(claims.integer(3), claims.integer(4), claims.integer(5), first) }
                } else {
                    // A second object: made although there was one, or possibly found in its place.
                    guard first == nil else { return false }
                    first = claims.integer(4)
                }
            }
            return true
        }
    }

    /// By destination entity.
    private var lookups: [String: [Lookup]] = [:]
    // Usually the next search is of the same mapping as the one before.
    private var last: (position: Int, lookup: Lookup)?
    private let mappings: [ResolvedEntityMapping]
    private let values: UniqueValues
    private let context: VerificationContext
    /// The table of the destination keys of merged source objects.
    private let found: String

    /// The claims of the mappings that give new keys in a root table; the number distinguishes root tables.
    ///
    /// Mappings at associated positions need the destination key of each source object.
    init(
        _ mappings: [ResolvedEntityMapping], associated: Set<Int>, number: Int, in context: VerificationContext
    ) throws {
        (self.mappings, self.context) = (mappings, context)
        values = UniqueValues(key: context.progress.hashKey())
        found = "main.found_\(number)"
        let searches = UniqueValues.searches(of: mappings)
        for search in searches {
            let table = "main.claims_\(number)_\(search.position)"
            try context.connection.execute(
                "CREATE TABLE IF NOT EXISTS \(table) (low, high, kind, mapping, key, element)")
            let isFirst = try context.connection.value("SELECT 1 FROM \(table) LIMIT 1") == nil
            let isAssociated = mappings.contains {
                $0.destination == search.destination && UniqueSearch($0) == UniqueSearch(search)
                    && associated.contains($0.position)
            }
            lookups[search.destination, default: []].append(
                Lookup(
                    UniqueSearch(search), table, try IntegerRows(into: table, width: 6, on: context.connection),
                    isAssociated: isAssociated, bytes: context.verification.knownValueBytes / searches.count,
                    isFirst: isFirst && context.progress.state.rows == nil))
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
        let connection = context.connection
        for lookup in lookups.values.joined() { try lookup.rows.flush() }
        try connection.execute("CREATE TABLE IF NOT EXISTS \(found) (mapping, source, element, key)")
        let rows = try IntegerRows(into: found, width: 4, on: connection)
        var isRight = true
        for lookup in lookups.values.joined() {
            if isRight { isRight = try lookup.isRight(on: connection, found: rows) }
            try connection.execute("DROP TABLE \(lookup.table)")
        }
        try rows.flush()
        for mapping in mappings where isRight { try context.associations.add(mapping, from: found) }
        try connection.execute("DROP TABLE \(found)")
        return isRight
    }
}
