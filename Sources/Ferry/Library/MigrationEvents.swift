public import FerryBase

/// What a running migration tells; there may be more in a later version.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum MigrationEvent: Sendable {
    /// The plan that will run, before anything is touched.
    case planned(PlanReport)
    /// A phase begins; `step` counts from 1 and is nil outside of steps.
    case phase(Phase, step: Int?)
    case progress(ProgressUpdate)
    case warning(FerryWarning)
    /// Everything is done; always the last event.
    case finished(MigrationReport)
}

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

/// Events between the thread that migrates and the one task that reads them.
///
/// Events that follow one another and are progress become one, so that no more are kept than twice the number of phases
/// and warnings, however slow the reader.
package final class EventQueue: Sendable {
    private struct State {
        var events: [MigrationEvent] = []
        var reader: CheckedContinuation<MigrationEvent?, any Error>?
        /// How the call ended; taken by the reader after the last event.
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
