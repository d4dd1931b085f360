internal import FerryBase
internal import Foundation

/// Waits for a store that another program uses, so that the call can be repeated.
struct StoreWait {
    private static let intervalMilliseconds = 100
    private static let codes: Set<FerryError.Code> = [.storeInUse, .storeInUseAtSwap, .runActive]

    private let limit: Duration?
    private let budget: Duration?
    private let store: String
    private let result: String
    private let stop: StopRequest
    private let files = FileLayer()
    private let start = Clock.nanoseconds()
    private let tell: (FerryWarning) -> Void
    /// The time of waiting in this call, in nanoseconds.
    private var waited: UInt64 = 0
    private var hasTold = false

    /// `result` is the file beside which the run folder is; `tell` receives one warning when the waiting begins.
    init(
        limit: Duration?, budget: Duration?, store: String, result: String, stop: StopRequest,
        tell: @escaping (FerryWarning) -> Void
    ) {
        (self.limit, self.budget) = (limit, budget)
        (self.store, self.result, self.stop, self.tell) = (store, result, stop, tell)
    }

    func isWorthwhile(after error: FerryError) -> Bool { limit != nil && Self.codes.contains(error.code) }

    /// The budget for the next try of the call; the first try has all of it.
    func remainingBudget() throws(FerryError) -> Duration? {
        guard let budget, waited > 0 else { return budget }
        let left = budget - .clamped(nanoseconds: Clock.nanoseconds(since: start))
        guard left > .zero else { throw budgetSpent(budget) }
        return left
    }

    private func budgetSpent(_ budget: Duration) -> FerryError {
        FerryError(
            .budgetSpent, "The budget of \(budget.inUnits) is used up: \(store) was in use by another program.",
            remedy: "\(action: .again) to continue.")
    }

    /// Returns when the store can be had, or throws the error when the time is over.
    ///
    /// - Throws: The error; the reason of a stop request; `.budgetSpent`.
    mutating func untilFree(after error: FerryError) throws {
        guard let limit else { throw error }
        let begun = Clock.nanoseconds()
        let before = waited
        defer { waited = before + Clock.nanoseconds(since: begun) }
        if !hasTold {
            hasTold = true
            tell(
                FerryWarning(
                    .waitingForStore, "\(error.message) Waiting for it, for up to \(limit.inUnits).",
                    about: .init(path: store)))
        }
        var held: SourceGuard?
        defer { held?.release() }
        while true {
            try stop.check()
            if let budget, Duration.clamped(nanoseconds: Clock.nanoseconds(since: start)) >= budget {
                throw budgetSpent(budget)
            }
            guard Duration.clamped(nanoseconds: before + Clock.nanoseconds(since: begun)) < limit else {
                var error = error
                error.message += " It was still in use after \(limit.inUnits)."
                throw error
            }
            Clock.wait(milliseconds: Self.intervalMilliseconds)
            if try isFree(error, &held) { return }
        }
    }

    private func isFree(_ error: FerryError, _ held: inout SourceGuard?) throws -> Bool {
        let folder = RunFolder.path(beside: try files.exists(result) ? files.realPath(result) : result)
        guard error.code != .runActive else { return try !files.isLocked(folder + "/lock") }
        do {
            guard error.code == .storeInUseAtSwap else {
                try sourceGuard().close()
                return true
            }
            let candidate = try held ?? sourceGuard()
            held = nil
            let isAlone = try candidate.takeExclusively()
            candidate.release()
            // Between two looks the lock keeps writers out, whose changes would make the finished work worthless.
            if !isAlone { held = try sourceGuard() }
            return isAlone
        } catch let error as FerryError where Self.codes.contains(error.code) {
            return false
        } catch is FerryError {
            // A damaged store, or one that is gone: the repeated call says so, or can do its work all the same.
            return true
        }
    }

    private func sourceGuard() throws -> SourceGuard {
        try SourceGuard(path: RunPlace.existing(store, files: files), purpose: .migrating, files: files)
    }
}
