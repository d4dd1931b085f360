internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerryStore
internal import Foundation

extension MigrationRun {
    /// The error of a stopped call: the reason for the stop, and the progress of the run.
    func stopped(_ error: FerryError) -> FerryError {
        var reason = error
        if error.gaveUpUnit {
            do { try stop.check() } catch { reason = error }
        }
        guard reason.code == .budgetSpent else { return reason }
        let (phase, step) = relay.position
        let place = phase.map { " in phase \($0.rawValue)" } ?? ""
        let units = stop.unitsDone
        reason.message +=
            " The run is\(place)\(step.map { " of step \($0)" } ?? ""); this call did \(units) "
            + "unit\(units == 1 ? "" : "s") of work, all kept."
        if error.gaveUpUnit { reason.message += " One that took too long was given up, and comes first next time." }
        return reason
    }

    /// Begins to write the progress of the run for `status`.
    func measure(_ planned: Planned, _ store: OpenedStore, _ record: RunRecord, _ folder: RunFolder) throws {
        let plan = planned.plan
        verifiesBeside = try canVerifyBeside(plan, store, scratch: planned.steps.map(\.peak))
        let isOneTransaction = plan.isInPlace && place.output == nil
        var steps = planned.steps.map(\.work)
        if isOneTransaction, let rows = try rowsWritten(planned, store) { steps[0].rewritten = rows }
        let work = RunWork(
            steps: steps, isOneTransaction: isOneTransaction, takesSnapshot: takesSnapshot,
            verify: configuration.verify,
            jobs: configuration.jobs ?? ProcessInfo.processInfo.activeProcessorCount,
            verifiedBeside: { self.verifiesBesideNext(plan, $0) },
            swaps: place.output == nil && !plan.isInPlace)
        relay.measure(
            by: ProgressMeter(in: folder.path, runID: record.id, steps: plan.steps.count, work))
    }

    /// The rows that a single step in place rewrites; nil if planning it is not worth its time, or fails.
    private func rowsWritten(_ planned: Planned, _ store: OpenedStore) throws -> Double? {
        let plan = planned.plan
        guard plan.steps.count == 1, plan.steps[0].parts.isEmpty, let statements = planned.statements,
            try store.contentBytes() > Self.smallStoreBytes
        else { return nil }
        do {
            let inPlace = try statements.plan()
            let tables = Set(inPlace.touched.map { (inPlace.continued[$0] ?? $0).uppercased() })
            return planned.rows.reduce(0) { sum, rows in
                let table = planned.layout.table(of: rows.key)?.name.uppercased() ?? ""
                return sum + (tables.contains(table) ? Double(rows.value) : 0)
            }
        } catch {
            // The step itself reports the error.
            return nil
        }
    }
}

extension StopRequest {
    /// The stop request of one call, with the configuration's budget.
    convenience init(following other: StopRequest, _ budget: Duration?) {
        let (seconds, attoseconds) = budget?.components ?? (0, 0)
        let nanoseconds = UInt64(clamping: attoseconds / 1_000_000_000)
        let (whole, isTooMuch) = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
        self.init(
            following: other,
            budgetNanoseconds: budget.map { _ in
                isTooMuch ? .max : whole.addingReportingOverflow(nanoseconds).partialValue
            },
            budgetSpent: FerryError(
                .budgetSpent, "The budget of \(budget.map { "\($0)" } ?? "this call") is spent.",
                remedy: "\(action: .again) to go on, or with \(on: .restart) to begin again."))
    }
}
