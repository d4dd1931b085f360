internal import FerryModel
package import FerrySQLite

/// Something that an earlier version of the model left in a store.
///
/// Core Data passes over it, and so does Ferry; a new store does not get it.
package struct Leftover: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        /// An entity's table or a join table that no entity and no relationship has any more.
        case table
        /// A column of an entity table that no property has any more.
        case column
        /// An index under a name that a new store would not give it.
        case index
        /// An entity's name before it was renamed, in `Z_PRIMARYKEY`.
        case entityName
    }

    package var kind: Kind
    /// The table that it is, or is of; for an entity's old name `Z_PRIMARYKEY`.
    package var table: String
    /// The column, the index or the old name; nil for a table.
    package var part: String?

    init(_ kind: Kind, table: String, part: String? = nil) {
        self.kind = kind
        self.table = table
        self.part = part
    }

    /// The words by which reports name it: `TABLE`, `TABLE.COLUMN`, or the name alone.
    package var name: String {
        switch kind {
        case .table: table
        case .column: "\(table).\(part ?? "")"
        case .index, .entityName: part ?? ""
        }
    }

    /// Everything that a store has left of earlier versions; reads its schema and no rows.
    package static func all(in source: StoreLayout, on connection: Connection) throws(DatabaseError) -> [Leftover] {
        let objects = StoreObjects(try StoreCatalog(connection), layout: source)
        return try all(in: source, objects, on: connection, schema: "main")
    }

    static func all(
        in source: StoreLayout, _ objects: StoreObjects, on connection: Connection, schema: String
    ) throws(DatabaseError) -> [Leftover] {
        var found = objects.leftoverTables.map { Leftover(.table, table: $0) }
        found += columns(of: source)
        let expected =
            source.computedIndexNames
            ?? Set(LayoutBuilder(source.model, numbers: source.entityNumbers).layout.indexes.map(\.name))
        found += source.indexes.filter { AppObjects.isCoreDatas($0) && !expected.contains($0.name) }
            .map { Leftover(.index, table: $0.table, part: $0.name) }
        let names = Dictionary(source.entityNumbers.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let rows = try connection.rows(
            "SELECT Z_ENT, Z_NAME FROM \(SQLName.quoted(schema, "Z_PRIMARYKEY")) ORDER BY Z_ENT")
        for row in rows {
            guard let name = row[0].integer.flatMap({ names[$0] }), let old = row[1].text, old != name else { continue }
            found.append(Leftover(.entityName, table: "Z_PRIMARYKEY", part: old))
        }
        return found
    }

    /// The columns that no property has.
    static func columns(of layout: StoreLayout) -> [Leftover] {
        layout.tablesInOrder.flatMap { table in
            let known = layout.knownColumns(of: table)
            return table.columns.filter { !known.contains($0.name) }
                .map { Leftover(.column, table: table.name, part: $0.name) }
        }
    }

    /// How many rows a table has, or how many values a column; nil for what holds none.
    package func count(on connection: Connection) throws(DatabaseError) -> Int64? {
        let quoted = Connection.quoted(table)
        switch kind {
        case .table: return try connection.integer("SELECT count(*) FROM \(quoted)")
        case .column:
            // Counted as rows: count() of a column would read every value of it.
            return try connection.integer(
                "SELECT count(*) FROM \(quoted) WHERE \(Connection.quoted(part ?? "")) IS NOT NULL")
        case .index, .entityName: return nil
        }
    }
}
