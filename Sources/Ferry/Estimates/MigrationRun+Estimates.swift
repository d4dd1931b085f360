internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerryPreflight
internal import FerryStore
internal import Foundation

extension MigrationRun {
    func stepEstimates(_ planned: Planned, _ store: OpenedStore) throws -> [StepEstimate] {
        try StepEstimate.all(
            of: planned, on: store.sourceGuard.connection, verify: configuration.verification,
            jobs: configuration.limits.processors ?? ProcessInfo.processInfo.activeProcessorCount)
    }

    private func isOnStore(_ planned: Planned) -> Bool { planned.plan.mayChangeStore && place.output == nil }

    /// The work of the run after preflight, in its order.
    func work(_ planned: Planned, _ store: OpenedStore) throws -> [WorkItem] {
        let isOnStore = isOnStore(planned)
        var bytes = Double(try store.contentBytes())
        var items = takesSnapshot && configuration.snapshots.form != .clone ? [WorkItem.snapshot(of: bytes)] : []
        let clones = try files.mayClone(at: FileLayer.parent(of: place.result))
        for (index, step) in planned.steps.enumerated() {
            if !isOnStore, !clones, !step.statements.isEmpty { items.append(.copy(of: bytes, step: index + 1)) }
            items += step.statements + step.operations
            if !isOnStore || comparesRows(planned) { items += step.verification }
            bytes = Double(step.disk.destinationBytes)
        }
        if isOnStore {
            items.append(.commit(of: Double(planned.steps.map(\.disk.peak).clampedSum)))
        } else if place.output == nil {
            items.append(.swap(of: bytes))
        }
        return items
    }

    /// The one transaction on the store, or the swap; nil if the run has neither, or the plan is refused.
    func longestUnit(_ planned: Planned, _ store: OpenedStore) throws -> PlanReport.LongestUnit? {
        let isOnStore = isOnStore(planned)
        let items = try work(planned, store).filter { isOnStore ? $0.isInTransaction : $0.phase == .swap }
        guard planned.plan.refusals.isEmpty, !items.isEmpty else { return nil }
        return PlanReport.LongestUnit(
            kind: isOnStore ? .transaction : .swap, name: FileLayer.name(of: place.store),
            step: planned.plan.steps.count, rows: planned.rows.values.reduce(0, +),
            seconds: try rates(planned, store).seconds(items.bytesByKind))
    }

    /// The warning that a budget is shorter than the transaction on the store; nil without such a budget.
    func budgetWarning(_ longest: Duration?) -> FerryWarning? {
        guard let budget = configuration.limits.budget, let longest, longest > budget else { return nil }
        return FerryWarning(
            .budgetTooShort,
            "The budget of \(budget.inWords) cannot be met: the transaction on the store takes about \(longest.inWords) on this "
                + "machine and cannot be divided.",
            about: .init(path: place.store))
    }

    /// The rates before the run; a small store is migrated before a measurement would tell.
    func rates(_ planned: Planned, _ store: OpenedStore) throws -> WorkRates {
        try WorkRates(machine: machine(for: planned, store))
    }

    func machine(for planned: Planned, _ store: OpenedStore) throws -> Double {
        if let machine { return machine }
        let isLarge = try store.contentBytes() > WorkRates.leastStore
        let isMeasured = isLarge && planned.writesRows || configuration.limits.budget != nil
        let found = configuration.thresholds.machine ?? (isMeasured ? WorkRates.machine() : 1)
        machine = found
        return found
    }
}

/// Work on pages: a copy reads and writes each once, a snapshot reads its own content again, and a swap also writes a
/// journal.
extension WorkItem {
    static func snapshot(of bytes: Double) -> Self { Self(.snapshot, nil, .pages, bytes: 3 * bytes) }

    private static let copyOfPages = "copy of the store"

    static func copy(of bytes: Double, step: Int) -> Self {
        Self(.rows, step: step, copyOfPages, .pages, bytes: 2 * bytes)
    }

    static func commit(of bytes: Double) -> Self { Self(.swap, nil, .pages, bytes: bytes) }
    static func swap(of bytes: Double) -> Self { Self(.swap, nil, .pages, bytes: 4 * bytes) }

    /// Whether the item is a part of the one transaction on the store.
    var isInTransaction: Bool { phase != .snapshot && subject != Self.copyOfPages }
}
