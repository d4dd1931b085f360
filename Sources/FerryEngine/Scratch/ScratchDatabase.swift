internal import FerryBase
internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// The tables beside a run: associations and lookups.
///
/// An association leads from a source object to a destination object, a lookup from the values of `unique` to one.
/// They are on disk, so that no number of keys or relationships grows the memory.
struct ScratchDatabase {
    /// One row per source object and element that became an object: `(source, element, object, destination)`.
    ///
    /// `element` counts the elements of a source object from 0; `object` is the element's own key when the iteration
    /// runs over a relationship.
    static func association(of mapping: ResolvedEntityMapping) -> String { "scratch.association_\(mapping.position)" }

    /// The table that finds an object of an entity by the values of the attributes in `unique`.
    static func lookup(of entity: String, by attributes: [String]) -> String {
        "scratch.\"lookup_\(entity)_\(attributes.joined(separator: "_"))\""
    }

    static func createAssociation(
        of mapping: ResolvedEntityMapping, isReversible: Bool, on connection: Connection
    ) throws(DatabaseError) {
        // What a policy associates may be of any entity, and several of one source object.
        let columns = "element INTEGER, object INTEGER, destination INTEGER"
        let (key, end) =
            mapping.policy != nil
            ? ("source INTEGER, \(columns), entity INTEGER, PRIMARY KEY (source, element)", " WITHOUT ROWID")
            : mapping.iteration != nil
                ? ("source INTEGER, \(columns), PRIMARY KEY (source, element)", " WITHOUT ROWID")
                // Without an iteration a source object has one row, and its key is the row's own.
                : ("source INTEGER PRIMARY KEY, \(columns)", "")
        try connection.execute("CREATE TABLE \(association(of: mapping)) (\(key))\(end)")
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

    /// Creates a lookup, whose columns have the affinity of the destination's.
    static func createLookup(
        of entity: String, by attributes: [String], columns: [Column], on connection: Connection
    ) throws(DatabaseError) {
        let table = lookup(of: entity, by: attributes)
        let values = columns.indices.map { "v\($0)" }
        let declared = zip(values, columns).map { "\($0) \($1.type)" }
        try connection.execute(
            "CREATE TABLE \(table) (\(declared.joined(separator: ", ")), destination INTEGER)")
        let unqualified = table.split(separator: ".", maxSplits: 1)[1]
        try connection.execute(
            """
            CREATE INDEX scratch."find_\(entity)_\(attributes.joined(separator: "_"))"
            ON \(unqualified) (\((values + ["destination"]).joined(separator: ", ")))
            """)
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
