internal import Dispatch

/// A request to stop after the current unit: a cancelled task, a spent budget, Ctrl-C.
public final class StopRequest: Sendable {
    /// How long the unit at work may still take before it is abandoned: what a chunk takes at most, as a rule.
    private static let patienceMilliseconds = 500
    /// An interrupt between two statements reaches neither, so it is repeated.
    private static let repeatMilliseconds = 20

    private struct State {
        var reason: FerryError?
        /// When the budget is spent, by ``Clock``.
        var deadline: UInt64?
        var budgetSpent: FerryError?
        var unitsDone: Int64 = 0
        var nextToken = 0
        /// What is told of the first request, by token.
        var followers: [Int: @Sendable (FerryError) -> Void] = [:]
        /// What ends a piece of work that takes too long, by token.
        var interrupters: [Int: @Sendable () -> Void] = [:]

        /// Why the work must end now; a budget lets one unit be done first.
        func reason(at time: () -> UInt64) -> FerryError? {
            if let reason { return reason }
            guard let deadline, unitsDone > 0, time() >= deadline else { return nil }
            return budgetSpent
        }

        /// Whether the work should end as soon as it can be gone on with.
        var isDue: Bool { reason != nil || deadline.map { Clock.nanoseconds() >= $0 } ?? false }

        mutating func token() -> Int {
            nextToken += 1
            return nextToken
        }
    }

    private let state = Locked(State())
    private let queue = DispatchQueue(label: "ferry.stop")
    /// The request that this one follows, and the token there.
    private let followed: (request: StopRequest, token: Int)?

    public init() { followed = nil }

    /// A request that passes another one on, and stops by itself when a budget is spent.
    ///
    /// A budget never ends the first unit: a call that did none would leave the next one where it began itself.
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
        interruptLater(milliseconds: min(milliseconds, .max / 2_000_000) + Self.patienceMilliseconds)
    }

    deinit {
        if let followed { followed.request.state.withLock { _ = $0.followers.removeValue(forKey: followed.token) } }
    }

    /// Asks for a stop; the first reason given is kept, as is a budget that was spent before.
    public func request(_ error: FerryError) {
        let (reason, followers) = state.withLock { state -> (FerryError, [@Sendable (FerryError) -> Void]) in
            guard state.reason == nil else { return (error, []) }
            let reason = state.reason(at: Clock.nanoseconds) ?? error
            state.reason = reason
            return (reason, Array(state.followers.values))
        }
        for follower in followers { follower(reason) }
        interruptLater(milliseconds: Self.patienceMilliseconds)
    }

    /// Whether the work must end: a stop was asked for, or the budget is spent and a unit is done.
    public var isRequested: Bool { state.withLock { $0.reason(at: Clock.nanoseconds) != nil } }

    /// Whether the work should end as soon as it can be gone on with: asked for, or the budget is spent, even though no
    /// unit may be done yet.
    package var isDue: Bool { state.withLock { $0.isDue } }

    /// - Throws: The reason, once the work must end.
    public func check() throws(FerryError) {
        if let error = state.withLock({ $0.reason(at: Clock.nanoseconds) }) { throw error }
    }

    // MARK: Units

    /// Counts a unit whose work will not be done again.
    package func unitIsDone() { state.withLock { $0.unitsDone += 1 } }

    /// Units that were done so far.
    package var unitsDone: Int64 { state.withLock { $0.unitsDone } }

    // MARK: Long pieces of work

    /// Lets the body, which ends a piece of work that cannot look for itself, be called from any thread and again and again
    /// once the unit at work should be abandoned; what is returned is to be ended when the work is done.
    package func add(_ body: @escaping @Sendable () -> Void) -> Interrupter {
        let (token, isDue) = state.withLock { state in
            let token = state.token()
            state.interrupters[token] = body
            return (token, state.isDue)
        }
        if isDue { interruptLater(milliseconds: Self.patienceMilliseconds) }
        return Interrupter(stop: self, token: token)
    }

    /// What may end a piece of work.
    package struct Interrupter {
        fileprivate let stop: StopRequest
        fileprivate let token: Int

        /// After this it is not called any more, nor is it being called.
        package func end() { stop.state.withLock { _ = $0.interrupters.removeValue(forKey: token) } }
    }

    private func interruptLater(milliseconds: Int) {
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in self?.interrupt() }
    }

    private func interrupt() {
        let isWorking = state.withLock { state in
            // Within the lock, so that nothing is interrupted that was removed; interrupting takes no time.
            if state.reason(at: Clock.nanoseconds) != nil { for body in state.interrupters.values { body() } }
            return !state.interrupters.isEmpty
        }
        if isWorking { interruptLater(milliseconds: Self.repeatMilliseconds) }
    }
}
