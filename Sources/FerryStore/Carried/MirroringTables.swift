package import FerrySQLite

/// What a store remembers of the records that CloudKit has of its objects.
///
/// The tables name objects by the number of their entity and their key; everything else in them is about records on the
/// server and means the same in every version.
package struct MirroringTables: Sendable {
    package struct Table: Sendable {
        package var carried: CarriedTable
        /// Whether its rows name entities by number (`ZENTITYID`).
        package var isNumbered: Bool
    }

    package private(set) var tables: [Table] = []
    package private(set) var indexes: [IndexDefinition] = []

    private static let numberColumn = "ZENTITYID"
    /// Where the objects of a many-to-many are remembered by the names of their relationship.
    package static let relationshipTable = "ANSCKMIRROREDRELATIONSHIP"

    init?(
        _ names: [String], _ catalog: StoreCatalog, on connection: Connection, schema: String
    ) throws(DatabaseError) {
        guard !names.isEmpty else { return nil }
        for name in names {
            let table = catalog.table(name)
            tables.append(
                Table(
                    carried: try CarriedTable(name, sql: table?.sql, on: connection, schema: schema),
                    isNumbered: table?.column(Self.numberColumn) != nil))
        }
        indexes = catalog.indexes.filter { names.contains($0.table) }
    }

    package var mirrorsRelationships: Bool {
        tables.contains { $0.carried.name.uppercased() == Self.relationshipTable }
    }

    /// Rows whose entity number is not among those of the store's entities.
    ///
    /// - Throws: ``DatabaseError``.
    package func strangers(
        to layout: StoreLayout, on connection: Connection, schema: String = "main"
    ) throws(DatabaseError) -> (table: String, rows: Int64)? {
        let known = layout.entityNumbers.values.sorted().sqlList
        for table in tables where table.isNumbered {
            let rows =
                try connection.integer(
                    "SELECT count(*) FROM \(SQLName.quoted(schema, table.carried.name)) "
                        + "WHERE \(Self.numberColumn) IS NOT NULL AND \(Self.numberColumn) NOT IN (\(known))") ?? 0
            if rows > 0 { return (table.carried.name, rows) }
        }
        return nil
    }

    /// Copies a table's rows from one attached store to another, their entities under the new numbers; with `:low` and
    /// `:high` where the rows have numbers.
    package static func copy(_ table: Table, numbers: [(from: Int64, to: Int64)]) -> String {
        guard table.isNumbered, !numbers.isEmpty else { return table.carried.copy() }
        let cases = numbers.map { "WHEN \($0.from) THEN \($0.to)" }.joined(separator: " ")
        let number = "CASE \(numberColumn) \(cases) END"
        return table.carried.copy { $0.uppercased() == "\"\(numberColumn)\"" ? number : $0 }
    }
}
