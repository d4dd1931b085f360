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
            + "unit\(units == 1 ? "" : "s") of work, which \(units == 1 ? "is" : "are") kept."
        if error.gaveUpUnit { reason.message += " A unit that took too long was abandoned and comes first next time." }
        return reason
    }

    /// Begins to write the progress of the run for `status`.
    func measure(_ planned: Planned, _ store: OpenedStore, _ session: RunSession) throws {
        let folder = session.folder
        let disk = DiskWatch(folders: [folder.path, snapshotFolder], store: place.result)
        relay.measure(
            by: try ProgressMeter(
                in: folder.path, runID: session.head.id, steps: planned.plan.steps.count, work(planned, store),
                machine: machine(for: store), watching: disk, since: start))
        stop.beginUnits()
        let plan = planned.plan
        control = RunControl(
            in: folder.path, isOneTransaction: runsInStore(plan),
            hasChunks: plan.steps.contains { $0.mode == .copy }, stop: stop)
    }
}

extension StopRequest {
    /// The stop request of one call, with the configuration's budget.
    convenience init(following other: StopRequest, _ budget: Duration?) {
        self.init(
            following: other, budgetNanoseconds: budget?.clampedNanoseconds,
            budgetSpent: FerryError(
                .budgetSpent, "The budget of \(budget.map(\.inUnits) ?? "this call") is used up.",
                remedy: "\(action: .again) to continue, or with \(on: .restart) to start over."))
    }
}
