internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerryPreflight
internal import FerryStore

extension MigrationRun {
    /// What the checks of a store know; nil if there is nothing to do, or the step that reads the store is refused.
    func preflightInput(_ planned: Planned, _ store: OpenedStore) -> PreflightInput? {
        guard planned.plan.firstStep != nil, let inPlace = planned.inPlace else { return nil }
        var options = PreflightOptions(limits: EngineOptions(limitsOf: configuration), now: now)
        (options.damaged, options.dropping) = (configuration.damaged, configuration.dropping)
        options.breaksSync = configuration.breaksSync
        return PreflightInput(
            path: store.path, connection: store.sourceGuard.connection, plan: planned.plan, inPlace: inPlace,
            layout: planned.layout, inspection: planned.inspection, rows: planned.rows,
            checkedTables: planned.checkedTables, scans: planned.scans, options: options)
    }
}

extension EngineOptions {
    /// Only the limits, from which the largest values follow.
    init(limitsOf configuration: Configuration) {
        self.init(chunkSize: .automatic, now: 0)
        (chunkBytes, memoryLimit) = (configuration.chunks.bytes, configuration.limits.memory)
    }
}
