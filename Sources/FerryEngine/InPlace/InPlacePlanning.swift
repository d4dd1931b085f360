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
    let step: StepPlan
    let store: Connection
    let source: StoreLayout
    let destination: StoreLayout
    let schema: InPlaceSchema
    /// Whether the parts of a step that stands for several can be tried one by one: what is still to be dropped stands in
    /// the way.
    private let triesParts: Bool

    /// - Parameters:
    ///   - step: The step.
    ///   - store: The store.
    ///   - dropping: Names of objects of the app's that are to be dropped.
    ///   - computed: The layout of a new store of the step's source, where it is at hand.
    /// - Throws: ``FerryError`` when the store holds what cannot go through the step.
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

    /// The statements, as far as they can be told before the run.
    package func plan() throws -> InPlacePlan { try find().statements }

    /// The same, and whether they are all of it: of a step that stands for
    /// several they may leave another schema than these, which are then taken one by one.
    package func find() throws -> (statements: InPlacePlan, isWhole: Bool) {
        if let statements = try statements() { return (statements, triesParts) }
        return (try statements(leaving: nil), false)
    }

    /// Why rows of no known entity cannot stay where they are; nil when they can, or when there are none.
    ///
    /// - Throws: ``FerryError``, ``DatabaseError``.
    package func refusalToKeepUnknownEntities(by plan: InPlacePlan) throws -> FerryError? {
        try RowsOfUnknownEntities(plan: plan, source: source, destination: destination, connection: store).refusal()
    }

    /// Nil where the parts of a step must run one by one.
    func statements() throws -> InPlacePlan? {
        step.parts.isEmpty || !triesParts ? try statements(leaving: nil) : try ComposedRun(planned: self).plan()
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
