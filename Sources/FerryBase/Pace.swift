/// The pace that an operator gives a running call: a pause, a share of rest, a chunk size.
///
/// The work asks for it between two units, so that no transaction is open while it rests.
package final class Pace: Sendable {
    package struct Orders: Sendable, Hashable, Codable {
        package var isPaused = false
        /// The share of the time in which the work rests.
        package var rest = 0.0
        /// The rows of a chunk; nil for those of the call's own settings.
        package var chunkRows: Int?

        package init() {}
    }

    /// The longest part of a rest: after it a changed order, or a stop, is seen.
    private static let longestPartMilliseconds = 50
    /// More rest would look like a pause.
    package static let mostRest = 0.95

    private let state = Locked((orders: Orders(), pausedThreads: 0))
    private let hooks = Locked<Hooks?>(nil)

    private struct Hooks {
        let look: @Sendable () -> Void
        let onPause: @Sendable (Bool) -> Void
    }

    package init() {}

    /// From now on `look` sets the present orders before the work asks for them, and `onPause` learns that the work has
    /// come to a halt, and that it continues.
    package func connect(
        look: @escaping @Sendable () -> Void = {}, onPause: @escaping @Sendable (Bool) -> Void = { _ in }
    ) { hooks.withLock { $0 = Hooks(look: look, onPause: onPause) } }

    fileprivate func lookForOrders() { hooks.withLock { $0 }?.look() }

    package var orders: Orders { state.withLock { $0.orders } }
    package func set(_ orders: Orders) { state.withLock { $0.orders = orders } }

    /// Rests after a unit that took some time, and while the work is paused.
    ///
    /// - Returns: Whether it has rested.
    /// - Throws: The reason of the stop request. Also a spent budget ends a pause before the first unit of a call.
    fileprivate func rest(after worked: UInt64, _ stop: StopRequest) throws(FerryError) -> Bool {
        let start = Clock.nanoseconds()
        var (hasRested, isPaused) = (false, false)
        defer { if isPaused { count(-1) } }
        while true {
            let orders = orders
            let share = min(max(orders.rest, 0), Self.mostRest)
            let due = Double(worked) * share / (1 - share) - Double(Clock.nanoseconds(since: start))
            guard orders.isPaused || due > 0 else { return hasRested }
            hasRested = true
            if orders.isPaused != isPaused {
                isPaused = orders.isPaused
                count(isPaused ? 1 : -1)
            }
            try stop.checkAtRest()
            let part = Double(Self.longestPartMilliseconds) * 1e6
            Clock.wait(nanoseconds: Int(orders.isPaused ? part : min(part, max(due, 1))))
        }
    }

    private func count(_ change: Int) {
        let (before, now) = state.withLock { state in
            defer { state.pausedThreads += change }
            return (state.pausedThreads, state.pausedThreads + change)
        }
        if (before == 0) != (now == 0) { hooks.withLock { $0 }?.onPause(now > 0) }
    }
}

extension StopRequest {
    /// Between two units: rests as the operator has ordered, and checks for a stop.
    ///
    /// - Parameter worked: The nanoseconds of the unit before.
    /// - Throws: The reason, once the work must end.
    package func checkBetweenUnits(after worked: UInt64 = 0) throws(FerryError) {
        // An order that was given before the unit ended holds for the next one, however short units are.
        pace?.lookForOrders()
        try check()
        guard let pace, try pace.rest(after: worked, self) else { return }
        // A rest is not work that a stop would give up.
        beginUnits()
        try check()
    }
}
