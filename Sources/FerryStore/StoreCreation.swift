internal import FerryBase
internal import FerryModel
package import FerrySQLite

/// The creation of a new store's tables and indexes on an open connection.
///
/// Callers open transactions, and create tables, rows, then indexes: faster, with the content of Core Data's order.
package enum StoreCreation {
    /// Sets page size and incremental vacuum before the first table, as Core Data does.
    ///
    /// - Precondition: The database is empty and no transaction is open.
    package static func prepare(_ connection: Connection) throws(DatabaseError) {
        precondition(!connection.isInTransaction, "The page size cannot change inside a transaction.")
        try connection.execute("PRAGMA \"main\".page_size = 4096; PRAGMA \"main\".auto_vacuum = 2")
    }

    package static func createTables(
        of layout: StoreLayout, on connection: Connection, hasModelCache: Bool
    ) throws(DatabaseError) {
        for statement in tables(of: layout, hasModelCache: hasModelCache) { try connection.execute(statement) }
    }

    /// Returns the statements that create the tables, in Core Data's order.
    package static func tables(of layout: StoreLayout, hasModelCache: Bool) -> [String] {
        let own = layout.tablesInOrder.flatMap { table in
            let joins = layout.joinTables.filter { layout.model.root(of: $0.relationship.entity) == table.root }
            return [table.sql] + joins.map(\.sql)
        }
        return own + systemTables.filter { $0.0 != "Z_MODELCACHE" || hasModelCache }.map { Self.sql(of: $0) }
    }

    /// Fills `Z_PRIMARYKEY`; `maximumKeys` has the highest assigned key by root entity, 0 if missing.
    package static func writeEntityNumbers(
        of layout: StoreLayout, maximumKeys: [String: Int64], on connection: Connection
    ) throws(DatabaseError) {
        let insert = try connection.prepare(entityNumber)
        for (entity, number) in layout.entityNumbers.inOrder(by: { $0.value < $1.value }) {
            let parent = layout.model.entities[entity]?.superentity.flatMap { layout.entityNumbers[$0] }
            // Only root entities have a `Z_MAX`: a hierarchy shares one table.
            let maximum = parent == nil ? maximumKeys[entity] ?? 0 : 0
            try insert.bind([.integer(number), .text(entity), .integer(parent ?? 0), .integer(maximum)])
            try insert.run()
        }
    }

    /// Makes the R-Trees, the values of derived attributes, and the triggers that update both.
    ///
    /// Must be the last step, after all rows and indexes: the triggers call functions that only Core Data has.
    package static func finish(_ layout: StoreLayout, on connection: Connection) throws(DatabaseError) {
        for rTree in layout.rTrees {
            try connection.execute(rTree.sql)
            try connection.run(rTree.fill, allKeys)
        }
        for value in layout.derivedValues { try connection.run(value.update, allKeys) }
        for trigger in layout.allTriggers { try connection.execute(trigger.sql) }
    }

    /// The bounds of statements over a range of keys, for all of them.
    static let allKeys: [Value] = [.integer(.min), .integer(.max)]

    /// Returns the CREATE statement of one of Core Data's own tables; nil for another name.
    package static func sql(ofSystemTable name: String) -> String? {
        systemTables.first { $0.0 == name }.map { sql(of: $0) }
    }

    private static func sql(of table: (name: String, columns: String)) -> String {
        "CREATE TABLE \(table.name) (\(table.columns))"
    }

    /// Adds an entity to `Z_PRIMARYKEY`, bound with number, name, number of the superentity, and highest key.
    package static let entityNumber = """
        INSERT OR REPLACE INTO \(SQLName.quoted("main", "Z_PRIMARYKEY")) (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) \
        VALUES (?, ?, ?, ?)
        """

    private static let systemTables = [
        ("Z_PRIMARYKEY", "Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER"),
        ("Z_METADATA", "Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB"),
        ("Z_MODELCACHE", "Z_CONTENT BLOB"),
    ]
}
