internal import FerrySQLite

/// The destination object of each source object (and element), for entity mappings that give new keys.
final class AssociationTables {
    private let connection: Connection
    private var tables: [Int: AssociationTable] = [:]

    init(_ connection: Connection) { self.connection = connection }

    /// To be called before the lookup file is committed.
    func flush() throws(DatabaseError) {
        for table in tables.values { try table.flush() }
    }

    /// By the position of the mapping: a row's walk asks for each object, and a mapping is large.
    func table(of position: Int) throws -> AssociationTable {
        if let known = tables[position] { return known }
        let table = try AssociationTable("lookups.association_\(position)", on: connection)
        tables[position] = table
        return table
    }
}

/// The associations of one mapping: in the order of their source objects, or indexed.
///
/// They come in this order, and mostly one pass over them is all that is needed: so they are appended to runs, which
/// costs a twentieth of an insertion into a table with an index. The first look-up, or one run too many, makes the table.
final class AssociationTable {
    struct Indexed {
        let rows: IntegerRows
        let find: Statement
        let findElement: Statement
    }

    private struct Run {
        let table: String
        let rows: RowPartitions
    }

    /// One for what a walk knows at once, one for the objects that were found at its end.
    private static let mostRuns = 2
    private static let runBytes = 32 << 10
    /// More elements of one source object are sorted by SQLite.
    private static let mostElements = 1 << 16

    let name: String
    private let connection: Connection
    private var runs: [Run] = []
    private var last: (source: Int64, element: Int64) = (.min, .min)
    private var (elements, mostElements) = (0, 0)
    private var index: Indexed?

    init(_ name: String, on connection: Connection) throws {
        (self.name, self.connection) = (name, connection)
        // What an earlier call has recorded.
        let known = try Set(
            connection.rows("SELECT name FROM lookups.sqlite_master WHERE type = 'table'").compactMap { $0[0].text })
        runs = try (0..<Self.mostRuns).map { "\(name)_\($0)" }.filter {
            known.contains(String($0.dropFirst("lookups.".count)))
        }.map {
            try Run(table: $0, rows: Self.rows(into: $0, on: connection))
        }
        if !runs.isEmpty || known.contains(String(name.dropFirst("lookups.".count))) { _ = try indexed() }
    }

    private static func rows(into table: String, on connection: Connection) throws(DatabaseError) -> RowPartitions {
        try RowPartitions(into: table, width: 3, partitions: 1, bytes: runBytes, on: connection)
    }

    func add(_ source: Int64, _ element: Int64, _ key: Int64) throws {
        if let index { return try index.rows.add(source, element, key) }
        if runs.isEmpty || (source, element) <= last {
            if runs.count == Self.mostRuns { return try indexed().rows.add(source, element, key) }
            let table = "\(name)_\(runs.count)"
            runs.append(Run(table: table, rows: try Self.rows(into: table, on: connection)))
            elements = 0
        }
        elements = source == last.source ? elements + 1 : 1
        mostElements = max(mostElements, elements)
        last = (source, element)
        try runs[runs.count - 1].rows.add(to: 0, source, element, key)
    }

    func flush() throws(DatabaseError) {
        try index?.rows.flush()
        for run in runs { try run.rows.flush() }
    }

    func removeAll() throws {
        _ = try indexed()
        try connection.execute("DELETE FROM \(name)")
    }

    /// Deletes their rows: no table can be dropped while a statement of the connection reads another one.
    private func emptyRuns() throws {
        for run in runs { try connection.execute("DELETE FROM \(run.table)") }
        runs = []
    }

    /// The table with an index, after all waiting rows are written.
    func indexed() throws -> Indexed {
        if let index {
            try index.rows.flush()
            return index
        }
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS \(name) (
                source INTEGER, element INTEGER, key INTEGER, PRIMARY KEY (source, element)) WITHOUT ROWID
            """)
        let rows = try IntegerRows(into: name, width: 3, on: connection)
        let merged = try merged()
        while let row = try merged.next() { try rows.add(row.source, row.element, row.key) }
        try rows.flush()
        try emptyRuns()
        let index = Indexed(
            rows: rows, find: try connection.prepare("SELECT key FROM \(name) WHERE source = ? ORDER BY element"),
            findElement: try connection.prepare("SELECT key FROM \(name) WHERE source = ? AND element = ?"))
        self.index = index
        return index
    }

    private func merged() throws -> MergedAssociations {
        for run in runs { try run.rows.flush() }
        return try MergedAssociations(try runs.map { try $0.rows.rows(of: 0) })
    }

    /// Calls the body with each destination key of a source object, in the order of elements.
    func eachKey(of source: Int64, _ body: (_ key: Int64) throws -> Void) throws {
        let find = try indexed().find
        try find.bind(source, at: 1)
        defer { find.reset() }
        while try find.step() { try body(find.integer(0)) }
    }

    /// The key of one element's object; nil if it has none.
    func key(of source: Int64, element: Int64) throws -> Int64? {
        let find = try indexed().findElement
        try find.bind(source, at: 1)
        try find.bind(element, at: 2)
        defer { find.reset() }
        return try find.step() ? find.integer(0) : nil
    }

    /// Yields all associations as pairs of keys, ordered by source object, then by key or by element.
    func pairs(byKey: Bool) throws -> () throws -> (Int64, Int64)? {
        // In two runs an object can have twice as many.
        guard index == nil, mostElements * Self.mostRuns <= Self.mostElements else {
            _ = try indexed()
            let order = byKey ? "key" : "element"
            let pairs = try connection.prepare("SELECT source, key FROM \(name) ORDER BY source, \(order)")
            return { try pairs.step() ? (pairs.integer(0), pairs.integer(1)) : nil }
        }
        let rows = try merged()
        if !byKey { return { try rows.next().map { ($0.source, $0.key) } } }
        var (source, ahead) = (Int64(0), try rows.next())
        // The keys of the current source object that are still to come, the lowest last.
        var keys: [Int64] = []
        return {
            if keys.isEmpty {
                guard let first = ahead else { return nil }
                source = first.source
                while let row = ahead, row.source == source {
                    keys.append(row.key)
                    ahead = try rows.next()
                }
                if keys.count > 1 { keys.sort(by: >) }
            }
            return keys.popLast().map { (source, $0) }
        }
    }
}

/// The associations of several runs in the order of their source objects and elements.
private final class MergedAssociations {
    typealias Row = (source: Int64, element: Int64, key: Int64)

    private let runs: [PackedIntegers]
    private var heads: [Row?] = []

    init(_ runs: [PackedIntegers]) throws {
        self.runs = runs
        heads = try runs.map { try Self.next($0) }
    }

    private static func next(_ run: PackedIntegers) throws(DatabaseError) -> Row? {
        try run.next().map { ($0[0], $0[1], $0[2]) }
    }

    func next() throws(DatabaseError) -> Row? {
        var lowest: Int?
        for (run, head) in heads.enumerated() {
            guard let head else { continue }
            if let known = lowest.flatMap({ heads[$0] }), (known.source, known.element) <= (head.source, head.element) {
                continue
            }
            lowest = run
        }
        guard let lowest else { return nil }
        let row = heads[lowest]
        heads[lowest] = try Self.next(runs[lowest])
        return row
    }
}
