internal import FerryMapping
internal import FerrySQLite

/// The destination object of each source object (and element), for entity mappings that give new keys.
final class AssociationTables {
    private final class Table {
        let rows: IntegerRows
        let find: Statement
        let findElement: Statement

        init(_ name: String, on connection: Connection) throws(DatabaseError) {
            try connection.execute(
                """
                CREATE TABLE IF NOT EXISTS \(name) (
                    source INTEGER, element INTEGER, key INTEGER, PRIMARY KEY (source, element)) WITHOUT ROWID
                """)
            rows = try IntegerRows(into: name, width: 3, on: connection)
            find = try connection.prepare("SELECT key FROM \(name) WHERE source = ? ORDER BY element")
            findElement = try connection.prepare("SELECT key FROM \(name) WHERE source = ? AND element = ?")
        }
    }

    private let connection: Connection
    private var tables: [Int: Table] = [:]

    init(_ connection: Connection) { self.connection = connection }

    func record(_ mapping: ResolvedEntityMapping, source: Int64, element: Int64, key: Int64) throws {
        try table(of: mapping).rows.add(source, element, key)
    }

    func removeAll(of mapping: ResolvedEntityMapping) throws {
        _ = try readable(mapping)
        try connection.execute("DELETE FROM \(Self.name(of: mapping))")
    }

    /// To be called before the lookup file is committed.
    func flush() throws(DatabaseError) {
        for table in tables.values { try table.rows.flush() }
    }

    /// Calls the body with each destination key of a source object, in the order of elements.
    func eachKey(_ mapping: ResolvedEntityMapping, source: Int64, _ body: (_ key: Int64) throws -> Void) throws {
        let find = try readable(mapping).find
        try find.bind(source, at: 1)
        defer { find.reset() }
        while try find.step() { try body(find.integer(0)) }
    }

    /// All associations of a mapping, ordered by source object, then by key or by element.
    func pairs(of mapping: ResolvedEntityMapping, byKey: Bool) throws -> Statement {
        // Creates an empty table for a mapping without objects.
        _ = try readable(mapping)
        return try connection.prepare(
            "SELECT source, key FROM \(Self.name(of: mapping)) ORDER BY source, \(byKey ? "key" : "element")"
        )
    }

    /// The key of one element's object; nil if it has none.
    func key(_ mapping: ResolvedEntityMapping, source: Int64, element: Int64) throws -> Int64? {
        let find = try readable(mapping).findElement
        try find.bind(source, at: 1)
        try find.bind(element, at: 2)
        defer { find.reset() }
        return try find.step() ? find.integer(0) : nil
    }

    /// The name of the table, for SQL that reads all waiting rows, too.
    func readableName(of mapping: ResolvedEntityMapping) throws -> String {
        _ = try readable(mapping)
        return Self.name(of: mapping)
    }

    /// The table, after all waiting rows are written.
    private func readable(_ mapping: ResolvedEntityMapping) throws -> Table {
        let table = try table(of: mapping)
        try table.rows.flush()
        return table
    }

    private static func name(of mapping: ResolvedEntityMapping) -> String { "main.association_\(mapping.position)" }

    private func table(of mapping: ResolvedEntityMapping) throws -> Table {
        if let known = tables[mapping.position] { return known }
        let table = try Table(Self.name(of: mapping), on: connection)
        tables[mapping.position] = table
        return table
    }
}

/// Inserts rows of integers into a lookup table, 64 per statement, which takes half the time of single rows.
final class IntegerRows {
    private static let rowsAtOnce = 64

    private let width: Int
    private let insert: Statement
    private let insertMany: Statement
    /// Rows not yet in the table, column by column.
    private var waiting: [Int64] = []

    init(into table: String, width: Int, on connection: Connection) throws(DatabaseError) {
        let row = "(\(Array(repeating: "?", count: width).joined(separator: ", ")))"
        func insert(_ rows: Int) throws(DatabaseError) -> Statement {
            let values = Array(repeating: row, count: rows).joined(separator: ", ")
            return try connection.prepare("INSERT INTO \(table) VALUES \(values)")
        }
        (self.width, self.insert, insertMany) = (width, try insert(1), try insert(Self.rowsAtOnce))
        waiting.reserveCapacity(width * Self.rowsAtOnce)
    }

    // An array for each row would take as long as the row.
    func add(_ first: Int64, _ second: Int64) throws(DatabaseError) {
        waiting.append(first)
        waiting.append(second)
        try insertIfFull()
    }

    func add(_ first: Int64, _ second: Int64, _ third: Int64) throws(DatabaseError) {
        waiting.append(first)
        try add(second, third)
    }

    func add(_ first: Int64, _ second: Int64, _ third: Int64, _ fourth: Int64) throws(DatabaseError) {
        waiting.append(first)
        waiting.append(second)
        try add(third, fourth)
    }

    func add(
        _ first: Int64, _ second: Int64, _ third: Int64, _ fourth: Int64, _ fifth: Int64, _ sixth: Int64
    ) throws(DatabaseError) {
        waiting.append(first)
        waiting.append(second)
        waiting.append(third)
        try add(fourth, fifth, sixth)
    }

    private func insertIfFull() throws(DatabaseError) {
        guard waiting.count == width * Self.rowsAtOnce else { return }
        // Checks for exclusive access once, not for each number.
        try waiting.withUnsafeBufferPointer { numbers throws(DatabaseError) in
            for index in numbers.indices { try insertMany.bind(numbers[index], at: index + 1) }
        }
        try insertMany.run()
        waiting.removeAll(keepingCapacity: true)
    }

    /// To be called before the table is read, or the lookup file is committed.
    func flush() throws(DatabaseError) {
        for row in stride(from: 0, to: waiting.count, by: width) {
            for column in 0..<width { try insert.bind(waiting[row + column], at: column + 1) }
            try insert.run()
        }
        waiting.removeAll(keepingCapacity: true)
    }
}
