package import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
package import FerryStore

/// What a step in place does on one store: made here for the plan that is shown, for preflight and for the run.
///
/// It reads the store's schema, and no rows.
package struct InPlacePlanning {
    private let step: StepPlan
    private let store: Connection
    let source: StoreLayout
    let destination: StoreLayout
    private let schema: InPlaceSchema
    /// Whether the parts of a step that stands for several can be tried one by one: what is still to be dropped stands in
    /// the way.
    private let triesParts: Bool

    /// Throws ``FerryError`` when the store holds what cannot go through the step.
    ///
    /// `dropping` names objects of the app's that are to be dropped; `computed` is the layout of a new store of the
    /// step's source, where it is at hand.
    package init(
        _ step: StepPlan, on store: Connection, dropping: Set<String> = [], like computed: StoreLayout? = nil
    ) throws {
        (self.step, self.store) = (step, store)
        let catalog = try StoreCatalog(store)
        source = try StoreLayout.actual(
            for: step.resolved.source.model, on: store, catalog: catalog, like: computed)
        destination = try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .of(source))
        schema = try InPlaceSchema(
            of: source, into: destination, step.resolved, on: store, dropping: dropping, catalog: catalog)
        triesParts = dropping.isEmpty
    }

    /// The statements, as far as they can be told before the run, and whether they are all of it: of a step that stands
    /// for several they may leave another schema than these, which are then taken one by one.
    package func find() throws -> (statements: InPlacePlan, isWhole: Bool) {
        if let statements = try statements() { return (statements, triesParts) }
        return (try statements(leaving: nil), false)
    }

    /// Why rows of no known entity cannot stay where they are; nil when they can, or when there are none.
    package func refusalToKeepUnknownEntities(by plan: InPlacePlan) throws -> FerryError? {
        for table in source.tablesInOrder {
            let unknown = "\(Connection.quoted(table.name)) WHERE \(source.isOfUnknownEntity(in: table))"
            let rows = try store.integer("SELECT count(*) FROM \(unknown)") ?? 0
            guard rows > 0 else { continue }
            let numbers = try store.rows("SELECT DISTINCT Z_ENT FROM \(unknown)").compactMap(\.[0].integer)
            if let refusal = plan.refusal(toKeep: rows, of: numbers, in: table, into: destination) { return refusal }
        }
        return nil
    }

    /// Nil where the parts of a step must run one by one.
    func statements() throws -> InPlacePlan? {
        step.parts.isEmpty || !triesParts ? try statements(leaving: nil) : try composedStatements()
    }

    /// The statements that leave a schema in a form; nil for what altering and the new version's layout give.
    func statements(leaving shape: InPlaceShape?) throws(FerryError) -> InPlacePlan {
        do throws(InPlaceObstacle) {
            return try InPlacePlan(
                step.resolved, source: source, schema: schema, destination: destination, shape: shape)
        } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .needsCopy(let reason):
                throw FerryError(
                    .unsupported,
                    "The step to version \(step.resolved.destination.name) cannot be taken in place: \(reason).",
                    remedy: "Migrate to a new store with \(setting: .output).")
            }
        }
    }
}

extension InPlaceSchema {
    /// Looks through a store for what its model does not explain; throws ``FerryError`` for an object of the app's that
    /// would lose its meaning, and for records in CloudKit that would.
    fileprivate init(
        of source: StoreLayout, into destination: StoreLayout, _ step: ResolvedStep, on connection: Connection,
        dropping: Set<String> = [], catalog: StoreCatalog
    ) throws {
        let objects = StoreObjects(catalog, layout: source)
        let appObjects = try AppObjects(
            of: source, into: destination, on: connection, dropping: dropping, inPlace: true, catalog: catalog)
        if let refusal = appObjects.refusals.first(where: { $0.code == .unknownObject }) { throw refusal }
        try appObjects.checkMirroring(step, source, on: connection, schema: "main")
        if let trigger = catalog.triggers.first(where: { $0.name.hasPrefix("ZT_") }) {
            throw FerryError(
                .unsupported,
                "The trigger \(trigger.name) is Core Data's, but of a kind that Ferry cannot make anew.",
                remedy: "Let the app migrate this store.")
        }
        let tables = catalog.tables.map { ($0.name.uppercased(), $0.sql) }
        let own = Set(appObjects.objects.map(\.name))
        self.init(
            tables: Dictionary(tables, uniquingKeysWith: { first, _ in first }),
            indexes: source.indexes.filter { !own.contains($0.name) })
        for table in source.joinTables {
            joinKeys[table.name.uppercased()] = catalog.table(table.name)?.keyColumns
        }
        triggers = objects.derivedTriggers
        rTrees = objects.rTrees
        leftoverTables = objects.leftoverTables
        views = appObjects.objects.filter { $0.type == "view" }.map { ($0.name, $0.sql) }
        appTriggers = appObjects.triggers.map { ($0.name, $0.sql) }
        history = appObjects.history
        numberedCloudKitTables = objects.cloudKitTables.filter {
            catalog.table($0)?.column("ZENTITYID") != nil
        }
        derivedValues = source.derivedValues
    }
}

