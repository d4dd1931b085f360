package import FerryBase
internal import FerryMapping
package import FerrySQLite
internal import FerryStore

/// The tables beside a run: associations and lookups.
///
/// An association leads from a source object to a destination object, a lookup from the values of `unique` to one.
/// They are on disk, so that no number of keys or relationships grows the memory.
package struct ScratchDatabase {
    /// One row per source object and element that became an object: `(source, element, object, destination)`.
    ///
    /// `element` counts the elements of a source object from 0; `object` is the element's own key when the iteration
    /// runs over a relationship.
    static func association(of mapping: ResolvedEntityMapping) -> String { "scratch.association_\(mapping.position)" }

    /// The beginning of a statement that records what source objects became.
    static func insertion(intoAssociationOf mapping: ResolvedEntityMapping) -> String {
        "INSERT INTO \(association(of: mapping)) (source, element, object, destination)"
    }

    /// What the lookup is called that finds objects of an entity by the values of the attributes in `unique`.
    static func lookup(of entity: String, by attributes: [String]) -> String {
        ([entity] + attributes).joined(separator: ",")
    }

    static func createAssociation(
        of mapping: ResolvedEntityMapping, isReversible: Bool, isReadAtOnce: Bool, on connection: Connection
    ) throws(DatabaseError) {
        let columns = "element INTEGER, object INTEGER, destination INTEGER"
        let table: String
        if mapping.policy != nil {
            // What a policy associates may be of any entity, and several of one source object.
            table = "(source INTEGER, \(columns), entity INTEGER, PRIMARY KEY (source, element)) WITHOUT ROWID"
        } else if mapping.iteration == nil {
            // Without an iteration a source object has one row, and its key is the row's own.
            table = "(source INTEGER PRIMARY KEY, \(columns))"
        } else if isReadAtOnce {
            // The rows of one source object are never looked for.
            table = "(source INTEGER, \(columns))"
        } else {
            table = "(source INTEGER, \(columns), PRIMARY KEY (source, element)) WITHOUT ROWID"
        }
        try connection.execute("CREATE TABLE \(association(of: mapping)) \(table)")
        guard isReversible else { return }
        try connection.execute(
            "CREATE INDEX scratch.made_\(mapping.position) ON association_\(mapping.position) (destination)")
    }

    // MARK: What policies keep

    static let policyLookup = "scratch.policy_lookup"
    static let userInfo = "scratch.user_info"

    /// Creates the tables of lookups by name, and of the user info.
    static func createPolicyTables(on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            """
            CREATE TABLE \(policyLookup) (name TEXT, key, entity INTEGER, destination INTEGER, PRIMARY KEY (name, key))
            WITHOUT ROWID
            """)
        try connection.execute("CREATE TABLE \(userInfo) (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
    }

    // MARK: Lookups

    /// One row per lookup: the key of its hashes, up to which object it is saved, and how many rows its tables have.
    static let lookups = "scratch.lookups"

    /// The tables of a lookup, each for more objects than the one before.
    static func lookupTables(of name: String) -> [String] {
        (0...2).map { "scratch.\(Connection.quoted("lookup_\(name)_\($0)"))" }
    }

    /// Creates the tables of lookups.
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

    /// The links of a join table in the order in which they came.
    ///
    /// `firstOrder` is the position of the first object among those of the second one, `secondOrder` the other way.
    static func links(of table: JoinTable) -> String { "scratch.\"links_\(table.name)\"" }

    static func createLinks(of table: JoinTable, on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            "CREATE TABLE \(links(of: table)) (first INTEGER, second INTEGER, firstOrder INTEGER, secondOrder INTEGER)")
    }

    /// Lets a policy find the links of one object.
    static func indexLinks(of table: JoinTable, on connection: Connection) throws(DatabaseError) {
        for column in ["first", "second"] {
            try connection.execute(
                "CREATE INDEX scratch.\"\(column)_\(table.name)\" ON \"links_\(table.name)\" (\(column))")
        }
    }

    // MARK: The last unit

    static func createUnit(on connection: Connection) throws(DatabaseError) {
        try connection.execute("CREATE TABLE scratch.last_unit (number INTEGER)")
        try connection.execute("INSERT INTO scratch.last_unit VALUES (0)")
    }

    static func setLastUnit(_ number: Int64, on connection: Connection) throws(DatabaseError) {
        try connection.run("UPDATE scratch.last_unit SET number = ?", [.integer(number)])
    }

    /// The number of the last unit that wrote here, or nil when the file holds nothing.
    static func lastUnit(on connection: Connection) throws(DatabaseError) -> Int64? {
        let exists = try connection.integer("SELECT 1 FROM scratch.sqlite_master WHERE name = 'last_unit'") != nil
        return exists ? try connection.integer("SELECT number FROM scratch.last_unit") : nil
    }
}
