internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Finds out which row has values that are too large; no value is read for that.
struct LargeValueSearch {
    let layout: StoreLayout
    let connection: Connection
    let schema: String

    /// The first object of an entity with a value of more bytes; nil when there is none.
    ///
    /// - Parameters:
    ///   - entity: The entity, without those below it.
    ///   - range: The keys that are looked at.
    ///   - bytes: The size.
    /// - Returns: The object's key.
    /// - Throws: ``DatabaseError``.
    func firstKey(of entity: String, in range: KeyRange = .all, above bytes: Int) throws(DatabaseError) -> Int64? {
        guard let table = layout.table(of: entity), let number = layout.number(of: entity) else { return nil }
        let columns = table.columns.filter { ["BLOB", "VARCHAR"].contains($0.type.uppercased()) }.map(\.name)
        let types = columns.map { "typeof(\(Connection.quoted($0))) IN ('text', 'blob')" }
        let rows = try connection.prepare(
            """
            SELECT \((["Z_PK"] + types).joined(separator: ", ")) FROM \(schema).\(Connection.quoted(table.name))
            WHERE Z_PK > ?1 AND Z_PK <= ?2 AND +Z_ENT = ?3 ORDER BY Z_PK
            """)
        try rows.bind([
            .integer(range.low), .integer(range.high), .integer(number),
        ])
        while try rows.step() {
            let key = rows.integer(0)
            for (index, column) in columns.enumerated() where rows.integer(index + 1) != 0 {
                let value = try BlobHandle(column, of: table.name, row: key, schema: schema, on: connection)
                if value.count > bytes { return key }
            }
        }
        return nil
    }

    /// The first object of any entity with a value of more bytes.
    func first(above bytes: Int) throws(DatabaseError) -> (entity: String, key: Int64)? {
        for entity in layout.model.sortedEntityNames {
            if let key = try firstKey(of: entity, above: bytes) { return (entity, key) }
        }
        return nil
    }
}