/// The statements of a step that stands for several.
extension InPlacePlanning {
    /// The plan that leaves the schema which the steps one by one leave; nil when no plan does: they then run one by
    /// one.
    ///
    /// The steps are tried one by one on the schema alone, which tells the form that every table must have in the end:
    /// the order of added columns, quotes that a renaming left. Then the one step is planned to leave exactly this, and
    /// tried, too. So the rows are written once, and the schema is the same to the letter.
    private func composedStatements() throws -> InPlacePlan? {
        guard let parts = try rehearsal() else { return nil }
        var touched: Set<String> = []
        var computed: StoreLayout?
        for part in step.parts {
            let next = try InPlacePlanning(part, on: parts.connection, like: computed)
            computed = next.destination
            let plan = try next.find().statements
            let carried = plan.continued.filter { touched.contains($0.value) }.map(\.key)
            touched = plan.touched.union(carried)
            try parts.run(plan)
        }
        let wanted = try parts.entries()
        var shape = try self.shape(parts, touched: touched)
        // What altering gets wrong is made anew; that must be enough.
        for _ in 0..<2 {
            var plan = try statements(leaving: shape)
            guard let trial = try rehearsal() else { return nil }
            try trial.run(plan)
            let found = try trial.entries()
            guard found != wanted else {
                try settleStatistics(of: &plan, trial, parts)
                return plan
            }
            guard learn(from: found.symmetricDifference(wanted), &shape) else { return nil }
        }
        return nil
    }

    /// Nil where the store's schema holds what cannot be made here.
    private func rehearsal() throws -> SchemaRehearsal? {
        do {
            return try SchemaRehearsal(of: store)
        } catch is DatabaseError {
            return nil
        }
    }

    private func shape(_ parts: SchemaRehearsal, touched: Set<String>) throws -> InPlaceShape {
        let catalog = try StoreCatalog(parts.connection)
        let names = Set(destination.tables.values.map(\.name) + destination.joinTables.map(\.name))
        var tables: [String: InPlaceShape.Table] = [:]
        for table in catalog.tables where names.contains(table.name) {
            tables[table.name.uppercased()] = .init(sql: table.sql, columns: table.columns.map(\.name))
        }
        // The app's own indexes stay where they are.
        let own = Set(schema.indexes.map(\.name))
        let apps = try Set(StoreCatalog(store).indexes.map(\.name)).subtracting(own)
        return InPlaceShape(
            tables: tables, indexes: catalog.indexes.filter { names.contains($0.table) && !apps.contains($0.name) },
            touched: touched)
    }

    // MARK: Differences

    /// Notes what must be made anew; false when that would not help, or would lose something.
    private func learn(from differences: Set<SchemaRehearsal.Entry>, _ shape: inout InPlaceShape) -> Bool {
        for entry in differences {
            let name = entry.name.uppercased()
            switch entry.type {
            case "table":
                guard let table = shape.tables[name], isWhole(table, name) else { return false }
                shape.remade.insert(name)
            case "index":
                // The index of a primary key comes with its table.
                guard entry.sql != nil else { continue }
                guard shape.indexes.contains(where: { $0.name == entry.name }) else { return false }
                shape.rewritten.insert(entry.name)
            default: return false
            }
        }
        return true
    }

    /// Whether the new version knows every column of a table: others would lose their values.
    private func isWhole(_ table: InPlaceShape.Table, _ name: String) -> Bool {
        let entity = destination.tables.values.first { $0.name.uppercased() == name }
        let join = destination.joinTables.first { $0.name.uppercased() == name }
        let columns = entity.map { ["Z_PK", "Z_ENT", "Z_OPT"] + $0.columns.map(\.name) } ?? join?.columns ?? []
        return Set(columns.map { $0.uppercased() }).isSuperset(of: table.columns.map { $0.uppercased() })
    }

    /// A table or index that is made anew has no statistics; which one that is differs between one step and several.
    private func settleStatistics(
        of plan: inout InPlacePlan, _ trial: SchemaRehearsal, _ parts: SchemaRehearsal
    ) throws {
        guard let wanted = try parts.statisticsRows(), try trial.statisticsRows() != wanted else { return }
        plan.setStatistics(wanted.map { row in row.map(\.text) })
    }
}
