internal import FerryModel
package import FerrySQLite

/// What a store holds: rows per entity, features of its layout, objects that its model does not explain.
package struct StoreInspection: Sendable {
    package enum Counting: Sendable, Hashable {
        /// Reads every table through its smallest b-tree.
        case exact
        /// Reads a bounded number of rows; large tables are estimated from their range of keys.
        case estimated
    }

    package struct EntityRows: Sendable, Hashable {
        package var entity: String
        package var number: Int64
        package var table: String
        /// Rows of exactly this entity, without those of its subentities.
        package var rows: Int64
        package var isEstimated: Bool
    }

    /// A column of no property of the model: left by an earlier version, or the app's own.
    package struct DeadColumn: Sendable, Hashable {
        package var table: String
        package var column: String
    }

    package struct JoinRows: Sendable, Hashable {
        package var table: String
        package var rows: Int64
        package var isEstimated: Bool
    }

    /// In the order of the entities' numbers; abstract entities have no rows of their own.
    package private(set) var entities: [EntityRows] = []
    /// Tables whose rows were counted, and are all of entities that belong there.
    package private(set) var soundTables: Set<String> = []
    package private(set) var joinTables: [JoinRows] = []
    package private(set) var objects: StoreObjects
    package private(set) var deadColumns: [DeadColumn] = []
    /// The words of the `features` key of `inspect --json`.
    package private(set) var features: [String] = []

    /// Looks through a store.
    ///
    /// - Parameters:
    ///   - layout: The store's actual layout.
    ///   - connection: An open connection.
    ///   - schema: The name under which the store is attached.
    ///   - counting: How rows are counted.
    ///   - walk: A walk over the pages of the store as they are now: what it has counted is not counted again.
    /// - Throws: ``DatabaseError``.
    package init(
        of layout: StoreLayout, on connection: Connection, schema: String = "main", counting: Counting = .exact,
        walk: PageWalk? = nil
    ) throws(DatabaseError) {
        let catalog = try StoreCatalog(connection, schema: schema)
        objects = StoreObjects(catalog, layout: layout)
        let counter = RowCounter(connection: connection, schema: schema, isExact: counting == .exact, walk: walk)
        for table in layout.tablesInOrder {
            let family = layout.entities(inTableOf: table.root)
            let expected = family.compactMap { layout.entityNumbers[$0] }
            let count = try counter.count(table, expected: expected)
            if !count.isEstimated, Set(expected).isSuperset(of: count.rows.keys) { soundTables.insert(table.name) }
            for entity in family {
                let number = layout.entityNumbers[entity] ?? 0
                entities.append(
                    EntityRows(
                        entity: entity, number: number, table: table.name, rows: count.rows[number] ?? 0,
                        isEstimated: count.isEstimated))
            }
        }
        for table in layout.joinTables {
            let count = try counter.count(join: table)
            joinTables.append(JoinRows(table: table.name, rows: count.rows, isEstimated: count.isEstimated))
        }
        for table in layout.tablesInOrder {
            let known = layout.knownColumns(of: table)
            deadColumns += table.columns.filter { !known.contains($0.name) }
                .map { DeadColumn(table: table.name, column: $0.name) }
        }
        features = StoreInspection.features(of: layout, objects, catalog)
        if try connection.value("PRAGMA \(Connection.quoted(schema)).journal_mode")?.text == "wal" {
            features.append("wal")
        }
    }

    private static func features(
        of layout: StoreLayout, _ objects: StoreObjects, _ catalog: StoreCatalog
    ) -> [String] {
        let entities = layout.model.entities.values
        let attributes = entities.flatMap(\.attributes)
        let storages = layout.relationshipStorage.values
        let isOrdered = storages.contains {
            switch $0 {
            case .foreignKey(_, _, _, let order?), .inverseForeignKey(_, _, _, let order?): !order.isEmpty
            case .join(_, _, _, let other, let own): other != nil || own != nil
            default: false
            }
        }
        let isInverseless = storages.contains { if case .inverseless = $0 { true } else { false } }
        let found: [(String, Bool)] = [
            ("inheritance", entities.contains { $0.superentity != nil }),
            ("manyToMany", !layout.joinTables.isEmpty),
            ("orderedRelationships", isOrdered),
            ("inverselessRelationships", isInverseless),
            ("externalStorage", attributes.contains { $0.allowsExternalStorage && !$0.isTransient }),
            ("transformable", attributes.contains { $0.type == .transformable && !$0.isTransient }),
            ("composite", attributes.contains { $0.type == .composite }),
            ("derivedAttributes", attributes.contains(where: \.isDerived)),
            ("uniqueness", entities.contains { !$0.uniquenessConstraints.isEmpty }),
            ("fetchIndexes", entities.contains { !$0.fetchIndexes.isEmpty || !$0.compoundIndexes.isEmpty }),
            ("rTree", !objects.rTrees.isEmpty),
            ("history", !objects.historyTables.isEmpty),
            ("cloudKit", !objects.cloudKitTables.isEmpty),
            ("modelCache", catalog.table("Z_MODELCACHE") != nil),
        ]
        return found.filter(\.1).map(\.0)
    }
}
