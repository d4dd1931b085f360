internal import FerryBase

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
