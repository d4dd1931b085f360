internal import FerryBase
internal import FerryModel
package import FerrySQLite

/// A leftover of an earlier version of the model in a store.
///
/// Core Data and Ferry ignore leftovers; a new store has none.
package struct Leftover: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        case table
        case column
        /// An index with a name that a new store does not have.
        case index
        /// The old name of a renamed entity in `Z_PRIMARYKEY`.
        case entityName
    }

    package var kind: Kind
    /// The table itself, or the table of the leftover; `Z_PRIMARYKEY` for an entity's old name.
    package var table: String
    package var part: String?

    package var name: String {
        switch kind {
        case .table: table
        case .column: "\(table).\(part ?? "")"
        case .index, .entityName: part ?? ""
        }
    }

    /// Returns all leftovers of a store; reads the schema and `Z_PRIMARYKEY`.
    package static func all(in source: StoreLayout, on connection: Connection) throws(DatabaseError) -> [Leftover] {
        let objects = StoreObjects(try StoreCatalog(connection), layout: source)
        return try all(in: source, objects, on: connection, schema: "main")
    }

    static func all(
        in source: StoreLayout, _ objects: StoreObjects, on connection: Connection, schema: String
    ) throws(DatabaseError) -> [Leftover] {
        var found = objects.leftoverTables.map { Leftover(kind: .table, table: $0) }
        found += columns(of: source)
        let expected =
            source.computedIndexNames
            ?? Set(LayoutBuilder(source.model, numbers: source.entityNumbers).layout.indexes.map(\.name))
        found += source.indexes.filter { AppObjects.isCoreDatas($0) && !expected.contains($0.name) }
            .map { Leftover(kind: .index, table: $0.table, part: $0.name) }
        let names = source.entitiesByNumber
        let rows = try connection.rows(
            "SELECT Z_ENT, Z_NAME FROM \(SQLName.quoted(schema, "Z_PRIMARYKEY")) ORDER BY Z_ENT")
        for row in rows {
            guard let name = row[0].integer.flatMap({ names[$0] }), let old = row[1].text, old != name else { continue }
            found.append(Leftover(kind: .entityName, table: "Z_PRIMARYKEY", part: old))
        }
        return found
    }

    static func columns(of layout: StoreLayout) -> [Leftover] {
        layout.tablesInOrder.flatMap { table in
            let known = layout.knownColumns(of: table)
            return table.columns.filter { !known.contains($0.name) }
                .map { Leftover(kind: .column, table: table.name, part: $0.name) }
        }
    }

    /// Returns the number of rows of a table, or of values of a column; nil for other kinds.
    package func count(on connection: Connection) throws(DatabaseError) -> Int64? {
        let quoted = Connection.quoted(table)
        switch kind {
        case .table: return try connection.integer("SELECT count(*) FROM \(quoted)")
        case .column:
            // IS NOT NULL does not read the values, as `count(column)` would.
            return try connection.integer(
                "SELECT count(*) FROM \(quoted) WHERE \(Connection.quoted(part ?? "")) IS NOT NULL")
        case .index, .entityName: return nil
        }
    }
}

extension StoreLayout {
    /// What of this version a leftover is in the way of: an entity's table or the column of a property; nil if nothing.
    ///
    /// `heirs` are the entities that continue those of the leftover's table, which may have another name now.
    package func place(of leftover: Leftover, heirs: [String]) -> (entity: String, property: String?)? {
        switch leftover.kind {
        case .index, .entityName: return nil
        case .table:
            if let entity = model.sortedEntityNames.first(where: { isName(table(of: $0)?.name, leftover.table) }) {
                return (entity, nil)
            }
            return joinTables.first { isName($0.name, leftover.table) }.map {
                ($0.relationship.entity, $0.relationship.property)
            }
        case .column:
            let entities = heirs + model.sortedEntityNames.filter { isName(table(of: $0)?.name, leftover.table) }
            for entity in entities {
                if let key = attributeColumns(of: entity).first(where: { isName($0.value.name, leftover.part) })?.key {
                    return (entity, key.property)
                }
                for (key, storage) in relationshipStorage(of: entity) {
                    if case .foreignKey(_, let column, _, _) = storage, isName(column, leftover.part) {
                        return (entity, key.property)
                    }
                }
            }
            return nil
        }
    }

    /// SQLite compares names without regard to the case of ASCII letters.
    private func isName(_ name: String?, _ other: String?) -> Bool { name?.lowercased() == other?.lowercased() }
}
