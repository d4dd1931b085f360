public import FerryBase
public import Foundation

// Each call runs on a thread of its own, and returns when all its work has ended. A cancelled task ends at the next
// place where a stop request does, with `.interrupted`.

extension Migrator {
    /// ``plan(_:checksRows:)-76jl`` for a task.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the migration.
    ///   - checksRows: Whether preflight scans the rows too; otherwise the rows of large tables are estimated.
    /// - Returns: The plan.
    /// - Throws: ``FerryError`` as ``plan(_:checksRows:)-76jl`` does.
    public func plan(
        _ configuration: Configuration = Configuration(), checksRows: Bool = false
    ) async throws -> PlanReport {
        try await MigrationThread.run { stop in
            try stop.check()
            return try plan(configuration, checksRows: checksRows)
        }
    }

    /// ``rehearse(_:sample:stop:onEvent:)`` for a task.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the migration.
    ///   - sample: About the number of source rows of each entity that each step carries; nil for all.
    ///   - onEvent: Receives every event, on the rehearsal's thread.
    /// - Returns: The measurements.
    /// - Throws: ``FerryError`` as ``rehearse(_:sample:stop:onEvent:)`` does.
    public func rehearse(
        _ configuration: Configuration = Configuration(), sample: Int64? = nil,
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) async throws -> RehearsalReport {
        try await MigrationThread.run { stop in
            try rehearse(configuration, sample: sample, stop: stop, onEvent: onEvent)
        }
    }
}

extension StoreFiles {
    /// ``rollback(to:folder:keepsReplaced:wait:stop:trace:onWarning:)`` for a task.
    ///
    /// - Parameters:
    ///   - snapshot: Nil for the newest one whose content the store does not already have.
    ///   - folder: The folder of the snapshots; nil means `STORE.snapshots`.
    ///   - keepsReplaced: Whether a replaced store that changed since its last run gets a snapshot first.
    ///   - wait: How long the call waits in all for a store that another program uses; nil not to wait.
    ///   - onWarning: Receives the warning with which the waiting begins.
    /// - Returns: The restored snapshot, and the copies of the replaced store.
    /// - Throws: ``FerryError`` as the blocking call does.
    @discardableResult
    public func rollback(
        to snapshot: URL? = nil, folder: URL? = nil, keepsReplaced: Bool = true, wait: Duration? = nil,
        onWarning: (@Sendable (FerryWarning) -> Void)? = nil
    ) async throws -> RollbackReport {
        try await MigrationThread.run { stop in
            try rollback(
                to: snapshot, folder: folder, keepsReplaced: keepsReplaced, wait: wait, stop: stop,
                onWarning: onWarning)
        }
    }
}

extension Verifier {
    /// ``verifyStore(_:stop:onProgress:)`` for a task.
    ///
    /// - Parameters:
    ///   - options: The scope of the verification.
    ///   - onProgress: Receives the progress.
    /// - Returns: The differences.
    /// - Throws: ``FerryError`` as ``verifyStore(_:stop:onProgress:)`` does.
    public func verifyStore(
        _ options: Options = Options(), onProgress: ProgressHook? = nil
    ) async throws -> VerificationSummary {
        try await MigrationThread.run { stop in try verifyStore(options, stop: stop, onProgress: onProgress) }
    }

    /// ``verifyMigration(from:_:stop:onProgress:)`` for a task.
    ///
    /// - Parameters:
    ///   - source: The store before the migration: a copy, or a restored snapshot.
    ///   - options: The scope of the verification.
    ///   - onProgress: Receives the progress.
    /// - Returns: The differences.
    /// - Throws: ``FerryError`` as ``verifyMigration(from:_:stop:onProgress:)`` does.
    public func verifyMigration(
        from source: URL, _ options: Options = Options(), onProgress: ProgressHook? = nil
    ) async throws -> VerificationSummary {
        try await MigrationThread.run { stop in
            try verifyMigration(from: source, options, stop: stop, onProgress: onProgress)
        }
    }
}
