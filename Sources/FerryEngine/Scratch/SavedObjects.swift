internal import FerrySQLite

/// The part of a lookup in scratch: hashes of values and keys of their objects.
///
/// Three tables in the order of the hashes, each several times as large as the one before. A full table is emptied into
/// the next one. So SQLite writes each row a few times, in order, and a search reads three tables at most: with one table,
/// eight million different values took a quarter longer, and their pages were written three times as often.
final class SavedObjects {
    /// The sizes at which the first and the second table are emptied into the next one.
    private let limits: [Int64]
    private let name: String
    private let connection: Connection
    private let tables: [String]
    private let search: Statement
    private let insert: Statement
    private let moves: [(copy: Statement, clear: Statement)]
    private let record: Statement
    private var counts: [Int64] = []
    /// The tables have all objects with keys up to this one; nil before the first save.
    private(set) var last: Int64?

    /// About `batch` objects are saved at a time.
    init(_ name: String, batch: Int, on connection: Connection) throws(DatabaseError) {
        (self.name, self.connection) = (name, connection)
        limits = [Int64(batch) * 4, Int64(batch) * 32]
        tables = ScratchDatabase.lookupTables(of: name)
        let selects = tables.map { "SELECT destination FROM \($0) WHERE first = ?1 AND second = ?2" }
        search = try connection.prepare(selects.joined(separator: " UNION ALL "))
        insert = try connection.prepare("INSERT INTO \(tables[0]) (first, second, destination) VALUES (?1, ?2, ?3)")
        var moves: [(copy: Statement, clear: Statement)] = []
        for (upper, lower) in zip(tables, tables.dropFirst()) {
            let copy = try connection.prepare("INSERT INTO \(lower) SELECT * FROM \(upper) ORDER BY first, second")
            moves.append((copy, try connection.prepare("DELETE FROM \(upper)")))
        }
        self.moves = moves
        record = try connection.prepare(
            "UPDATE \(ScratchDatabase.lookups) SET last = ?2, count0 = ?3, count1 = ?4, count2 = ?5 WHERE name = ?1")
        // They run inside an SQL function, many times in a statement.
        for statement in [search, insert, record] + moves.flatMap({ [$0.copy, $0.clear] }) { statement.isSilent = true }
        try reload()
    }

    /// Whether scratch has the state of the last call: a rollback of a unit also removes its saved objects.
    func isCurrent() throws(DatabaseError) -> Bool {
        try connection.integer("SELECT last FROM \(ScratchDatabase.lookups) WHERE name = ?", [.text(name)]) == last
    }

    func reload() throws(DatabaseError) {
        let row = try connection.rows(
            "SELECT last, count0, count1, count2 FROM \(ScratchDatabase.lookups) WHERE name = ?", [.text(name)]
        ).first
        last = row?[0].integer
        counts = (1...3).map { row?[$0].integer ?? 0 }
    }

    /// The saved object with a hash, or nil.
    func key(of hash: ObjectHashTable.Hash) throws(DatabaseError) -> Int64? {
        try search.bind(Self.integer(hash.first), at: 1)
        try search.bind(Self.integer(hash.second), at: 2)
        defer { search.reset() }
        return try search.step() ? search.integer(0) : nil
    }

    func add(_ key: Int64, with hash: ObjectHashTable.Hash) throws(DatabaseError) {
        try insert.bind(Self.integer(hash.first), at: 1)
        try insert.bind(Self.integer(hash.second), at: 2)
        try insert.bind(key, at: 3)
        try insert.run()
    }

    /// Records that all objects with keys up to `last` are saved, of which `added` are new.
    func record(through last: Int64, added: Int64) throws(DatabaseError) {
        counts[0] += added
        for level in limits.indices where counts[level] >= limits[level] {
            try moves[level].copy.run()
            try moves[level].clear.run()
            counts[level + 1] += counts[level]
            counts[level] = 0
        }
        self.last = last
        try record.bind([.text(name), .integer(last)] + counts.map { .integer($0) })
        try record.run()
    }

    /// Calls the body with the second word of each hash.
    func eachSecond(_ body: (UInt64) -> Void) throws(DatabaseError) {
        for table in tables {
            let seconds = try connection.prepare("SELECT second FROM \(table)")
            while try seconds.step() { body(UInt64(bitPattern: seconds.integer(0)) ^ 1 << 63) }
        }
    }

    /// A word of a hash as an integer of the same order.
    private static func integer(_ word: UInt64) -> Int64 { Int64(bitPattern: word ^ 1 << 63) }
}
