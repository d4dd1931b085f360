package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryStore

/// The program of a step: what becomes of each table, and one list of operations.
///
/// The plan decides it, the engine runs it. It follows only from the step, its layouts, the store's schema, and the damage that a scan found.
package struct StepProgram: Sendable, Equatable {
    /// The tables that stay or are made from others by statements; none in a step that fills all tables.
    package let moves: TableMoves
    /// The tables that are filled from the source; none in a step that fills no table.
    package let fills: TableFills
    /// In execution order: what alters tables, what fills others, then triggers and the app's views.
    package let operations: [StepOperation]

    /// Plans a partitioned step that fills tables.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - source: The actual layout of the source.
    ///   - destination: The layout of the new store.
    ///   - damage: The damage that a scan found in the source.
    ///   - altering: The program of the tables that stay, if some do.
    /// - Throws: ``FerryError`` `.internalError` if a layout does not fit its version.
    package init(
        copying step: StepPlan, source: StoreLayout, destination: StoreLayout, damage: [StoreDamage] = [],
        altering: StepProgram? = nil
    ) throws(FerryError) {
        moves = altering?.moves ?? TableMoves()
        fills = try TableFills(step, source: source, destination: destination, damage: damage)
        let altered = altering?.operations ?? []
        operations =
            altered.filter { $0.phase == .rows } + StepOperation.all(step, fills, source, destination)
            + altered.filter { $0.phase == .indexes }
    }

    /// Plans a step whose tables all stay or are made by statements.
    ///
    /// `source` is the actual layout, `destination` a new store's. `keptPart`: the statements are those of this part of a copy step, whose other tables they
    /// leave empty, without the indexes that are filled with them.
    ///
    /// - Throws: ``StepObstacle``.
    package init(
        inPlace step: ResolvedStep, source: StoreLayout, schema: InPlaceSchema, destination: StoreLayout,
        keptPart: KeptPart? = nil
    ) throws(StepObstacle) {
        for mapping in step.entityMappings where !mapping.readsEveryObject || !mapping.unique.isEmpty {
            throw StepObstacle("entity mapping \(mapping.name) chooses, multiplies or merges objects")
        }
        if let obstacle = step.obstacleToKeepingKeys { throw StepObstacle(obstacle) }
        var builder = InPlaceBuilder(
            step, source: source, schema: schema, destination: destination, keptPart: keptPart)
        try builder.build()
        (moves, operations) = (builder.moves, builder.operations)
        fills = TableFills(noneFrom: source)
    }

    /// The statements that need nothing but a connection, in execution order; of a step that fills no table, all.
    package var statements: [ProgramStatement] { operations.flatMap(\.statements) }
}
