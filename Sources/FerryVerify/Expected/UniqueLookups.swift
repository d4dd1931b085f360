internal import FerryMapping
internal import FerrySQLite

/// The objects of a root table by `unique`, looked up one by one: for a destination whose claims are not all right
/// (``UniqueClaims``), so that what is wrong is found where it is.
///
/// One table in the lookup file per entity and list of attributes. Values that were looked for last stand in memory, too.
final class UniqueLookups: UniqueObjects {
    private final class Lookup {
        let attributes: [String]
        let insert: Statement
        let find: Statement
        private let bytes: Int
        private(set) lazy var known = KnownValues(bytes: bytes)

        init(_ attributes: [String], insert: Statement, find: Statement, bytes: Int) {
            (self.attributes, self.insert, self.find, self.bytes) = (attributes, insert, find, bytes)
        }
    }

    /// By destination entity.
    private var lookups: [String: [Lookup]] = [:]
    private let values: UniqueValues

    /// The number keeps the tables of one root table apart from those of the others.
    init(_ mappings: [ResolvedEntityMapping], number: Int, in context: VerificationContext) throws {
        values = UniqueValues(key: context.progress.hashKey())
        let searches = UniqueValues.searches(of: mappings)
        for mapping in searches {
            let table = "main.unique_\(number)_\(mapping.position)"
            try context.connection.execute(
                "CREATE TABLE IF NOT EXISTS \(table) (value BLOB PRIMARY KEY, key INTEGER) WITHOUT ROWID")
            lookups[mapping.destination, default: []].append(
                Lookup(
                    mapping.unique,
                    insert: try context.connection.prepare("INSERT OR IGNORE INTO \(table) VALUES (?, ?)"),
                    find: try context.connection.prepare("SELECT key FROM \(table) WHERE value = ?"),
                    bytes: context.verification.knownValueBytes / searches.count))
        }
    }

    func isNeeded(for entity: String) -> Bool { lookups[entity] != nil }

    func find(
        _ mapping: ResolvedEntityMapping, _ sought: [PlainValue], source: Int64, element: Int64,
        next: () throws -> [PlainValue]?
    ) throws -> FoundObject {
        guard let lookup = lookups[mapping.destination]?.first(where: { $0.attributes == mapping.unique }) else {
            preconditionFailure("no lookup for \(mapping.name)")
        }
        let hash = values.hash(of: sought)
        if let key = lookup.known.find(hash) { return .key(key) }
        try bind(hash, to: lookup.find)
        defer { lookup.find.reset() }
        guard try lookup.find.step() else { return .none }
        let key = lookup.find.integer(0)
        lookup.known.add(hash, key: key)
        return .key(key)
    }

    func add(
        entity: String, key: Int64, by maker: ResolvedEntityMapping?, value: (String) throws -> PlainValue
    ) throws {
        for lookup in lookups[entity] ?? [] {
            try bind(try values.hash(of: lookup.attributes.map(value)), to: lookup.insert)
            try lookup.insert.bind(key, at: 2)
            try lookup.insert.run()
        }
    }

    private func bind(_ hash: UniqueValues.Hash, to statement: Statement) throws(DatabaseError) {
        let bytes = withUnsafeBytes(of: (hash.low.bigEndian, hash.high.bigEndian)) { Array($0) }
        try statement.bind(bytes, at: 1)
    }
}
