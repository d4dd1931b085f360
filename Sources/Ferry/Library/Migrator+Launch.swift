public import FerryBase
public import Foundation

/// What ``Migrator/migrateIfNeeded(_:budget:progress:onEvent:)`` has found and done; there may be more in a later
/// version.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum LaunchOutcome: Sendable {
    /// There is no store yet: the app makes one of its own version.
    case noStore
    /// The store has the version already.
    case upToDate
    case migrated(MigrationReport)
    /// The budget was spent, or all but the swap was to be done: what is done is kept, and the next call goes on.
    case unfinished(FerryError)

    /// Whether the app can open its store, or make one.
    public var isReady: Bool { if case .unfinished = self { false } else { true } }
}

extension Migrator {
    /// Whether a migration would do something: the store has another version, or a run on it is unfinished.
    ///
    /// - Throws: ``FerryError`` as ``identify()`` does, and `.unknownVersion`.
    public func needsMigration(_ configuration: Configuration = Configuration()) throws -> Bool {
        let path = try RunPlace.place(store.filePath, files: files)
        if try RunFolder.exists(RunFolder.path(beside: path), files: files) { return true }
        return try isOtherVersion(configuration)
    }

    /// Migrates the store if it has another version, for the start of an app.
    ///
    /// ```swift
    /// let migrator = try Migrator(store: storeURL, bundles: [.main])
    /// let launch = try await migrator.migrateIfNeeded(budget: .seconds(20))
    /// if launch.isReady { openStore() } else { showThatItGoesOn() }
    /// ```
    ///
    /// Nothing of it runs on the caller's thread, and nothing is at work when it returns.
    ///
    /// - Parameters:
    ///   - configuration: How it runs.
    ///   - budget: How long it may work before it stops, to be gone on with by the next call; nil for as long as it takes,
    ///     or as long as the configuration says.
    ///   - progress: As in ``migrate(_:progress:onEvent:)``.
    ///   - onEvent: As in ``migrate(_:progress:onEvent:)``.
    /// - Returns: Whether the app can open its store.
    /// - Throws: ``FerryError`` as ``migrate(_:progress:onEvent:)`` does, but for a spent budget and a held swap.
    public func migrateIfNeeded(
        _ configuration: Configuration = Configuration(), budget: Duration? = nil, progress: Progress? = nil,
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) async throws -> LaunchOutcome {
        var configuration = configuration
        configuration.budget = budget ?? configuration.budget
        let asked = configuration
        let isNeeded: Bool? = try await MigrationThread.run {
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
