internal import FerryBase
internal import Foundation

/// An order to a running migration; a later version may add more.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum RunOrder: Sendable, Hashable {
    /// Comes to a halt after the current unit of work.
    case pause
    /// Continues.
    case resume
    /// Rests for this share of the time, from 0 (full speed) to 0.95.
    case throttle(Double)
    /// The rows of the next chunks; nil for the setting of the call.
    case chunkRows(Int?)
    /// Ends the call, which can be resumed.
    case stop
}

/// The orders that a running migration has after a call of ``StoreFiles/control(_:)``.
public struct RunOrders: Sendable, Hashable, Codable {
    public var runID: String?
    public var isPaused: Bool
    /// The share of the time in which the migration rests.
    public var rest: Double
    /// Nil for the call's own setting.
    public var chunkRows: Int?
    public var stops: Bool
}

extension StoreFiles {
    /// Gives an order to the migration that runs on the store; for a run with an output, use the output as the store.
    ///
    /// The order goes through the run folder and takes effect after the current unit of work. It is for the present
    /// call alone: a call that resumes the run later begins without orders.
    ///
    /// - Parameter order: The order.
    /// - Returns: All orders that the migration then has.
    /// - Throws: ``FerryError`` `.noRun` when no migration is running, `.cannotControl` when the order has no effect on
    ///   the work at hand, `.usage` for a value out of range.
    @discardableResult
    public func control(_ order: RunOrder) throws -> RunOrders {
        let path = store.filePath
        let folder = RunFolder.path(beside: try realPath())
        guard try files.isLocked(folder + "/lock") else {
            throw FerryError(
                .noRun, "No migration of \(path) is running.",
                remedy: "Start the migration first, or wait until its preflight has ended: an order applies only to "
                    + "the call that is running.")
        }
        guard let call = try files.decoded(RunControl.Call.self, at: RunControl.callPath(in: folder)) else {
            throw FerryError(
                .noRun, "The migration of \(path) is still being prepared, or is a rollback.",
                remedy: "Try again when its phase is snapshot or later.")
        }
        let status = try status()
        try check(order, call, status)
        let place = RunControl.orderPath(in: folder)
        let earlier = try files.decoded(RunControl.Order.self, at: place)
        var next = earlier?.call == call.call ? earlier ?? .init(call: call.call) : .init(call: call.call)
        switch order {
        case .pause: next.orders.isPaused = true
        case .resume: next.orders.isPaused = false
        case .throttle(let share): next.orders.rest = share
        case .chunkRows(let rows): next.orders.chunkRows = rows
        case .stop: next.stops = true
        }
        try files.putAside(next, to: place)
        return RunOrders(
            runID: status.runID, isPaused: next.orders.isPaused, rest: next.orders.rest,
            chunkRows: next.orders.chunkRows, stops: next.stops)
    }

    private func check(_ order: RunOrder, _ call: RunControl.Call, _ status: RunStatus) throws(FerryError) {
        switch order {
        case .throttle(let share) where !(0...Pace.mostRest).contains(share):
            throw FerryError(
                .usage, "A migration can rest for 0% to 95% of the time.", remedy: "Choose a smaller share.")
        case .chunkRows(let rows?) where !(1...100_000_000).contains(rows):
            throw FerryError(.usage, "A chunk has at least 1 row.", remedy: "Choose another number.")
        case .chunkRows where !call.hasChunks:
            throw FerryError(
                .cannotControl, "The migration of \(store.filePath) copies no rows in chunks.",
                remedy: "Its steps change tables in place.")
        case .pause, .throttle:
            if call.isOneTransaction, status.phase != .snapshot {
                throw FerryError(
                    .cannotControl,
                    "\(store.filePath) is migrated in place by one transaction, which cannot rest: it would keep the store "
                        + "locked.",
                    remedy: "A stop ends it; SQLite then rolls it back.")
            }
            if status.phase == .swap || status.phase == .cleanUp {
                throw FerryError(
                    .cannotControl,
                    "The migration of \(store.filePath) is in its last transaction, which cannot rest: it would keep "
                        + "the store locked.",
                    remedy: "It ends soon.")
            }
        case .resume, .chunkRows, .stop: break
        }
    }
}
