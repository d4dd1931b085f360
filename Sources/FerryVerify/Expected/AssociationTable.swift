internal import FerrySQLite

/// The destination object of each source object (and element), for an entity mapping that gives new keys.
final class AssociationTable {
    let name: String
    private let rows: IntegerRows
    private let find: Statement
    private let findElement: Statement

    init(_ name: String, on connection: Connection) throws(DatabaseError) {
        self.name = name
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS \(name) (
                source INTEGER, element INTEGER, key INTEGER, PRIMARY KEY (source, element)) WITHOUT ROWID
            """)
        rows = try IntegerRows(into: name, width: 3, on: connection)
        find = try connection.prepare("SELECT key FROM \(name) WHERE source = ? ORDER BY element")
        findElement = try connection.prepare("SELECT key FROM \(name) WHERE source = ? AND element = ?")
    }

    func add(_ source: Int64, _ element: Int64, _ key: Int64) throws(DatabaseError) {
        try rows.add(source, element, key)
    }

    /// To be called before the table is read by other statements, or the lookup file is committed.
    func flush() throws(DatabaseError) { try rows.flush() }

    /// Calls the body with each destination key of a source object, in the order of elements.
    func eachKey(of source: Int64, _ body: (_ key: Int64) throws -> Void) throws {
        try rows.flush()
        try find.bind(source, at: 1)
        defer { find.reset() }
        while try find.step() { try body(find.integer(0)) }
    }

    /// The key of one element's object; nil if it has none.
    func key(of source: Int64, element: Int64) throws(DatabaseError) -> Int64? {
        try rows.flush()
        try findElement.bind(source, at: 1)
        try findElement.bind(element, at: 2)
        defer { findElement.reset() }
        return try findElement.step() ? findElement.integer(0) : nil
    }
}
