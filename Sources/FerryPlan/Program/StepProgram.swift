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

    /// Plans a partitioned step.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - source: The actual layout of the source.
    ///   - schema: What else the source has; nil for a store that Core Data has just made.
    ///   - destination: The layout of the new store.
    ///   - damage: The damage that a scan found in a source from which tables are filled.
    /// - Throws: ``FerryError`` `.unsupported` if tables cannot stay as planned, `.internalError` if a layout does not fit
    ///   its version.
    package init(
        _ step: StepPlan, source: StoreLayout, schema: InPlaceSchema? = nil, destination: StoreLayout,
        damage: [StoreDamage] = []
    ) throws(FerryError) {
        let altering = try Self.altering(step, source, schema, destination)
        if step.mode == .inPlace, let altering {
            self = altering
            return
        }
        moves = altering?.moves ?? TableMoves()
        fills = try TableFills(step, source: source, destination: destination, damage: damage)
        let altered = altering?.operations ?? []
        operations =
            altered.filter { $0.phase == .rows } + StepOperation.all(step, fills, source, destination)
            + altered.filter { $0.phase == .indexes }
    }

    /// The program of the tables that stay or are made by statements; nil for a step that fills all tables.
    static func altering(
        _ step: StepPlan, _ source: StoreLayout, _ schema: InPlaceSchema?, _ destination: StoreLayout
    ) throws(FerryError) -> StepProgram? {
        guard step.keepsTables else { return nil }
        do throws(StepObstacle) {
            return try StepProgram(
                inPlace: step.keptPart?.step ?? step.resolved, source: source,
                schema: schema ?? InPlaceSchema(of: source), destination: destination, keptPart: step.keptPart)
        } catch {
            throw FerryError(
                .unsupported,
                "The step to version \(step.resolved.destination.name) cannot be done in place: \(error.reason).",
                remedy: "Migrate to a new store with \(setting: .output).")
        }
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
        var builder = try InPlaceBuilder(
            checking: step, source: source, schema: schema, destination: destination, keptPart: keptPart)
        builder.build()
        (moves, operations) = (builder.moves, builder.operations)
        fills = TableFills(noneFrom: source)
    }

    /// The statements that need nothing but a connection, in execution order; of a step that fills no table, all.
    package var statements: [ProgramStatement] { operations.flatMap(\.statements) }
}
