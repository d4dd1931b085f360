package import FerrySQLite

/// The entities of a store whose model is not at hand: what its own list of entities says, and tables named as usual.
package struct StoredEntities: Sendable {
    package struct Entity: Sendable, Hashable {
        package var name: String
        package var number: Int64
        /// Nil where the usual name leads to no table.
        package var table: String?
        package var rows: Int64?
        package var isEstimated: Bool
    }

    /// In the order of their numbers.
    package private(set) var entities: [Entity] = []

    /// - Parameters:
    ///   - connection: An open connection.
    ///   - schema: The name under which the store is attached.
    ///   - counting: How rows are counted.
    /// - Throws: ``DatabaseError``.
    package init(
        _ connection: Connection, schema: String = "main", counting: StoreInspection.Counting = .exact
    ) throws(DatabaseError) {
        let catalog = try StoreCatalog(connection, schema: schema)
        let counter = RowCounter(connection: connection, schema: schema, isExact: counting == .exact)
        var parents: [Int64: Int64] = [:]
        var names: [Int64: String] = [:]
        let listed = SQLName.quoted(schema, "Z_PRIMARYKEY")
        for row in try connection.rows("SELECT Z_NAME, Z_ENT, Z_SUPER FROM \(listed) ORDER BY Z_ENT") {
            guard let name = row[0].text, let number = row[1].integer else { continue }
            names[number] = name
            if let parent = row[2].integer, parent > 0 { parents[number] = parent }
        }
        var counts: [String: (rows: [Int64: Int64], isEstimated: Bool)] = [:]
        for (number, name) in names.sorted(by: { $0.key < $1.key }) {
            var root = number
            // Numbers grow from parent to child, so that a damaged list has no endless lineage.
            while let parent = parents[root], parent < root { root = parent }
            var entity = Entity(name: name, number: number, isEstimated: false)
            if let table = names[root].flatMap({ catalog.table("Z" + $0.uppercased()) }), table.column("Z_ENT") != nil {
                entity.table = table.name
                if counts[table.name] == nil {
                    counts[table.name] = try counter.count(EntityTable(root: name, name: table.name, columns: []))
                }
                entity.rows = counts[table.name]?.rows[number] ?? 0
                entity.isEstimated = counts[table.name]?.isEstimated ?? false
            }
            entities.append(entity)
        }
    }
}
