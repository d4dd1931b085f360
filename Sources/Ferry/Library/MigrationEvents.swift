internal import FerryBase

/// What a migration tells, one event after another: ``Migrator/run(_:)``.
///
/// Each loop over it is a call of its own, on a thread of its own, that begins with the loop. However slow the loop is, it
/// gets the plan, every phase, every warning and the end, in their order, and the migration never waits for it; of
/// progress that was not asked for in time only the latest of a row is kept.
///
/// The loop ends after ``MigrationEvent/finished(_:)``, or throws what the migration threw. A task that is cancelled asks
/// for a stop, and its loop ends only when nothing is at work any more. A loop that is left early asks for a stop as well,
/// but cannot wait for it: ``Migrator/migrate(_:progress:onEvent:)`` does.
public struct MigrationEvents: AsyncSequence, Sendable {
    public typealias Element = MigrationEvent

    private let migrator: Migrator
    private let configuration: Configuration

    init(_ migrator: Migrator, _ configuration: Configuration) {
        self.migrator = migrator
        self.configuration = configuration
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(Call(migrator, configuration)) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let call: Call

        fileprivate init(_ call: Call) { self.call = call }

        /// - Throws: ``FerryError`` as ``Migrator/migrate(_:progress:onEvent:)`` does.
        public mutating func next() async throws -> MigrationEvent? { try await call.next() }
    }

    /// One call, for as long as a loop wants to hear of it.
    fileprivate final class Call: Sendable {
        private let queue = EventQueue()
        private let stop = StopRequest()

        init(_ migrator: Migrator, _ configuration: Configuration) {
            // What the thread holds must not hold this, whose end asks for a stop.
            MigrationThread.start { [queue, stop] in
                queue.end(Result { _ = try migrator.migrate(configuration, stop: stop) { queue.put($0) } })
            }
        }

        deinit { stop.request(.cancelled) }

        func next() async throws -> MigrationEvent? {
            try await withTaskCancellationHandler {
                try await queue.next()
            } onCancel: {
                stop.request(.cancelled)
            }
        }
    }
}
