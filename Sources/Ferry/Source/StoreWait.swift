internal import FerryBase
internal import Foundation

/// Waits for a store that another program uses, so that the call can be repeated.
struct StoreWait {
    private static let intervalMilliseconds = 100
    private static let codes: Set<FerryError.Code> = [.storeInUse, .storeInUseAtSwap, .runActive]

    private let limit: Duration?
    private let store: String
    private let result: String
    private let stop: StopRequest
    private let files = FileLayer()
    private let tell: (FerryWarning) -> Void
    /// The time of waiting in this call, in nanoseconds.
    private var waited: UInt64 = 0

    /// `result` is the file beside which the run folder is; `tell` receives one warning when the waiting begins.
    init(
        limit: Duration?, store: String, result: String, stop: StopRequest, tell: @escaping (FerryWarning) -> Void
    ) {
        (self.limit, self.store, self.result, self.stop, self.tell) = (limit, store, result, stop, tell)
    }

    /// Calls a body, again whenever the store can be had after an error by another program's use of it.
    ///
    /// - Throws: The error when the time is over; the reason of the stop request; the body's other errors.
    mutating func repeating<Result>(_ body: () throws -> Result) throws -> Result {
        while true {
            do {
                return try body()
            } catch let error as FerryError where Self.codes.contains(error.code) {
                guard let limit else { throw error }
                try untilFree(after: error, limit)
            }
        }
    }

    private mutating func untilFree(after error: FerryError, _ limit: Duration) throws {
        let begun = Clock.nanoseconds()
        let before = waited
        defer { waited = before + Clock.nanoseconds(since: begun) }
        if before == 0 {
            tell(
                FerryWarning(
                    .waitingForStore, "\(error.message) Waiting for it, for up to \(limit.inUnits).",
                    about: .init(path: store)))
        }
        var held: SourceGuard?
        defer { held?.release() }
        while true {
            do {
                try stop.checkAtRest()
            } catch {
                var error = error
                error.message += " \(store) was in use by another program."
                throw error
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
