internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension InPlaceSchema {
    /// Looks through a store for what its model does not explain.
    ///
    /// - Throws: ``FerryError`` for an object of the app's that would lose its meaning, and for records in CloudKit that
    ///   would; ``DatabaseError``.
    init(
        of source: StoreLayout, into destination: StoreLayout, _ step: ResolvedStep, on connection: Connection,
        dropping: Set<String> = [], catalog: StoreCatalog
    ) throws {
        let objects = StoreObjects(catalog, layout: source)
        let carried = try CarriedObjects(
            of: source, into: destination, on: connection, dropping: dropping, inPlace: true, catalog: catalog)
        if let refusal = carried.refusals.first(where: { $0.code == .unknownObject }) { throw refusal }
        if let mirroring = carried.mirroring,
            let refusal = try MirroringRefusal.find(
                mirroring, step, strangers: { try mirroring.strangers(to: source, on: connection) })
        {
            throw refusal
        }
        if let trigger = catalog.triggers.first(where: { $0.name.hasPrefix("ZT_") }) {
            throw FerryError(
                .unsupported,
                "The trigger \(trigger.name) is Core Data's, but of a kind that Ferry cannot make anew.",
                remedy: "Let the app migrate this store.")
        }
        let tables = catalog.tables.map { ($0.name.uppercased(), $0.sql) }
        let own = Set(carried.objects.map(\.name))
        self.init(
            tables: Dictionary(tables, uniquingKeysWith: { first, _ in first }),
            indexes: source.indexes.filter { !own.contains($0.name) })
        for table in source.joinTables {
            joinKeys[table.name.uppercased()] = catalog.table(table.name)?.keyColumns
        }
        triggers = objects.derivedTriggers
        rTrees = objects.rTrees
        leftoverTables = objects.leftoverTables
        views = carried.objects.filter { $0.type == "view" }.map { ($0.name, $0.sql) }
        appTriggers = carried.triggers.map { ($0.name, $0.sql) }
        history = carried.history
        numberedCloudKitTables = objects.cloudKitTables.filter {
            catalog.table($0)?.column("ZENTITYID") != nil
        }
        derivedValues = source.derivedValues
    }
}
