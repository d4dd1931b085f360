internal import FerryBase
// `Progress` stands in no smaller part of Foundation.
public import Foundation

extension Migrator {
    /// Runs the migration on a thread of its own, and returns when nothing of it is at work any more.
    ///
    /// A task that is cancelled ends within one chunk, with ``FerryError`` `.interrupted`, whose cause is a
    /// `CancellationError`; the run stays resumable, and the next call goes on with it. In a task that is cancelled
    /// already nothing is begun.
    ///
    /// - Parameters:
    ///   - configuration: How it runs.
    ///   - progress: Is told how much is done; when it is cancelled, the run stops as if the task were.
    ///   - onEvent: Receives every event, on the migration's thread.
    /// - Returns: What was done, or that there was nothing to do.
    /// - Throws: ``FerryError`` as ``migrate(_:stop:onEvent:)`` does.
    public func migrate(
        _ configuration: Configuration = Configuration(), progress: Progress? = nil,
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) async throws -> MigrationReport {
        let stop = StopRequest()
        let follower = progress.map { ProgressFollower($0, stop: stop) }
        return try await withTaskCancellationHandler {
            try await MigrationThread.run {
                defer { follower?.end() }
                return try migrate(configuration, stop: stop) { event in
                    onEvent(event)
                    follower?.take(event)
                }
            }
        } onCancel: {
            stop.request(.cancelled)
        }
    }

    /// Runs the migration while its events are looped over.
    public func run(_ configuration: Configuration = Configuration()) -> MigrationEvents {
        MigrationEvents(self, configuration)
    }
}
