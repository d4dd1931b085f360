internal import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
internal import FerryStore

/// Lists the statements of the steps of a plan, one after another, on a store's schema in memory.
///
/// No step runs: only what changes the schema does, since the next step starts from it.
package struct StatementRehearsal {
    private var schema: SchemaRehearsal
    private let hasModelCache: Bool
    private let hasModel: Bool

    /// - Parameter store: The store, as the main database.
    /// - Throws: ``DatabaseError`` if the schema needs a module or a collation of the app.
    package init(of store: Connection) throws {
        schema = try SchemaRehearsal(of: store)
        hasModelCache = try ModelCache.hasTable(store)
        hasModel = try ModelCache.hasModel(store)
    }

    private var connection: Connection { schema.connection }

    /// Lists the statements of the next step, and brings the schema to its end.
    ///
    /// - Parameters:
    ///   - step: The step, which starts from the present schema.
    ///   - dropping: The names of the app's objects that the run drops.
    /// - Returns: The statements.
    /// - Throws: ``FerryError`` if the step cannot run on this schema, ``DatabaseError`` if SQLite cannot make it.
    package mutating func statements(of step: StepPlan, dropping: Set<String>) throws -> StepStatements {
        switch step.mode {
        case .inPlace: try inPlace(step, dropping: dropping)
        case .copy: try copied(step, dropping: dropping)
        }
    }

    // MARK: In place

    private func inPlace(_ step: StepPlan, dropping: Set<String>) throws -> StepStatements {
        var statements = StepStatements()
        if !dropping.isEmpty {
            let source = try StoreLayout.actual(for: step.resolved.source.model, on: connection)
            let destination = try StoreLayout.canonical(
                for: step.resolved.destination.model, foundTriggers: .of(source))
            try drop(
                AppObjects(of: source, into: destination, on: connection, dropping: dropping, inPlace: true),
                &statements)
        }
        let program = try InPlacePlanning(step, on: connection).program()
        statements.add(program.operations, hasModel: hasModel)
        try schema.run(program.statements)
        return statements
    }

    private func drop(_ objects: AppObjects, _ statements: inout StepStatements) throws {
        statements.add(texts: objects.dropStatements, .rows, "objects of the app that the run drops")
        try objects.drop(on: connection)
    }

    // MARK: Copies

    private mutating func copied(_ step: StepPlan, dropping: Set<String>) throws -> StepStatements {
        let source = try StoreLayout.actual(for: step.resolved.source.model, on: connection)
        let destination = try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .of(source))
        let indexes = ValueIndexes(listedFor: source, on: connection)
        let part = step.partInPlace
        let appObjects = try AppObjects(
            of: source, into: destination, on: connection, dropping: dropping, inPlace: part != nil)
        if let refusal = appObjects.refusals.first { throw refusal }
        var statements = StepStatements()
        if part != nil, !dropping.isEmpty { try drop(appObjects, &statements) }
        let kept = try part.map { try InPlacePlanning($0, on: connection).program() }
        let program = try StepProgram(
            copying: step, source: source, destination: destination, closing: kept?.closing ?? [])
        let sql = StepSQL(
            step, source: source, destination: destination, program: program, indexes: indexes,
            joinForms: try JoinForms(of: program, destination, on: connection, schema: "main"))
        var filling = StepStatements()
        if let kept {
            let operations = kept.operations.filter { !$0.isClosing }
            statements.add(operations, hasModel: hasModel)
            try schema.run(operations.compactMap(\.statement))
        } else {
            filling.addTables(of: sql, hasModelCache: hasModelCache)
            filling.addVersion(hasModel: hasModel, nil)
        }
        filling.addScratch(of: sql)
        try filling.addOperations(of: sql, part == nil ? appObjects : nil, indexes: indexes.takeListed)
        let made = filling.groups.flatMap(\.statements)
        if kept == nil {
            schema = try SchemaRehearsal(of: destination, by: made, numbersOf: schema)
        } else {
            try schema.run(made)
        }
        return statements + filling
    }
}
