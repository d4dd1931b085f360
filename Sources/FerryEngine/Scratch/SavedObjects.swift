internal import FerrySQLite

/// The part of a lookup in scratch: a table of hashes of values and keys of their objects, in the order of the hashes.
final class SavedObjects {
    private let name: String
    private let connection: Connection
    private let table: String
    private let search: Statement
    private let insert: Statement
    private let record: Statement
    /// The table has all objects with keys up to this one; nil before the first save.
    private(set) var last: Int64?

    init(_ name: String, on connection: Connection) throws(DatabaseError) {
        (self.name, self.connection) = (name, connection)
        table = ScratchDatabase.lookupTable(of: name)
        search = try connection.prepare("SELECT destination FROM \(table) WHERE first = ?1 AND second = ?2")
        insert = try connection.prepare("INSERT INTO \(table) (first, second, destination) VALUES (?1, ?2, ?3)")
        record = try connection.prepare("UPDATE \(ScratchDatabase.lookups) SET last = ?2 WHERE name = ?1")
        // They run inside an SQL function, many times in a statement.
        for statement in [search, insert, record] { statement.isSilent = true }
        try reload()
    }

    /// Whether scratch has the state of the last call: a rollback of a unit also removes its saved objects.
    func isCurrent() throws(DatabaseError) -> Bool { try saved() == last }

    func reload() throws(DatabaseError) { last = try saved() }

    private func saved() throws(DatabaseError) -> Int64? {
        try connection.integer("SELECT last FROM \(ScratchDatabase.lookups) WHERE name = ?", [.text(name)])
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

    /// Records that all objects with keys up to `last` are saved.
    func record(through last: Int64) throws(DatabaseError) {
        self.last = last
        try record.bind([.text(name), .integer(last)])
        try record.run()
    }

    /// Calls the body with the second word of each hash.
    func eachSecond(_ body: (UInt64) -> Void) throws(DatabaseError) {
        let seconds = try connection.prepare("SELECT second FROM \(table)")
        while try seconds.step() { body(UInt64(bitPattern: seconds.integer(0)) ^ 1 << 63) }
    }

    /// A word of a hash as an integer of the same order.
    private static func integer(_ word: UInt64) -> Int64 { Int64(bitPattern: word ^ 1 << 63) }
}
