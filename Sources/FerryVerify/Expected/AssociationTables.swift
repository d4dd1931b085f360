internal import FerryMapping
internal import FerrySQLite

/// Which destination object each source object (and element) became, for entity mappings that give new keys.
///
/// Filled while the expected rows are recomputed, read while the expected relationships are; one table in the lookup
/// file per entity mapping.
final class AssociationTables {
    private struct Statements {
        var insert: Statement
        var find: Statement
        var findElement: Statement
    }

    private let connection: Connection
    private var prepared: [Int: Statements] = [:]

    init(_ connection: Connection) { self.connection = connection }

    func record(_ mapping: ResolvedEntityMapping, source: Int64, element: Int64, key: Int64) throws {
        let insert = try statements(of: mapping).insert
        try insert.bind(source, at: 1)
        try insert.bind(element, at: 2)
        try insert.bind(key, at: 3)
        try insert.run()
    }

    /// Calls the body with each destination key of a source object, by element.
    func eachKey(_ mapping: ResolvedEntityMapping, source: Int64, _ body: (_ key: Int64) throws -> Void) throws {
        let find = try statements(of: mapping).find
        try find.bind(source, at: 1)
        defer { find.reset() }
        while try find.step() { try body(find.integer(0)) }
    }

    /// All source objects with the keys of what was made of them, in their order: by key, or by element.
    func pairs(of mapping: ResolvedEntityMapping, byKey: Bool) throws -> Statement {
        // Makes the table if nothing did.
        _ = try statements(of: mapping)
        return try connection.prepare(
            "SELECT source, key FROM main.association_\(mapping.position) ORDER BY source, \(byKey ? "key" : "element")"
        )
    }

    /// The key of one element, or nil when nothing was made of it.
    func key(_ mapping: ResolvedEntityMapping, source: Int64, element: Int64) throws -> Int64? {
        let find = try statements(of: mapping).findElement
        try find.bind(source, at: 1)
        try find.bind(element, at: 2)
        defer { find.reset() }
        return try find.step() ? find.integer(0) : nil
    }

    /// A mapping that made nothing has a table too, an empty one.
    private func statements(of mapping: ResolvedEntityMapping) throws -> Statements {
        if let known = prepared[mapping.position] { return known }
        let table = "main.association_\(mapping.position)"
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS \(table) (
                source INTEGER, element INTEGER, key INTEGER, PRIMARY KEY (source, element)) WITHOUT ROWID
            """)
        let statements = Statements(
            insert: try connection.prepare("INSERT INTO \(table) VALUES (?, ?, ?)"),
            find: try connection.prepare("SELECT key FROM \(table) WHERE source = ? ORDER BY element"),
            findElement: try connection.prepare("SELECT key FROM \(table) WHERE source = ? AND element = ?"))
        prepared[mapping.position] = statements
        return statements
    }
}
