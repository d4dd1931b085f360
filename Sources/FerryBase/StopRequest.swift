internal import Dispatch

/// A request to stop after the current unit: a cancelled task, a spent budget, Ctrl-C.
public final class StopRequest: Sendable {
    /// The time that the current unit still gets before it is interrupted: usually enough for a chunk.
    private static let graceMilliseconds = 500
    /// Interrupts repeat, because one between two statements reaches neither.
    private static let repeatMilliseconds = 20

    private struct State {
        var reason: FerryError?
        /// By ``Clock``.
        var deadline: UInt64?
        var budgetSpent: FerryError?
        var unitsDone: Int64 = 0
        /// The end of the last unit, or the beginning of the work; by ``Clock``.
        var lastEnd: UInt64?
        var longestUnit: UInt64 = 0
        var nextToken = 0
        var followers: [Int: @Sendable (FerryError) -> Void] = [:]
        var interrupters: [Int: @Sendable () -> Void] = [:]
        var pace: Pace?

        /// The reason why the work must end now, or nil; a budget ends no work before its first unit is done.
        func reason(at time: () -> UInt64) -> FerryError? {
            if let reason { return reason }
            guard let deadline, unitsDone > 0, time() >= deadline else { return nil }
            return budgetSpent
        }

        var isDue: Bool { reason != nil || deadline.map { Clock.nanoseconds() >= $0 } ?? false }

        mutating func endUnit(at now: UInt64) {
            guard let last = lastEnd else { return }
            longestUnit = max(longestUnit, Clock.nanoseconds(from: last, to: now))
            lastEnd = now
        }

        mutating func token() -> Int {
            nextToken += 1
            return nextToken
        }
    }

    private let state = Locked(State())
    private let queue = DispatchQueue(label: "ferry.stop")
    private let followed: (request: StopRequest, token: Int)?

    public init() { followed = nil }

    /// Makes a request that follows another request, and stops by itself after a budget.
    ///
    /// A budget never ends the first unit: otherwise repeated calls might make no progress.
    package init(following other: StopRequest, budgetNanoseconds: UInt64?, budgetSpent: FerryError) {
        let token = other.state.withLock { $0.token() }
        followed = (other, token)
        let reason = other.state.withLock { state in
            state.followers[token] = { [weak self] in self?.request($0) }
            return state.reason
        }
        if let reason { request(reason) }
        guard let budgetNanoseconds else { return }
        state.withLock {
            let (deadline, isNever) = Clock.nanoseconds().addingReportingOverflow(budgetNanoseconds)
            $0.deadline = isNever ? .max : deadline
            $0.budgetSpent = budgetSpent
        }
        let milliseconds = Int(clamping: budgetNanoseconds / 1_000_000)
        interruptLater(milliseconds: min(milliseconds, .max / 2_000_000) + Self.graceMilliseconds)
    }

    deinit {
        if let followed { followed.request.state.withLock { _ = $0.followers.removeValue(forKey: followed.token) } }
    }

    /// Requests a stop; keeps the first reason, also if that is a spent budget.
    public func request(_ error: FerryError) {
        let (reason, followers) = state.withLock { state -> (FerryError, [@Sendable (FerryError) -> Void]) in
            guard state.reason == nil else { return (error, []) }
            let reason = state.reason(at: Clock.nanoseconds) ?? error
            state.reason = reason
            return (reason, Array(state.followers.values))
        }
        for follower in followers { follower(reason) }
        interruptLater(milliseconds: Self.graceMilliseconds)
    }

    /// Whether the work must end: a stop was requested, or the budget is spent and a unit is done.
    public var isRequested: Bool { state.withLock { $0.reason(at: Clock.nanoseconds) != nil } }

    /// Like ``isRequested``, but true for a spent budget even before the first unit is done.
    package var isDue: Bool { state.withLock { $0.isDue } }

    /// - Throws: The reason, once the work must end.
    public func check() throws(FerryError) {
        if let error = state.withLock({ $0.reason(at: Clock.nanoseconds) }) { throw error }
    }

    /// Like ``check()``, but a spent budget counts even before the first unit: work that rests makes no progress.
    package func checkAtRest() throws(FerryError) {
        let error = state.withLock { $0.isDue ? $0.reason ?? $0.budgetSpent : nil }
        if let error { throw error }
    }

    /// The pace of the call, if an operator may change it.
    package var pace: Pace? {
        get { state.withLock { $0.pace } }
        set { state.withLock { $0.pace = newValue } }
    }

    // MARK: Units

    /// Begins to measure units: the work before, which only reads, is not one.
    package func beginUnits(at now: UInt64 = Clock.nanoseconds()) { state.withLock { $0.lastEnd = now } }

    /// Counts a finished unit, whose work no later call repeats.
    package func unitIsDone(at now: UInt64 = Clock.nanoseconds()) {
        state.withLock { state in
            state.unitsDone += 1
            state.endUnit(at: now)
        }
    }

    /// Ends a unit that is recorded only if a stop is due: a stop would lose nothing here.
    package func unitCanEnd(at now: UInt64 = Clock.nanoseconds()) { state.withLock { $0.endUnit(at: now) } }

    /// Takes the time of a unit that ran beside other ones.
    package func unitTook(nanoseconds: UInt64) {
        state.withLock { state in
            if state.lastEnd != nil { state.longestUnit = max(state.longestUnit, nanoseconds) }
        }
    }

    /// The longest time between the ends of two units: the most work that a stop would have given up.
    package var longestUnitNanoseconds: UInt64 { state.withLock { $0.longestUnit } }

    package var unitsDone: Int64 { state.withLock { $0.unitsDone } }

    // MARK: Long pieces of work

    /// Registers a closure that interrupts work that cannot check for a stop itself.
    ///
    /// Once a stop is due, any thread may call it, also repeatedly. The caller must end the result after the work.
    package func add(_ body: @escaping @Sendable () -> Void) -> Interrupter {
        let (token, isDue) = state.withLock { state in
            let token = state.token()
            state.interrupters[token] = body
            return (token, state.isDue)
        }
        if isDue { interruptLater(milliseconds: Self.graceMilliseconds) }
        return Interrupter(stop: self, token: token)
    }

    package struct Interrupter {
        fileprivate let stop: StopRequest
        fileprivate let token: Int

        /// Removes the closure; after the return, no call of it runs or begins.
        package func end() { stop.state.withLock { _ = $0.interrupters.removeValue(forKey: token) } }
    }

    private func interruptLater(milliseconds: Int) {
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in self?.interrupt() }
    }

    private func interrupt() {
        let isWorking = state.withLock { state in
            // Under the lock, so that no removed closure is called; an interrupt takes no time.
            if state.reason(at: Clock.nanoseconds) != nil { for body in state.interrupters.values { body() } }
            return !state.interrupters.isEmpty
        }
        if isWorking { interruptLater(milliseconds: Self.repeatMilliseconds) }
    }
}
