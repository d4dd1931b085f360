internal import FerryBase
internal import FerryPlan
internal import FerryPreflight
internal import FerryStore

extension MigrationRun {
    /// The work of the run after preflight, in its order; a copy reads and writes each page once, a snapshot reads its
    /// own content again, and a swap also writes a journal.
    func work(_ planned: Planned, _ store: OpenedStore) throws -> [WorkItem] {
        let isOnStore = runsInStore(planned.plan)
        var bytes = Double(try store.contentBytes())
        var items = takesSnapshot && configuration.snapshots.form != .clone ? [snapshotWork(of: bytes)] : []
        let clones = try files.mayClone(at: FileLayer.parent(of: place.result))
        for (index, step) in planned.steps.enumerated() {
            if !isOnStore, !clones, step.items.contains(where: \.isStatement) {
                items.append(WorkItem(.rows, step: index + 1, PageCopy.subject, .pages, bytes: 2 * bytes))
            }
            // On the store, only a full verification reads rows.
            items += step.items.filter { !isOnStore || configuration.verification == .full || $0.phase != .verify }
            bytes = Double(step.disk.destinationBytes)
        }
        if isOnStore {
            items.append(WorkItem(.swap, nil, .pages, bytes: Double(planned.steps.map(\.disk.peak).clampedSum)))
        } else if place.output == nil {
            items.append(WorkItem(.swap, nil, .pages, bytes: 4 * bytes))
        }
        return items
    }

    func snapshotWork(of bytes: Double) -> WorkItem { WorkItem(.snapshot, nil, .pages, bytes: 3 * bytes) }

    /// The one transaction on the store, or the swap; nil if the run has neither, or the plan is refused.
    func longestUnit(_ planned: Planned, _ store: OpenedStore) throws -> PlanReport.LongestUnit? {
        let isOnStore = runsInStore(planned.plan)
        let items = try work(planned, store).filter { isOnStore ? $0.phase != .snapshot : $0.phase == .swap }
        guard planned.plan.refusals.isEmpty, !items.isEmpty else { return nil }
        return PlanReport.LongestUnit(
            kind: isOnStore ? .transaction : .swap, name: FileLayer.name(of: place.store),
            step: planned.plan.steps.count, rows: planned.rows.values.reduce(0, +),
            seconds: try items.seconds * machine(for: store))
    }

    /// The time of work on this machine, relative to the expected; a small store is migrated before a measurement would
    /// tell.
    func machine(for store: OpenedStore) throws -> Double {
        if let machine { return machine }
        let isMeasured = try store.contentBytes() > 4 << 20 || configuration.limits.budget != nil
        let found = configuration.thresholds.machine ?? (isMeasured ? Self.measuredMachine : 1)
        machine = found
        return found
    }

    private static var measuredMachine: Double {
        // Each of its five statements reads or writes short rows, and its index has an entry for each.
        let row = (TableSizes.rowWork + 25) * Double(SpeedProbe.rows)
        let expected = (5 * WorkKind.statement.nanoseconds + WorkKind.sort.nanoseconds) * row / 1e9
        // A measurement of a few milliseconds cannot show more.
        return SpeedProbe.seconds().map { min(max($0 / expected, 0.25), 6) } ?? 1
    }
}
