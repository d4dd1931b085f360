public import FerryBase

/// An event of a running migration; a later version may add more.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum MigrationEvent: Sendable {
    /// The plan that will run, before any change.
    case planned(PlanReport)
    /// A phase begins; `step` counts from 1 and is nil outside of steps.
    case phase(Phase, step: Int?)
    case progress(ProgressUpdate)
    case warning(FerryWarning)
    /// The end of the migration; always the last event.
    case finished(MigrationReport)
}

/// The events of a migration, in order: ``Migrator/run(_:)``.
///
/// Each loop makes a call of its own, on a thread of its own, that begins with the loop. A slow loop also receives the
/// plan, every phase, every warning and the end, in order, and the migration never waits for it. Of successive progress
/// events that the loop has not read, only the latest is kept.
///
/// The loop ends after ``MigrationEvent/finished(_:)``, or throws the migration's error. A cancelled task requests a
/// stop, and its loop ends only when all work has ended. Leaving a loop early requests a stop too, but cannot wait for
/// the end of the work: ``Migrator/migrate(_:progress:onEvent:)`` does.
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

    /// One call of the migration, which lasts at most as long as the loop.
    fileprivate final class Call: Sendable {
        private let queue = EventQueue()
        private let stop = StopRequest()

        init(_ migrator: Migrator, _ configuration: Configuration) {
            // The thread must not retain this object, whose deinit requests a stop.
            MigrationThread.start { [queue, stop] in
                _ = try migrator.migrate(configuration, stop: stop) { queue.put($0) }
            } then: { [queue] in
                queue.end($0)
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

/// Events between the migration's thread and the one task that reads them.
///
/// Successive progress events become one, so that at most twice as many events are kept as there are phases and
/// warnings, however slow the reader is.
package final class EventQueue: Sendable {
    private struct State {
        var events: [MigrationEvent] = []
        var reader: CheckedContinuation<MigrationEvent?, any Error>?
        /// The result of the call; the reader takes it after the last event.
        var end: Result<Void, any Error>?
    }

    private let state = Locked(State())

    package init() {}

    package func put(_ event: MigrationEvent) {
        let reader = state.withLock { state -> CheckedContinuation<MigrationEvent?, any Error>? in
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            if case .progress = event, case .progress? = state.events.last { state.events.removeLast() }
            state.events.append(event)
            return nil
        }
        reader?.resume(returning: event)
    }

    package func end(_ result: Result<Void, any Error>) {
        let reader = state.withLock { state -> CheckedContinuation<MigrationEvent?, any Error>? in
            guard let reader = state.reader else {
                state.end = result
                return nil
            }
            state.reader = nil
            state.end = .success(())
            return reader
        }
        reader?.resume(with: result.map { nil })
    }

    /// The next event; nil after the end, which is thrown once if it was an error.
    package func next() async throws -> MigrationEvent? {
        try await withCheckedThrowingContinuation { continuation in
            let ready = state.withLock { state -> Result<MigrationEvent?, any Error>? in
                precondition(state.reader == nil, "events are read by one task at a time")
                if !state.events.isEmpty { return .success(state.events.removeFirst()) }
                if let end = state.end {
                    state.end = .success(())
                    return end.map { nil }
                }
                state.reader = continuation
                return nil
            }
            if let ready { continuation.resume(with: ready) }
        }
    }
}
