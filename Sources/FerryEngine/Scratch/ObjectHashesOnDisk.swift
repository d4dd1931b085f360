internal import FerryBase
internal import FerrySQLite

/// The part of a lookup that is on disk, in scratch: hashes of values and keys of their objects.
///
/// Three tables in the order of the hashes, each several times as large as the one before, which is emptied into it when
/// it is full. So what is added is written a few times in order, and a search looks into three tables at most.
final class ObjectHashesOnDisk {
    /// How many objects the first table and the second one hold before they are emptied into the next one.
    private let limits: [Int64]
    private let name: String
    private let connection: Connection
    private let search: Statement
    private let insert: Statement
    private let moves: [(copy: Statement, clear: Statement)]
    private let record: Statement
    /// Objects in each table.
    private var counts: [Int64] = []
    /// All objects with keys up to it are in these tables; nil when none has been saved yet.
    private(set) var last: Int64?

    /// - Parameters:
    ///   - name: What the lookup is called.
    ///   - rows: SQL that gives hashes and keys of what is to be saved, in the order of the hashes.
    ///   - batch: How many objects are saved at a time.
    ///   - connection: The connection.
    /// - Throws: ``DatabaseError``.
    init(_ name: String, rows: String, batch: Int, on connection: Connection) throws(DatabaseError) {
        self.name = name
        self.connection = connection
        limits = [Int64(batch) * 4, Int64(batch) * 32]
        let tables = ScratchDatabase.lookupTables(of: name)
        let columns = "(first, second, destination)"
        let selects = tables.map { "SELECT destination FROM \($0) WHERE first = ?1 AND second = ?2" }
        search = try connection.prepare(selects.joined(separator: " UNION ALL "))
        insert = try connection.prepare("INSERT INTO \(tables[0]) \(columns) \(rows)")
        var moves: [(copy: Statement, clear: Statement)] = []
        for (upper, lower) in zip(tables, tables.dropFirst()) {
            let copy = try connection.prepare(
                "INSERT INTO \(lower) \(columns) SELECT first, second, destination FROM \(upper) ORDER BY first, second"
            )
            moves.append((copy, try connection.prepare("DELETE FROM \(upper)")))
        }
        self.moves = moves
        record = try connection.prepare(
            "UPDATE \(ScratchDatabase.lookups) SET last = ?2, count0 = ?3, count1 = ?4, count2 = ?5 WHERE name = ?1")
        // They run within a function, many times in a statement.
        for statement in [search, insert, record] + moves.flatMap({ [$0.copy, $0.clear] }) { statement.isSilent = true }
        try reload()
    }

    /// Whether scratch is as the last call left it: a unit that was rolled back took what it saved with it.
    func isCurrent() throws(DatabaseError) -> Bool {
        try connection.integer("SELECT last FROM \(ScratchDatabase.lookups) WHERE name = ?", [.text(name)]) == last
    }

    /// Takes over what is in scratch now.
    func reload() throws(DatabaseError) {
        let row = try connection.rows(
            "SELECT last, count0, count1, count2 FROM \(ScratchDatabase.lookups) WHERE name = ?", [.text(name)]
        ).first
        last = row?[0].integer
        counts = (1...3).map { row?[$0].integer ?? 0 }
    }

    /// The object with these values, if it was saved.
    func key(of hash: ObjectHashTable.Hash) throws(DatabaseError) -> Int64? {
        try search.bind(Self.integer(hash.first), at: 1)
        try search.bind(Self.integer(hash.second), at: 2)
        defer { search.reset() }
        return try search.step() ? search.integer(0) : nil
    }

    /// Saves what the lookup's rows are now.
    ///
    /// - Parameter last: The highest of their keys.
    /// - Throws: ``DatabaseError``.
    func save(through last: Int64) throws(DatabaseError) {
        try insert.run()
        counts[0] += connection.changes
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

    /// Goes through all hashes.
    func forEach(_ body: (ObjectHashTable.Hash) -> Void) throws(DatabaseError) {
        for table in ScratchDatabase.lookupTables(of: name) {
            let all = try connection.prepare("SELECT first, second FROM \(table)")
            while try all.step() {
                body(ObjectHashTable.Hash((Self.unsigned(all.integer(0)), Self.unsigned(all.integer(1)))))
            }
        }
    }

    // MARK: Hashes as integers of the same order

    static func integer(_ word: UInt64) -> Int64 { Int64(bitPattern: word ^ 1 << 63) }
    private static func unsigned(_ integer: Int64) -> UInt64 { UInt64(bitPattern: integer) ^ 1 << 63 }
}
