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
/// They come in this order, and mostly one pass over them is all that is needed: so they are appended to a run, which
/// costs a twentieth of an insertion into a table with an index. The first look-up, or a later call, makes the table.
final class AssociationTable {
    struct Indexed {
        let rows: IntegerRows
        let find: Statement
        let findElement: Statement
    }

    /// More elements of one source object are sorted by SQLite.
    private static let mostElements = 1 << 16

    let name: String
    private let connection: Connection
    private var run: IntegerRun?
    private var last: (source: Int64, element: Int64) = (.min, .min)
    private var (elements, mostElements) = (0, 0)
    private var index: Indexed?

    init(_ name: String, on connection: Connection) throws {
        (self.name, self.connection) = (name, connection)
        // What an earlier call has recorded.
        let known = try Set(
            connection.rows("SELECT name FROM lookups.sqlite_master WHERE type = 'table'").compactMap { $0[0].text })
        if known.contains(String("\(name)_run".dropFirst("lookups.".count))) {
            run = try IntegerRun(into: "\(name)_run", on: connection)
        }
        if run != nil || known.contains(String(name.dropFirst("lookups.".count))) { _ = try indexed() }
    }

    func add(_ source: Int64, _ element: Int64, _ key: Int64) throws {
        if index != nil || (source, element) <= last { return try indexed().rows.add(source, element, key) }
        let run = try self.run ?? IntegerRun(into: "\(name)_run", on: connection)
        self.run = run
        elements = source == last.source ? elements + 1 : 1
        mostElements = max(mostElements, elements)
        last = (source, element)
        try run.add(source, element, key)
    }

    func flush() throws(DatabaseError) {
        try index?.rows.flush()
        try run?.flush()
    }

    func removeAll() throws {
        _ = try indexed()
        try connection.execute("DELETE FROM \(name)")
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
        if let run {
            let next = try run.rows()
            while let (source, element, key) = try next() { try rows.add(source, element, key) }
            try rows.flush()
            // No table can be dropped while a statement of the connection reads another one.
            try connection.execute("DELETE FROM \(run.table)")
        }
        run = nil
        let index = Indexed(
            rows: rows, find: try connection.prepare("SELECT key FROM \(name) WHERE source = ? ORDER BY element"),
            findElement: try connection.prepare("SELECT key FROM \(name) WHERE source = ? AND element = ?"))
        self.index = index
        return index
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
        guard let run, index == nil, mostElements <= Self.mostElements else {
            _ = try indexed()
            let order = byKey ? "key" : "element"
            let pairs = try connection.prepare("SELECT source, key FROM \(name) ORDER BY source, \(order)")
            return { try pairs.step() ? (pairs.integer(0), pairs.integer(1)) : nil }
        }
        let next = try run.rows()
        if !byKey { return { try next().map { ($0.0, $0.2) } } }
        var ahead = try next()
        var source: Int64 = 0
        // The keys of the current source object that are still to come, the lowest last.
        var keys: [Int64] = []
        return {
            if keys.isEmpty {
                guard let first = ahead else { return nil }
                source = first.0
                while let row = ahead, row.0 == source {
                    keys.append(row.2)
                    ahead = try next()
                }
                if keys.count > 1 { keys.sort(by: >) }
            }
            return keys.popLast().map { (source, $0) }
        }
    }
}
