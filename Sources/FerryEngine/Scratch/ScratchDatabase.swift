package import FerryBase
internal import FerryMapping
package import FerrySQLite

/// The scratch database of a run: associations and lookups.
///
/// An association leads from a source object to a destination object, a lookup from the values of `unique` to a
/// destination object. Both are on disk, so memory does not grow with the rows.
package struct ScratchDatabase {
    /// The name of the lookup of an entity's objects by the attributes in `unique`.
    ///
    /// A lookup in which nil equals nothing lacks objects that the other kind has.
    static func lookup(for mapping: ResolvedEntityMapping) -> String {
        ([mapping.destination] + mapping.unique).joined(separator: ",") + (mapping.nilIsEqual ? "" : ",")
    }

    // MARK: Policies

    static let policyLookup = "scratch.policy_lookup"
    static let userInfo = "scratch.user_info"

    static func createPolicyTables(on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            """
            CREATE TABLE \(policyLookup) (name TEXT, key, entity INTEGER, destination INTEGER, PRIMARY KEY (name, key))
            WITHOUT ROWID
            """)
        try connection.execute("CREATE TABLE \(userInfo) (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
    }

    // MARK: Lookups

    /// The table with one row per lookup: its hash key, the highest saved object, and the row counts of its tables.
    static let lookups = "scratch.lookups"

    /// The tables of a lookup, from the smallest to the largest.
    static func lookupTables(of name: String) -> [String] {
        (0...2).map { "scratch.\(Connection.quoted("lookup_\(name)_\($0)"))" }
    }

    package static func createLookups(_ names: [String], on connection: Connection) throws(DatabaseError) {
        guard !names.isEmpty else { return }
        try connection.execute(
            """
            CREATE TABLE \(lookups) (
                name TEXT PRIMARY KEY, low INTEGER, high INTEGER, last INTEGER, count0 INTEGER, count1 INTEGER,
                count2 INTEGER
            ) WITHOUT ROWID
            """)
        for name in names {
            let key = KeyedHash.Key.random()
            try connection.run(
                "INSERT INTO \(lookups) VALUES (?, ?, ?, NULL, 0, 0, 0)",
                [.text(name), .integer(Int64(bitPattern: key.low)), .integer(Int64(bitPattern: key.high))])
            for table in lookupTables(of: name) {
                try connection.execute(
                    """
                    CREATE TABLE \(table) (
                        first INTEGER, second INTEGER, destination INTEGER, PRIMARY KEY (first, second)) WITHOUT ROWID
                    """)
            }
        }
    }

    /// The key of a lookup's hashes.
    package static func key(ofLookup name: String, on connection: Connection) throws -> KeyedHash.Key {
        let row = try connection.rows("SELECT low, high FROM \(lookups) WHERE name = ?", [.text(name)]).first
        guard let low = row?[0].integer, let high = row?[1].integer else {
            throw FerryError(.internalError, "The scratch database has no lookup \(name).")
        }
        return KeyedHash.Key(low: UInt64(bitPattern: low), high: UInt64(bitPattern: high))
    }

    // MARK: The last unit

    static func createUnit(on connection: Connection) throws(DatabaseError) {
        try connection.execute("CREATE TABLE scratch.last_unit (number INTEGER)")
        try connection.execute("INSERT INTO scratch.last_unit VALUES (0)")
    }

    static func setLastUnit(_ number: Int64, on connection: Connection) throws(DatabaseError) {
        try connection.run("UPDATE scratch.last_unit SET number = ?", [.integer(number)])
    }

    /// The number of the last unit that wrote to scratch, or nil for an empty file.
    static func lastUnit(on connection: Connection) throws(DatabaseError) -> Int64? {
        let exists = try connection.integer("SELECT 1 FROM scratch.sqlite_master WHERE name = 'last_unit'") != nil
        return exists ? try connection.integer("SELECT number FROM scratch.last_unit") : nil
    }
}
