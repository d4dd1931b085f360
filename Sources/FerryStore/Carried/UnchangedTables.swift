internal import FerryModel

/// Which of Core Data's tables mean the same in the old store and in the new one.
struct UnchangedTables {
    /// Upper-case names of Core Data's tables that change.
    private let changed: Set<String>

    /// A table is unchanged when the new store has it with all its columns, under the same numbers of its entities.
    init(source: StoreLayout, destination: StoreLayout, catalog: StoreCatalog) {
        var changed: Set<String> = ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ACHANGE"]
        for (root, table) in source.tables where !Self.isUnchanged(table, root, source, destination) {
            changed.insert(table.name.uppercased())
        }
        for table in source.joinTables {
            if !destination.joinTables.contains(where: { $0.sql.uppercased() == table.sql.uppercased() }) {
                changed.insert(table.name.uppercased())
            }
        }
        changed.formUnion(StoreObjects(catalog, layout: source).leftoverTables.map { $0.uppercased() })
        self.changed = changed
    }

    /// The first table that changes among the names in an SQL text.
    func changedTable(namedIn sql: String) -> String? { SQLNames.names(in: sql).first(where: changed.contains) }

    private static func isUnchanged(
        _ table: EntityTable, _ root: String, _ source: StoreLayout, _ destination: StoreLayout
    ) -> Bool {
        guard let other = destination.tables.values.first(where: { $0.name == table.name }),
            Set(other.columns).isSuperset(of: table.columns)
        else { return false }
        return source.entities(inTableOf: root).allSatisfy { source.number(of: $0) == destination.number(of: $0) }
    }
}
