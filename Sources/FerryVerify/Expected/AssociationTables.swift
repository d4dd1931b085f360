internal import FerryMapping
internal import FerrySQLite

/// Which destination object each source object (and element) became, for entity mappings that give new keys.
///
/// Filled while the expected rows are recomputed, read while the expected relationships are; one table in the lookup
/// file per entity mapping.
final class AssociationTables {
    /// The table of one entity mapping.
    private final class Table {
        let insert: Statement
        let insertMany: Statement
        let find: Statement
        let findElement: Statement
        /// Rows that are not in the table yet, column by column.
        var waiting: [Int64] = []

        init(_ name: String, on connection: Connection) throws(DatabaseError) {
            try connection.execute(
                """
                CREATE TABLE IF NOT EXISTS \(name) (
                    source INTEGER, element INTEGER, key INTEGER, PRIMARY KEY (source, element)) WITHOUT ROWID
                """)
            func insert(_ rows: Int) throws(DatabaseError) -> Statement {
                let values = Array(repeating: "(?, ?, ?)", count: rows).joined(separator: ", ")
                return try connection.prepare("INSERT INTO \(name) VALUES \(values)")
            }
            (self.insert, insertMany) = (try insert(1), try insert(AssociationTables.rowsAtOnce))
            find = try connection.prepare("SELECT key FROM \(name) WHERE source = ? ORDER BY element")
            findElement = try connection.prepare("SELECT key FROM \(name) WHERE source = ? AND element = ?")
            waiting.reserveCapacity(3 * AssociationTables.rowsAtOnce)
        }

        func add(_ source: Int64, _ element: Int64, _ key: Int64) throws(DatabaseError) {
            waiting.append(source)
            waiting.append(element)
            waiting.append(key)
            guard waiting.count == 3 * AssociationTables.rowsAtOnce else { return }
            for index in waiting.indices { try insertMany.bind(waiting[index], at: index + 1) }
            try insertMany.run()
            waiting.removeAll(keepingCapacity: true)
        }

        func flush() throws(DatabaseError) {
            for row in stride(from: 0, to: waiting.count, by: 3) {
                for column in 0..<3 { try insert.bind(waiting[row + column], at: column + 1) }
                try insert.run()
            }
            waiting.removeAll(keepingCapacity: true)
        }
    }

    /// A statement for many rows takes half the time of as many for one.
    private static let rowsAtOnce = 64

    private let connection: Connection
    private var tables: [Int: Table] = [:]

    init(_ connection: Connection) { self.connection = connection }

    func record(_ mapping: ResolvedEntityMapping, source: Int64, element: Int64, key: Int64) throws {
        try table(of: mapping).add(source, element, key)
    }

    /// To be called before the lookup file is committed.
    func flush() throws(DatabaseError) {
        for table in tables.values { try table.flush() }
    }

    /// Calls the body with each destination key of a source object, by element.
    func eachKey(_ mapping: ResolvedEntityMapping, source: Int64, _ body: (_ key: Int64) throws -> Void) throws {
        let find = try readable(mapping).find
        try find.bind(source, at: 1)
        defer { find.reset() }
        while try find.step() { try body(find.integer(0)) }
    }

    /// All source objects with the keys of what was made of them, in their order: by key, or by element.
    func pairs(of mapping: ResolvedEntityMapping, byKey: Bool) throws -> Statement {
        // Makes the table if nothing did.
        _ = try readable(mapping)
        return try connection.prepare(
            "SELECT source, key FROM main.association_\(mapping.position) ORDER BY source, \(byKey ? "key" : "element")"
        )
    }

    /// The key of one element, or nil when nothing was made of it.
    func key(_ mapping: ResolvedEntityMapping, source: Int64, element: Int64) throws -> Int64? {
        let find = try readable(mapping).findElement
        try find.bind(source, at: 1)
        try find.bind(element, at: 2)
        defer { find.reset() }
        return try find.step() ? find.integer(0) : nil
    }

    /// The table with all its rows.
    private func readable(_ mapping: ResolvedEntityMapping) throws -> Table {
        let table = try table(of: mapping)
        try table.flush()
        return table
    }

    /// A mapping that made nothing has a table too, an empty one.
    private func table(of mapping: ResolvedEntityMapping) throws -> Table {
        if let known = tables[mapping.position] { return known }
        let table = try Table("main.association_\(mapping.position)", on: connection)
        tables[mapping.position] = table
        return table
    }
}
