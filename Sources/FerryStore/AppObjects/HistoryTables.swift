package import FerryModel
package import FerrySQLite

/// Persistent history: the inserted, updated and deleted rows of each transaction.
package struct HistoryTables: Sendable {
    /// Transactions and their strings, copied unchanged.
    package private(set) var plain: [AppTable] = []
    package let changes: AppTable
    package private(set) var indexes: [IndexDefinition] = []

    /// The first entity number of history's own entities in `Z_PRIMARYKEY`.
    package static let firstNumber: Int64 = 16000

    init?(
        _ names: [String], _ catalog: StoreCatalog, on connection: Connection, schema: String
    ) throws(DatabaseError) {
        guard let name = names.first(where: { $0.uppercased() == "ACHANGE" }) else {
            // Without a table of changes the other tables are useless.
            return nil
        }
        changes = try AppTable(name, in: catalog, on: connection, schema: schema)
        for other in names where other != name {
            plain.append(try AppTable(other, in: catalog, on: connection, schema: schema))
        }
        indexes = catalog.indexes.filter { names.contains($0.table) }
    }

    /// Returns the number of `ZTOMBSTONE` columns: the largest number of attributes that an entity preserves.
    package static func tombstones(of model: ManagedObjectModel) -> Int {
        model.sortedEntityNames.map { preserved(by: $0, in: model).count }.max() ?? 0
    }

    private static func preserved(by entity: String, in model: ManagedObjectModel) -> [String] {
        model.attributes(of: entity).filter { $0.preservesValueAfterDeletion && !$0.isTransient }.map(\.name)
    }

    // MARK: Translation

    package struct Translation: Sendable, Hashable {
        package var from: Int64
        package var to: Int64
        /// Whether the bit sets of changed properties (`ZCOLUMNS`) keep their meaning.
        package var keepsColumns: Bool
        /// Whether the preserved values of deleted rows (`ZTOMBSTONE…`) keep their attributes.
        package var keepsTombstones: Bool
    }

    /// Returns the translation of an entity's changes for the new store, if its rows keep their keys.
    ///
    /// A migration over versions in between loses the same parts as one step at a time.
    ///
    /// `names` has the entity's name in each version, from the source on.
    ///
    /// - Returns: Nil if the entity has no number in one of the layouts.
    package static func translation(
        of names: [String], in models: [ManagedObjectModel], _ source: StoreLayout, _ destination: StoreLayout
    ) -> Translation? {
        guard let first = names.first, let last = names.last, let from = source.number(of: first),
            let to = destination.number(of: last)
        else { return nil }
        let kept = keeps(of: names, in: models)
        return Translation(from: from, to: to, keepsColumns: kept.columns, keepsTombstones: kept.tombstones)
    }

    /// Returns whether `ZCOLUMNS` and `ZTOMBSTONE…` keep their meaning for an entity, by its name in each version.
    package static func keeps(
        of names: [String], in models: [ManagedObjectModel]
    ) -> (columns: Bool, tombstones: Bool) {
        let places = Array(zip(names, models))
        return (
            Set(places.map { properties(of: $0, in: $1) }).count <= 1,
            Set(places.map { preserved(by: $0, in: $1) }).count <= 1
        )
    }

    /// Everything that the order of an entity's properties can depend on.
    private static func properties(of entity: String, in model: ManagedObjectModel) -> [String] {
        model.attributes(of: entity).map { "\($0.name) \($0.isTransient) \($0.type)" }
            + model.relationships(of: entity).map {
                "\($0.name) \($0.isTransient) \($0.isToMany) \($0.destinationEntity)"
            }
    }

    // MARK: Statements

    /// Returns the columns of the changes table that a new store of a model needs and the old one lacks.
    package func missingTombstones(for model: ManagedObjectModel) -> [String] {
        (0..<Self.tombstones(of: model)).map { "ZTOMBSTONE\($0)" }.filter {
            !changes.columns.contains(Connection.quoted($0))
        }
    }
}

/// The tables of CloudKit mirroring, with the records of objects.
///
/// Rows name objects by entity number and key. Other columns describe records on the server, equal in all versions.
package struct MirroringTables: Sendable {
    package private(set) var tables: [AppTable] = []
    package private(set) var indexes: [IndexDefinition] = []

    static let numberColumn = "ZENTITYID"

    init?(
        _ names: [String], _ catalog: StoreCatalog, on connection: Connection, schema: String
    ) throws(DatabaseError) {
        guard !names.isEmpty else { return nil }
        for name in names { tables.append(try AppTable(name, in: catalog, on: connection, schema: schema)) }
        indexes = catalog.indexes.filter { names.contains($0.table) }
    }

    /// Whether a table stores many-to-many links by the names of their relationship.
    package var mirrorsRelationships: Bool {
        tables.contains { $0.name.uppercased() == "ANSCKMIRROREDRELATIONSHIP" }
    }

    /// Returns the first table with rows of unknown entity numbers, and their count.
    package func rowsOfUnknownEntities(
        to layout: StoreLayout, on connection: Connection, schema: String = "main"
    ) throws(DatabaseError) -> (table: String, rows: Int64)? {
        let known = layout.entityNumbers.values.sorted().sqlList
        for table in tables where table.namesEntities {
            let rows =
                try connection.integer(
                    "SELECT count(*) FROM \(SQLName.quoted(schema, table.name)) "
                        + "WHERE \(Self.numberColumn) IS NOT NULL AND \(Self.numberColumn) NOT IN (\(known))") ?? 0
            if rows > 0 { return (table.name, rows) }
        }
        return nil
    }
}
