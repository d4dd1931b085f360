internal import FerryBase
internal import FerryModel
package import FerrySQLite

/// The content of a store: rows per entity, features of its layout, objects outside its model.
package struct StoreInspection: Sendable {
    package enum Counting: Sendable, Hashable {
        /// Counts every table through its smallest b-tree.
        case exact
        /// Counts these tables, and estimates the others.
        case exactly(in: Set<String>)
        /// Reads a bounded number of rows, and estimates large tables from their range of keys.
        case estimated

        /// The tables that are counted; nil for all.
        package var tables: Set<String>? {
            switch self {
            case .exact: nil
            case .exactly(let tables): tables
            case .estimated: []
            }
        }
    }

    package struct JoinRows: Sendable, Hashable {
        package var table: String
        package var rows: Int64
        package var isEstimated: Bool
    }

    /// In the order of entity numbers; abstract entities have no rows of their own.
    package private(set) var entities: [StoredEntity] = []
    /// Counted tables whose rows all have valid entity numbers.
    package private(set) var soundTables: Set<String> = []
    package private(set) var joinTables: [JoinRows] = []
    package private(set) var objects: StoreObjects
    /// Columns without a property: leftovers of an earlier version, or the app's own.
    package private(set) var deadColumns: [Leftover] = []
    /// As in `inspect --json`.
    package private(set) var features: [String] = []

    /// Inspects a store with its actual layout.
    package init(
        of layout: StoreLayout, on connection: Connection, counting: Counting = .exact
    ) throws(DatabaseError) {
        let catalog = try StoreCatalog(connection)
        objects = StoreObjects(catalog, layout: layout)
        let counter = RowCounter(connection: connection, counting: counting)
        for table in layout.tablesInOrder {
            let family = layout.entities(inTableOf: table.root)
            let expected = family.compactMap { layout.entityNumbers[$0] }
            let count = try counter.count(table, expected: expected)
            if !count.isEstimated, Set(expected).isSuperset(of: count.rows.keys) { soundTables.insert(table.name) }
            for entity in family {
                let number = layout.entityNumbers[entity] ?? 0
                entities.append(
                    StoredEntity(
                        name: entity, number: number, table: table.name, rows: count.rows[number] ?? 0,
                        isEstimated: count.isEstimated))
            }
        }
        for table in layout.joinTables {
            let count = try counter.count(join: table)
            joinTables.append(JoinRows(table: table.name, rows: count.rows, isEstimated: count.isEstimated))
        }
        deadColumns = Leftover.columns(of: layout)
        features = StoreInspection.features(of: layout, objects, catalog)
        if try connection.pragma("journal_mode")?.text == "wal" { features.append("wal") }
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

/// The objects of a store's schema, sorted by their origin.
package struct StoreObjects: Sendable {
    /// Core Data's tables for an earlier version of the model.
    package private(set) var leftoverTables: [String] = []
    package private(set) var historyTables: [String] = []
    package private(set) var cloudKitTables: [String] = []
    /// Triggers of derived attributes and of R-Trees, and R-Trees themselves.
    package private(set) var derivedTriggers: [String] = []
    package private(set) var rTrees: [String] = []
    /// Tables, views and triggers that are not Core Data's.
    package private(set) var unknownObjects: [String] = []

    package init(_ catalog: StoreCatalog, layout: StoreLayout) {
        rTrees = catalog.rTrees.map(\.name)
        let known = Set((layout.tables.values.map(\.name) + layout.joinTables.map(\.name)).map { $0.uppercased() })
        for table in catalog.tables where !known.contains(table.name.uppercased()) { sort(table) }
        for other in catalog.others { sort(other) }
    }

    private mutating func sort(_ table: StoreCatalog.Table) {
        let name = table.name.uppercased()
        switch name {
        case "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE": break
        case "ATRANSACTION", "ACHANGE", "ATRANSACTIONSTRING": historyTables.append(table.name)
        case _ where name.hasPrefix("ANSCK"): cloudKitTables.append(table.name)
        case _ where rTrees.contains(where: { RTree.shadowTables(of: $0).contains(table.name) }): break
        case _ where isEntityTable(table) || isJoinTable(table): leftoverTables.append(table.name)
        default: unknownObjects.append(table.name)
        }
    }

    private mutating func sort(_ object: KnownSchema.Object) {
        let name = object.name
        switch object.type {
        case "virtual table" where rTrees.contains(name): break
        case "trigger"
        where ["Z_DA_", "ZT_"].contains { name.hasPrefix($0) }
            || rTrees.contains { RTree.triggerNames(of: $0).contains(name) }:
            derivedTriggers.append(name)
        default: unknownObjects.append(name)
        }
    }

    private func isEntityTable(_ table: StoreCatalog.Table) -> Bool {
        table.name.uppercased().hasPrefix("Z") && EntityTable.systemColumns.allSatisfy { table.column($0) != nil }
    }

    private func isJoinTable(_ table: StoreCatalog.Table) -> Bool {
        table.name.wholeMatch(of: #/[Zz]_[0-9].*/#) != nil && table.keyColumns.count == 2
    }
}

package struct StoredEntity: Sendable, Hashable {
    package var name: String
    package var number: Int64
    /// Nil if no model gives the table and no table has the usual name.
    package var table: String?
    /// Rows of exactly this entity, without its subentities; nil without a table.
    package var rows: Int64?
    package var isEstimated = false
    /// The bytes of the table with its indexes; nil if not measured, and for subentities, which share a table.
    package var bytes: Int64?

    /// Reads `Z_PRIMARYKEY`, and tables with the usual names, in the order of entity numbers.
    package static func all(
        on connection: Connection, counting: StoreInspection.Counting = .exact
    ) throws(DatabaseError) -> [StoredEntity] {
        var entities: [StoredEntity] = []
        let catalog = try StoreCatalog(connection)
        let counter = RowCounter(connection: connection, counting: counting)
        var parents: [Int64: Int64] = [:]
        var names: [Int64: String] = [:]
        let listed = SQLName.quoted("main", "Z_PRIMARYKEY")
        for row in try connection.rows("SELECT Z_NAME, Z_ENT, Z_SUPER FROM \(listed) ORDER BY Z_ENT") {
            guard let name = row[0].text, let number = row[1].integer else { continue }
            names[number] = name
            if let parent = row[2].integer, parent > 0 { parents[number] = parent }
        }
        var counts: [String: (rows: [Int64: Int64], isEstimated: Bool)] = [:]
        for (number, name) in names.inOrder(by: { $0.key < $1.key }) {
            var root = number
            // Entity numbers rise from parent to child; the check prevents an endless loop in a damaged store.
            while let parent = parents[root], parent < root { root = parent }
            var entity = StoredEntity(name: name, number: number)
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
        return entities
    }
}

/// The bytes of tables and their indexes in a store's file.
package struct TableSizes: Sendable {
    /// Upper-case table name to the bytes of the table's and its indexes' pages.
    private var tables: [String: Int64] = [:]

    /// Measures every table, by a read of each page; nil if the linked SQLite has no `dbstat`.
    package init?(_ connection: Connection) throws(DatabaseError) {
        guard try Self.canMeasure(connection) else { return nil }
        let rows = try connection.rows(
            """
            SELECT ifnull(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat(?1, 1) AS s
            LEFT JOIN \(SQLName.quoted("main", "sqlite_master")) AS m ON m.name = s.name GROUP BY 1
            """, [.text("main")])
        for row in rows { tables[(row[0].text ?? "").uppercased()] = row[1].integer ?? 0 }
    }

    package func bytes(of table: String) -> Int64? { tables[table.uppercased()] }

    private static func canMeasure(_ connection: Connection) throws(DatabaseError) -> Bool {
        try connection.integer("SELECT 1 FROM pragma_module_list WHERE name = 'dbstat'") != nil
    }

    /// The bytes of a table's longest row, by a read of each page; nil if the linked SQLite has no `dbstat`.
    static func longestRow(of table: String, on connection: Connection) throws(DatabaseError) -> Int64? {
        guard try canMeasure(connection) else { return nil }
        // A row for each page: a stop request can interrupt that.
        return try connection.integer(
            "SELECT max(mx_payload) FROM dbstat(?1, 0) WHERE name = ?2", [.text("main"), .text(table)])
    }
}
