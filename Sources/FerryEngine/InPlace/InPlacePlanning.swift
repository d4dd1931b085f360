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
    /// Whether the parts of a composed step can be tried one by one: not while objects are still to be dropped.
    private let triesParts: Bool

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
        triesParts = dropping.isEmpty
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

    /// The program that can be planned before the run, and whether it is the one that runs.
    ///
    /// If the parts of a composed step leave another schema, the run takes the parts.
    package func find() throws -> (program: StepProgram, isWhole: Bool) {
        if let program = try program() { return (program, triesParts) }
        return (try program(leaving: nil), false)
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

    /// The program, or nil if the parts of a step must run one by one.
    func program() throws -> StepProgram? {
        step.parts.isEmpty || !triesParts ? try program(leaving: nil) : try composedProgram()
    }

    /// The program that leaves the schema of `shape`, or with nil that of the new version's layout.
    func program(leaving shape: InPlaceShape?) throws(FerryError) -> StepProgram {
        do throws(StepObstacle) {
            return try StepProgram(
                inPlace: step.resolved, source: source, schema: schema, destination: destination, shape: shape,
                keptPart: step.keptPart)
        } catch {
            throw FerryError(
                .unsupported,
                "The step to version \(step.resolved.destination.name) cannot be done in place: \(error.reason).",
                remedy: "Migrate to a new store with \(setting: .output).")
        }
    }

    /// The operations of a kept part that follow when all tables are filled: they make the app's views and triggers.
    package func closing() throws(FerryError) -> [StepOperation] { try program(leaving: nil).closing }
}

extension InPlacePlanning {
    /// A program that leaves the same schema as the parts one by one; nil if there is none.
    ///
    /// The parts first run on the schema alone, for the final text of every table: the order of added columns, quotes
    /// of a renaming. A single step, planned for that text and tried, then writes the rows once, with an equal schema.
    private func composedProgram() throws -> StepProgram? {
        guard let parts = try rehearsal() else { return nil }
        var touched: Set<String> = []
        var computed: StoreLayout?
        for part in step.parts {
            let next = try InPlacePlanning(part, on: parts.connection, like: computed)
            computed = next.destination
            let program = try next.find().program
            let carried = program.moves.continued.filter { touched.contains($0.value) }.map(\.key)
            touched = program.moves.touched.union(carried)
            try parts.run(program.statements)
        }
        let wanted = try parts.entries()
        var shape = try self.shape(parts, touched: touched)
        // The second attempt recreates the tables and indexes that ALTER TABLE left different; that must be enough.
        for _ in 0..<2 {
            var program = try program(leaving: shape)
            guard let trial = try rehearsal() else { return nil }
            try trial.run(program.statements)
            let found = try trial.entries()
            guard found != wanted else {
                try settleStatistics(of: &program, trial, parts)
                return program
            }
            guard noteRemade(from: found.symmetricDifference(wanted), &shape) else { return nil }
        }
        return nil
    }

    /// Nil if the schema needs a module or a collation of the app.
    private func rehearsal() throws -> SchemaRehearsal? {
        do {
            return try SchemaRehearsal(of: store)
        } catch let error as DatabaseError where !error.isInterrupted {
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
        // The step does not touch the app's own indexes.
        let own = Set(schema.indexes.map(\.name))
        let apps = try Set(StoreCatalog(store).indexes.map(\.name)).subtracting(own)
        return InPlaceShape(
            tables: tables, indexes: catalog.indexes.filter { names.contains($0.table) && !apps.contains($0.name) },
            touched: touched)
    }

    // MARK: Differences

    /// Notes tables and indexes to recreate; false if that would not help, or would lose values or objects.
    private func noteRemade(from differences: Set<SchemaRehearsal.Entry>, _ shape: inout InPlaceShape) -> Bool {
        for entry in differences {
            let name = entry.name.uppercased()
            switch entry.type {
            case "table":
                guard let table = shape.tables[name], isWhole(table, name) else { return false }
                shape.remade.insert(name)
            case "index":
                // SQLite creates the index of a primary key with its table.
                guard entry.sql != nil else { continue }
                guard shape.indexes.contains(where: { $0.name == entry.name }) else { return false }
                shape.rewritten.insert(entry.name)
            default: return false
            }
        }
        return true
    }

    /// Whether the new version has every column of a table: recreating the table would lose the others.
    private func isWhole(_ table: InPlaceShape.Table, _ name: String) -> Bool {
        let entity = destination.tables.values.first { $0.name.uppercased() == name }
        let join = destination.joinTables.first { $0.name.uppercased() == name }
        let columns = entity.map { ["Z_PK", "Z_ENT", "Z_OPT"] + $0.columns.map(\.name) } ?? join?.columns ?? []
        return Set(columns.map { $0.uppercased() }).isSuperset(of: table.columns.map { $0.uppercased() })
    }

    /// A recreated table or index has no statistics, and one step recreates others than several do.
    private func settleStatistics(
        of program: inout StepProgram, _ trial: SchemaRehearsal, _ parts: SchemaRehearsal
    ) throws {
        guard let wanted = try parts.statisticsRows(), try trial.statisticsRows() != wanted else { return }
        program.setStatistics(wanted.map { row in row.map(\.text) })
    }
}
