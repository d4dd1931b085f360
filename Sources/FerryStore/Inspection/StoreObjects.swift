internal import FerryModel

/// What a store's schema holds, sorted by what made it.
package struct StoreObjects: Sendable {
    /// Tables that Core Data made for an earlier version of the model.
    package private(set) var leftoverTables: [String] = []
    /// Persistent history and CloudKit mirroring.
    package private(set) var historyTables: [String] = []
    package private(set) var cloudKitTables: [String] = []
    /// Triggers of derived attributes and of R-Trees, and R-Trees themselves.
    package private(set) var derivedTriggers: [String] = []
    package private(set) var rTrees: [String] = []
    /// Tables, views and triggers that are not Core Data's.
    package private(set) var unknownObjects: [String] = []

    /// - Parameters:
    ///   - catalog: The store's schema.
    ///   - layout: The store's actual layout.
    package init(_ catalog: StoreCatalog, layout: StoreLayout) {
        rTrees = catalog.others.filter { $0.type == "virtual table" && RTree.isCoreDatas($0.name, sql: $0.sql) }.map(
            \.name)
        let known = Set((layout.tables.values.map(\.name) + layout.joinTables.map(\.name)).map { $0.uppercased() })
        for table in catalog.tables where !known.contains(table.name.uppercased()) { sort(table) }
        for other in catalog.others { sort(type: other.type, name: other.name, sql: other.sql) }
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

    private mutating func sort(type: String, name: String, sql: String) {
        switch type {
        case "virtual table" where rTrees.contains(name): break
        case "trigger" where ["Z_DA_", "ZT_"].contains { name.hasPrefix($0) } || isOfRTree(name):
            derivedTriggers.append(name)
        default: unknownObjects.append(name)
        }
    }

    private func isOfRTree(_ trigger: String) -> Bool {
        rTrees.contains { name in ["_INSERT", "_UPDATE", "_DELETE"].contains { trigger == name + $0 } }
    }

    private func isEntityTable(_ table: StoreCatalog.Table) -> Bool {
        table.name.uppercased().hasPrefix("Z") && ["Z_PK", "Z_ENT", "Z_OPT"].allSatisfy { table.column($0) != nil }
    }

    private func isJoinTable(_ table: StoreCatalog.Table) -> Bool {
        ColumnPattern("Z_#", "").startsLike(table.name) && table.keyColumns.count == 2
    }
}
