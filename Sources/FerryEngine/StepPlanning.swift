package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
package import FerryStore

/// Plans the program of a step on one store; the plan that is shown, preflight and the run all use it.
///
/// Planning reads the store's schema, and no rows.
package struct StepPlanning {
    private let step: StepPlan
    private let store: Connection
    /// The name under which the connection has the store.
    let storeName: String
    let source: StoreLayout
    let destination: StoreLayout
    let appObjects: AppObjects
    /// Nil for a step that fills all tables.
    private let schema: InPlaceSchema?

    /// Reads a store's schema and finds the objects that its model does not explain.
    ///
    /// Throws ``FerryError`` if the step would make an object of the app, or a CloudKit record, invalid.
    ///
    /// `dropping` names objects of the app to drop.
    package init(
        _ step: StepPlan, on store: Connection, named storeName: String = "main", dropping: Set<String> = []
    ) throws {
        (self.step, self.store, self.storeName) = (step, store, storeName)
        let catalog = try StoreCatalog(store, schema: storeName)
        source = try StoreLayout.actual(
            for: step.resolved.source.model, on: store, schema: storeName, catalog: catalog)
        destination = try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .of(source))
        appObjects = try AppObjects(
            of: source, into: destination, on: store, schema: storeName, dropping: dropping,
            inPlace: step.keepsTables, catalog: catalog)
        if let refusal = appObjects.refusals.first(where: { $0.code == .unknownObject }) { throw refusal }
        let mirroring = try appObjects.mirroringRefusal(of: step.resolved, source, on: store, schema: storeName)
        if let refusal = mirroring ?? appObjects.refusals.first { throw refusal }
        guard step.keepsTables else {
            guard appObjects.isEmpty else {
                throw FerryError(.internalError, "A new store that begins empty would lack objects of the app.")
            }
            schema = nil
            return
        }
        if let clause = source.foreignClause(in: catalog) {
            throw FerryError(
                .unsupported,
                "The store declares \(clause.title), which Core Data never does: the app may not be able to save with it.",
                remedy: "Copy every row with \(setting: .executor, .choice("row")), which recreates the tables.")
        }
        schema = InPlaceSchema(catalog, of: source, appObjects)
    }

    /// The reason why rows of unknown entities cannot stay; nil if they can, or if there are none.
    package func refusalToKeepUnknownEntities(by program: StepProgram) throws -> FerryError? {
        for table in source.tablesInOrder {
            let unknown = "\(Connection.quoted(table.name)) WHERE \(source.isOfUnknownEntity(in: table))"
            let rows = try store.integer("SELECT count(*) FROM \(unknown)") ?? 0
            guard rows > 0 else { continue }
            let numbers = try store.rows("SELECT DISTINCT Z_ENT FROM \(unknown)").compactMap(\.[0].integer)
            let refusal = program.moves.refusal(toKeep: rows, of: numbers, in: table, into: destination)
            if let refusal { return refusal }
        }
        return nil
    }

    /// The program; `damage` is what a scan found in a store whose tables are filled.
    package func program(damage: [StoreDamage] = []) throws(FerryError) -> StepProgram {
        try StepProgram(step, source: source, schema: schema, destination: destination, damage: damage)
    }
}

extension InPlaceSchema {
    /// The schema of a store without the app's objects that the step drops.
    fileprivate init(_ catalog: StoreCatalog, of source: StoreLayout, _ appObjects: AppObjects) {
        let objects = StoreObjects(catalog, layout: source)
        let own = Set(appObjects.objects.map(\.name))
        let dropped = Set(appObjects.dropped.map(\.name))
        self.init(
            tables: Dictionary(
                first: catalog.tables.filter { !dropped.contains($0.name) }.map { ($0.name.uppercased(), $0.sql) }),
            indexes: source.indexes.filter { !own.contains($0.name) && !dropped.contains($0.name) })
        for table in source.joinTables { joinKeys[table.name.uppercased()] = catalog.table(table.name)?.keyColumns }
        triggers = objects.derivedTriggers
        rTrees = objects.rTrees
        leftoverTables = appObjects.leftovers.filter { $0.kind == .table }.map(\.table)
        views = appObjects.objects.filter { $0.type == "view" }.map { ($0.name, $0.sql) }
        appTriggers = appObjects.triggers.map { ($0.name, $0.sql) }
        appIndexes = source.indexes.filter { own.contains($0.name) }
        history = appObjects.history
        hasStatistics = appObjects.hasStatistics
        numberedCloudKitTables = objects.cloudKitTables.filter { catalog.table($0)?.column("ZENTITYID") != nil }
        derivedValues = source.derivedValues
    }
}

extension AppObjects {
    /// Returns the refusal of a step that would make CloudKit records invalid, or nil.
    package func mirroringRefusal(
        of step: ResolvedStep, _ source: StoreLayout, on connection: Connection, schema: String = "main"
    ) throws -> FerryError? {
        guard let mirroring else { return nil }
        if let refusal = MirroringRefusal.find(mirroring, step) { return refusal }
        return try mirroring.rowsOfUnknownEntities(to: source, on: connection, schema: schema).map { table, rows in
            FerryError(
                .damagedSource,
                "\(rows.counting("row")) of \(table) \(rows == 1 ? "is" : "are") for an entity that the store does "
                    + "not have; its number could be given to another entity.",
                remedy: "Let the app reset mirroring for this store, or migrate it.")
        }
    }
}
