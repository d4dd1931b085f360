internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What the store, or the call, has against copy steps that leave tables where they are, though the models allow it.
extension MigrationRun {
    /// Of the tables of a step all are healed, or none.
    static let healsDamage = "a copy heals the damage of the store"

    /// Whether the store has anything that no model explains, history for example, which stays where it is.
    func hasSurroundings(_ store: OpenedStore, _ layout: StoreLayout) throws -> Bool {
        try !AppObjects(of: layout, into: layout, on: store.sourceGuard.connection, inPlace: true).isEmpty
    }

    /// The reason why copy steps must fill all tables; nil if they need not.
    func reasonToFillAll(
        _ plan: MigrationPlan, _ store: OpenedStore, _ layout: StoreLayout, _ scans: TableScans
    ) throws -> String? {
        guard let first = plan.steps.first(where: { $0.keptPart != nil }), let kept = first.keptPart,
            copying?.wholeBecause == nil
        else { return nil }
        guard first.versions == plan.steps.first?.versions else {
            // Which of the store's rows a later step alters is not known yet.
            return try longRow(in: nil, layout, scans)
        }
        let connection = store.sourceGuard.connection
        if try !Leftover.all(in: layout, on: connection).isEmpty {
            return "the store has tables or columns of earlier versions, which a new store does not have"
        }
        do {
            let program = try StepPlanning(first, on: connection, dropping: configuration.dropping).program()
            // Its expressions run in one statement for each table.
            if configuration.limits.budget != nil, !first.isInferred, !program.moves.touched.isEmpty {
                return "the time budget may run out within a statement"
            }
        } catch let error as FerryError where error.code.consequence == .refused {
            return error.message
        }
        return try longRow(
            in: Set(kept.step.entityMappings.compactMap { layout.table(of: $0.source)?.name }), layout, scans)
    }
}
