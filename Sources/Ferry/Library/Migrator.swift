public import FerryBase

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Migrates one store.
public struct Migrator: Sendable {
    public let store: URL

    public init(store: URL, models: [ModelSource], mappings: [MappingSource] = []) throws {
        self.store = store
    }

    /// Finds the version of the store.
    public func identify() throws -> Identification { preconditionFailure("not here yet") }

    /// What ``run(_:)`` would do; what keeps it from running stands in the refusals.
    ///
    /// - Parameter checksRows: Whether the scans of preflight run too.
    public func plan(_ configuration: Configuration = Configuration(), checksRows: Bool = false) throws -> PlanReport {
        preconditionFailure("not here yet")
    }

    /// Runs the migration on the calling thread.
    public func migrate(
        _ configuration: Configuration = Configuration(), stop: StopRequest = StopRequest(),
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) throws -> MigrationReport { preconditionFailure("not here yet") }

    /// Runs the migration on a thread of its own; cancelling the task stops it after the current unit.
    public func run(_ configuration: Configuration = Configuration()) -> AsyncThrowingStream<MigrationEvent, any Error>
    {
        preconditionFailure("not here yet")
    }
}

/// What can be done with a store without its models.
public struct StoreFiles: Sendable {
    public let store: URL

    public init(_ store: URL) { self.store = store }

    /// The state of the run in the store's run folder.
    public func status() throws -> RunStatus { preconditionFailure("not here yet") }

    /// Puts a verified snapshot back in the place of the store; the newest without a name.
    public func rollback(to snapshot: URL? = nil, folder: URL? = nil, trace: TraceHook? = nil) throws -> RollbackReport
    {
        preconditionFailure("not here yet")
    }

    public func snapshots(in folder: URL? = nil) throws -> [SnapshotEntry] { preconditionFailure("not here yet") }

    public func createSnapshot(
        in folder: URL? = nil, level: Int = 1, stop: StopRequest = StopRequest(),
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) throws -> SnapshotEntry { preconditionFailure("not here yet") }

    /// Reads archives again and compares them with their manifests; all of the folder's without a name.
    public func verifySnapshots(_ snapshot: URL? = nil, in folder: URL? = nil) throws -> [SnapshotEntry] {
        preconditionFailure("not here yet")
    }

    /// Writes the store that a snapshot holds to a path where nothing is yet.
    public func restoreSnapshot(_ snapshot: URL? = nil, in folder: URL? = nil, to output: URL) throws -> SnapshotEntry {
        preconditionFailure("not here yet")
    }
}
