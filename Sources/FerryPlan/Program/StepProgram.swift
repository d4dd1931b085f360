package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryStore

/// The program of a step on one store, in place or copied: the plan decides it, the engine runs it, estimates count it.
///
/// It follows only from the step, its layouts, the store's schema, and the damage that a scan found. A copied step that
/// keeps tables has two: the one of its kept part, a step in place, and the one that fills the other tables.
package struct StepProgram: Sendable, Equatable {
    /// The tables that stay or are made from others by statements; none in a copy.
    package let moves: TableMoves
    /// The tables that an executor fills; none in place.
    package let fills: TableFills
    /// In execution order.
    package private(set) var operations: [StepOperation]

    /// Plans a partitioned step that copies.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - source: The actual layout of the source.
    ///   - destination: The layout of the new store.
    ///   - damage: The damage that a scan found in the source.
    ///   - closing: The ``closing`` operations of the step's kept part.
    /// - Throws: ``FerryError`` `.internalError` if a layout does not fit its version.
    package init(
        copying step: StepPlan, source: StoreLayout, destination: StoreLayout, damage: [StoreDamage] = [],
        closing: [StepOperation] = []
    ) throws(FerryError) {
        let rows = RowCounts(step, destination)
        moves = TableMoves()
        fills = try TableFills(step, source: source, destination: destination, damage: damage, rows)
        operations = StepOperation.all(step, fills, rows, source, destination) + closing
    }

    /// Plans a step of inferred mappings that migrates the store within itself.
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

    /// The statements of a step in place, in execution order.
    package var statements: [ProgramStatement] { operations.compactMap(\.statement) }

    /// Operations of a step in place that follow when all tables are filled: they make triggers and the app's views.
    package var closing: [StepOperation] { operations.filter(\.isClosing) }
}
