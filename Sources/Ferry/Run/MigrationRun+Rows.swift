internal import FerryBase
internal import FerryEngine
internal import FerryModel
internal import FerryPlan
internal import FerryStore

extension MigrationRun {
    /// A plan with what was found out about the store for it.
    struct Planned {
        var plan: MigrationPlan
        var layout: StoreLayout
        /// Rows of exactly each entity; estimated for a plan that writes none.
        var rows: [String: Int64]
        var writesRows = true
        /// Tables that were seen to hold no row of an unknown entity.
        var soundTables: Set<String> = []
        /// Tables whose rows were counted.
        var countedTables: Set<String> = []
    }

    /// A store whose pages are looked at in no time, so that there is no reason not to.
    private static let smallStoreBytes: Int64 = 16 << 20

    /// The plan, made of counted rows unless none of them matters.
    ///
    /// A step in place that writes no row (a renaming, a new attribute without default) takes as long on two million
    /// rows as on none; counting them would take longer than all the rest.
    func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, isPastSnapshot: Bool,
        counted: [String: Int64]?
    ) throws -> Planned {
        if let counted {
            let layout = try store.inspect(version, counting: .estimated).1
            let plan = try makePlan(from: version, to: target, store, layout, rows: counted, areRowsEstimated: false)
            return Planned(plan: plan, layout: layout, rows: counted)
        }
        let asksForRows = isPastSnapshot || takesSnapshot || place.output != nil || configuration.damaged != .refuse
        if !asksForRows, try store.contentBytes() > Self.smallStoreBytes {
            var planned = try planned(store, from: version, to: target, .estimated)
            if let inPlace = try singleStep(planned.plan, store) {
                planned.writesRows = !inPlace.touched.isEmpty
                if !planned.writesRows { return planned }
                if !countsBeforehand, !inPlace.counted.isEmpty {
                    return try leavingUncounted(inPlace.counted, store, from: version, to: target)
                }
            }
        }
        return try planned(store, from: version, to: target, isPastSnapshot ? .estimated : .exact)
    }

    /// The plan of a step in place whose statements count the rows of some tables, and look at them, as they write them.
    private func leavingUncounted(
        _ tables: Set<String>, _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion
    ) throws -> Planned {
        var planned = try planned(store, from: version, to: target, .exactBut(tables))
        // Of a table that is small the rows are known all the same.
        let uncounted = tables.subtracting(planned.countedTables)
        guard planned.plan.steps.count == 1, planned.plan.steps[0].mode == .inPlace, !uncounted.isEmpty else {
            return planned
        }
        let entities = planned.layout.tablesInOrder.filter { uncounted.contains($0.name) }
            .flatMap { planned.layout.entities(inTableOf: $0.root) }
        planned.plan.steps[0].leaveUncounted(uncounted, of: Set(entities))
        planned.soundTables.formUnion(uncounted)
        return planned
    }

    private func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, _ counting: StoreInspection.Counting
    ) throws -> Planned {
        var isEstimated = false
        if case .estimated = counting { isEstimated = true }
        let (inspection, layout) = try store.inspect(version, counting: counting)
        let rows = Dictionary(inspection.entities.map { ($0.entity, $0.rows) }, uniquingKeysWith: +)
        let plan = try makePlan(from: version, to: target, store, layout, rows: rows, areRowsEstimated: isEstimated)
        return Planned(
            plan: plan, layout: layout, rows: rows, soundTables: inspection.soundTables,
            countedTables: Set(inspection.entities.filter { !$0.isEstimated }.map(\.table)))
    }

    /// The statements of a plan that is one step in place and asks nothing of the rows; nil for every other plan.
    private func singleStep(_ plan: MigrationPlan, _ store: OpenedStore) throws -> InPlacePlan? {
        guard plan.refusals.isEmpty, plan.isInPlace, plan.steps.count == 1, let step = plan.steps.first,
            step.needsRowCheck.isEmpty, step.needsEmptySource.isEmpty, step.needsUniqueValues.isEmpty,
            step.needsValues.isEmpty
        else { return nil }
        do {
            return try InPlaceRun.plan(
                step, on: store.sourceGuard.connection, dropping: Set(configuration.dropUnknown))
        } catch is FerryError {
            // What stands in the way is said when the plan is made of counted rows.
            return nil
        }
    }
}
