internal import FerryMapping
internal import FerrySQLite

/// The objects of the destination root table at hand, by the values of the attributes that `unique` names.
///
/// One table in the lookup file per entity and list of attributes. The values of one object are one BLOB, written so
/// that two are equal exactly where SQLite's `IS` calls the values equal.
final class UniqueLookups {
    private struct Lookup {
        var attributes: [String]
        var insert: Statement
        var find: Statement
    }

    private let connection: Connection
    /// By destination entity.
    private var lookups: [String: [Lookup]] = [:]

    /// The number keeps the tables of one root table apart from those of the others.
    init(_ mappings: [ResolvedEntityMapping], number: Int, on connection: Connection) throws {
        self.connection = connection
        for mapping in mappings where !mapping.unique.isEmpty {
            let known = lookups[mapping.destination] ?? []
            if known.contains(where: { $0.attributes == mapping.unique }) { continue }
            let table = "main.unique_\(number)_\(mapping.position)"
            try connection.execute(
                "CREATE TABLE IF NOT EXISTS \(table) (value BLOB PRIMARY KEY, key INTEGER) WITHOUT ROWID")
            lookups[mapping.destination, default: []].append(
                Lookup(
                    attributes: mapping.unique,
                    insert: try connection.prepare("INSERT OR IGNORE INTO \(table) VALUES (?, ?)"),
                    find: try connection.prepare("SELECT key FROM \(table) WHERE value = ?")))
        }
    }

    func isNeeded(for entity: String) -> Bool { lookups[entity] != nil }

    /// The first object of the mapping's destination entity with these values.
    func find(_ mapping: ResolvedEntityMapping, value: (String) throws -> PlainValue) throws -> Int64? {
        guard let lookup = lookups[mapping.destination]?.first(where: { $0.attributes == mapping.unique }) else {
            preconditionFailure("no lookup for \(mapping.name)")
        }
        try lookup.find.bind(try UniqueLookups.encoded(lookup.attributes.map(value)), at: 1)
        defer { lookup.find.reset() }
        return try lookup.find.step() ? lookup.find.integer(0) : nil
    }

    /// Makes an object known; of several with the same values the first stays.
    func add(entity: String, key: Int64, value: (String) throws -> PlainValue) throws {
        for lookup in lookups[entity] ?? [] {
            try lookup.insert.bind(try UniqueLookups.encoded(lookup.attributes.map(value)), at: 1)
            try lookup.insert.bind(key, at: 2)
            try lookup.insert.run()
        }
    }

    private static func encoded(_ values: [PlainValue]) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in values {
            switch value {
            case .integer(let integer): append(1, UInt64(bitPattern: integer), to: &bytes)
            case .real(let real):
                // Equal numbers must be equal bytes: a whole real is the integer, and there is one zero.
                if let integer = Int64(exactly: real) {
                    append(1, UInt64(bitPattern: integer), to: &bytes)
                } else {
                    append(2, real.bitPattern, to: &bytes)
                }
            case .text(let text):
                append(3, UInt64(text.count), to: &bytes)
                bytes += text
            case .blob(let blob):
                append(4, UInt64(blob.count), to: &bytes)
                bytes += blob
            default: bytes.append(0)
            }
        }
        return bytes
    }

    private static func append(_ tag: UInt8, _ word: UInt64, to bytes: inout [UInt8]) {
        bytes.append(tag)
        withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
