public import FerryBase
internal import FerryModel
public import Foundation

extension Migrator {
    /// Runs the migration on a thread of its own, and returns when all its work has ended.
    ///
    /// A cancelled task ends within one chunk, with ``FerryError`` `.interrupted`, whose cause is a
    /// `CancellationError`; the run stays resumable, and the next call resumes it. In a task that is cancelled already
    /// no work begins.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the migration.
    ///   - progress: Receives the completed share of the work; its cancellation stops the run like that of the task.
    ///   - onEvent: Receives every event, on the migration's thread.
    /// - Returns: The report, also if there was nothing to do.
    /// - Throws: ``FerryError`` as ``migrate(_:stop:onEvent:)`` does.
    @discardableResult
    public func migrate(
        _ configuration: Configuration = Configuration(), progress: Progress? = nil,
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) async throws -> MigrationReport {
        try await MigrationThread.run { stop in
            let follower = progress.map { ProgressFollower($0, stop: stop) }
            defer { follower?.end() }
            return try migrate(configuration, stop: stop) { event in
                onEvent(event)
                follower?.take(event)
            }
        }
    }

    /// Runs the migration while a loop reads its events.
    public func run(_ configuration: Configuration = Configuration()) -> MigrationEvents {
        MigrationEvents(self, configuration)
    }
}

/// Updates a `Progress` of Foundation, and stops the run when that is cancelled.
final class ProgressFollower: Sendable {
    /// The number of parts of the work: finer than any progress bar on a screen.
    private static let units: Int64 = 10_000

    private let progress: Progress
    private let stop: StopRequest

    init(_ progress: Progress, stop: StopRequest) {
        self.progress = progress
        self.stop = stop
        progress.totalUnitCount = Self.units
        progress.completedUnitCount = 0
        progress.isCancellable = true
        progress.isPausable = false
        progress.cancellationHandler = { stop.request(.cancelled) }
        checkCancellation()
    }

    /// Foundation does not call the handler for an earlier cancellation, and may call it late, on another thread.
    private func checkCancellation() { if progress.isCancelled { stop.request(.cancelled) } }

    func take(_ event: MigrationEvent) {
        checkCancellation()
        switch event {
        case .progress(let update):
            guard let fraction = update.fraction else { return }
            let done = Int64(fraction * Double(Self.units))
            // The end sets the last unit: code that waits for it finds the migrated store.
            progress.completedUnitCount = min(max(done, progress.completedUnitCount), Self.units - 1)
            progress.setUserInfoObject(update.timeLeft?.inSeconds, forKey: .estimatedTimeRemainingKey)
        case .finished: progress.completedUnitCount = Self.units
        case .planned, .phase, .warning: break
        }
    }

    /// Releases the run.
    func end() { progress.cancellationHandler = nil }
}

/// Threads for migrations: those of tasks are only as many as the processors, and must not wait for a disk.
enum MigrationThread {
    /// Runs a body on a thread of its own while the task waits; a cancelled task requests the body's stop.
    static func run<Value: Sendable>(_ body: @escaping @Sendable (StopRequest) throws -> Value) async throws -> Value {
        let stop = StopRequest()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                start({ try body(stop) }, then: { continuation.resume(with: $0) })
            }
        } onCancel: {
            stop.request(.cancelled)
        }
    }

    /// Runs a body on a thread of its own, and passes its result on, or the error if the system makes no thread.
    static func start<Value>(
        _ body: @escaping @Sendable () throws -> Value, then end: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        do throws(FerryError) {
            try WorkThread.start("ferry.migration") { end(Result(catching: body)) }
        } catch {
            end(.failure(error))
        }
    }
}

extension FerryError {
    /// The error of a run that a cancelled task or a cancelled `Progress` stops.
    static var cancelled: FerryError {
        FerryError(
            .interrupted, "The migration was cancelled and can be resumed.",
            remedy: "\(action: .again) to continue, or with \(on: .restart) to start over.", cause: CancellationError()
        )
    }
}

/// The result of ``Migrator/migrateIfNeeded(_:budget:progress:onEvent:)``; a later version may add more.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum LaunchOutcome: Sendable {
    /// There is no store yet: the app creates one of its own version.
    case noStore
    /// The store has the target version already.
    case upToDate
    case migrated(MigrationReport)
    /// The budget was spent, or the configuration holds the swap: all finished work is kept, and the next call resumes.
    case unfinished(FerryError)

    /// Whether the app can open its store, or make one.
    public var isReady: Bool { if case .unfinished = self { false } else { true } }
}

extension Migrator {
    /// Whether a migration has work to do: the store has another version, or a run on it is unfinished.
    ///
    /// - Throws: ``FerryError`` as ``identify()`` does, and `.unknownVersion`.
    public func needsMigration(_ configuration: Configuration = Configuration()) throws -> Bool {
        let path = try RunPlace.place(store.filePath, files: files)
        if try RunFolder.exists(RunFolder.path(beside: path), files: files) { return true }
        return try withRun(configuration) { run, store in
            try run.fitInputs(to: store)
            let ends = try run.ends(of: store)
            return ends.version.hashes != ends.target.hashes
        }
    }

    /// Migrates the store if it has another version, at the start of an app.
    ///
    /// ```swift
    /// let migrator = try Migrator(store: storeURL, bundles: [.main])
    /// let launch = try await migrator.migrateIfNeeded(budget: .seconds(20))
    /// if launch.isReady { openStore() } else { showProgress() }
    /// ```
    ///
    /// No work runs on the caller's thread, and all work has ended when the call returns.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the migration.
    ///   - budget: The time after which the call stops, for the next call to resume; nil for the configuration's.
    ///   - progress: As in ``migrate(_:progress:onEvent:)``.
    ///   - onEvent: As in ``migrate(_:progress:onEvent:)``.
    /// - Returns: Whether the app can open its store.
    /// - Throws: ``FerryError`` as ``migrate(_:progress:onEvent:)`` does, except for a spent budget and a held swap.
    public func migrateIfNeeded(
        _ configuration: Configuration = Configuration(), budget: Duration? = nil, progress: Progress? = nil,
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) async throws -> LaunchOutcome {
        var configuration = configuration
        configuration.limits.budget = budget ?? configuration.limits.budget
        let asked = configuration
        let isNeeded: Bool? = try await MigrationThread.run { _ in
            let path = try RunPlace.place(store.filePath, files: files)
            let isThere = try files.exists(path) || RunFolder.exists(RunFolder.path(beside: path), files: files)
            return isThere ? try needsMigration(asked) : nil
        }
        guard let isNeeded else { return .noStore }
        guard isNeeded else { return .upToDate }
        do {
            let report = try await migrate(configuration, progress: progress, onEvent: onEvent)
            return report.outcome == .upToDate ? .upToDate : .migrated(report)
        } catch let error as FerryError where [.budgetSpent, .swapHeld].contains(error.code) {
            return .unfinished(error)
        }
    }
}
