package import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
package import FerryStore

/// Plans the program of a step in place on one store; the plan that is shown, preflight and the run all use it.
///
/// Planning reads the store's schema, and no rows.
package struct InPlacePlanning {
    private let step: StepPlan
    private let store: Connection
    let source: StoreLayout
    let destination: StoreLayout
    private let schema: InPlaceSchema

    /// Reads a store's schema and finds the objects that its model does not explain.
    ///
    /// Throws ``FerryError`` if the step would make an object of the app, or a CloudKit record, invalid.
    ///
    /// `dropping` names objects of the app to drop; `computed` is the canonical layout of the source, if known.
    package init(
        _ step: StepPlan, on store: Connection, dropping: Set<String> = [], like computed: StoreLayout? = nil
    ) throws {
        (self.step, self.store) = (step, store)
        let catalog = try StoreCatalog(store)
        source = try StoreLayout.actual(
            for: step.resolved.source.model, on: store, catalog: catalog, like: computed)
        destination = try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .of(source))
        let objects = StoreObjects(catalog, layout: source)
        let appObjects = try AppObjects(
            of: source, into: destination, on: store, dropping: dropping, inPlace: true, catalog: catalog)
        if let refusal = appObjects.refusals.first(where: { $0.code == .unknownObject }) { throw refusal }
        if let refusal = try appObjects.mirroringRefusal(of: step.resolved, source, on: store) { throw refusal }
        if let refusal = appObjects.refusals.first { throw refusal }
        if let clause = source.foreignClause(in: catalog) {
            throw FerryError(
                .unsupported,
                "The store declares \(clause.title), which Core Data never does: the app may not be able to save with it.",
                remedy: "Copy every row with \(setting: .executor, .choice("row")), which recreates the tables.")
        }
        let tables = catalog.tables.map { ($0.name.uppercased(), $0.sql) }
        let own = Set(appObjects.objects.map(\.name))
        var schema = InPlaceSchema(
            tables: Dictionary(first: tables), indexes: source.indexes.filter { !own.contains($0.name) })
        for table in source.joinTables {
            schema.joinKeys[table.name.uppercased()] = catalog.table(table.name)?.keyColumns
        }
        schema.triggers = objects.derivedTriggers
        schema.rTrees = objects.rTrees
        schema.leftoverTables = objects.leftoverTables
        schema.views = appObjects.objects.filter { $0.type == "view" }.map { ($0.name, $0.sql) }
        schema.appTriggers = appObjects.triggers.map { ($0.name, $0.sql) }
        schema.appIndexes = source.indexes.filter { own.contains($0.name) }
        schema.history = appObjects.history
        schema.numberedCloudKitTables = objects.cloudKitTables.filter {
            catalog.table($0)?.column("ZENTITYID") != nil
        }
        schema.derivedValues = source.derivedValues
        self.schema = schema
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

    package func program() throws(FerryError) -> StepProgram {
        do throws(StepObstacle) {
            return try StepProgram(
                inPlace: step.resolved, source: source, schema: schema, destination: destination,
                keptPart: step.keptPart)
        } catch {
            throw FerryError(
                .unsupported,
                "The step to version \(step.resolved.destination.name) cannot be done in place: \(error.reason).",
                remedy: "Migrate to a new store with \(setting: .output).")
        }
    }

    /// The operations of a kept part that follow when all tables are filled: they make the app's views and triggers.
    package func closing() throws(FerryError) -> [StepOperation] { try program().closing }
}
