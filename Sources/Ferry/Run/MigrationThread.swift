internal import FerryBase

/// The threads on which migrations run that are not to block the caller's.
///
/// Not the threads of tasks: there are only as many as processors, and none may wait for a disk.
enum MigrationThread {
    /// Runs a body on a thread of its own while the task waits.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            start({ try body() }, then: { continuation.resume(with: $0) })
        }
    }

    /// Runs a body on a thread of its own, and tells how it ended, also where the system makes no thread.
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
    /// What a cancelled task, or a `Progress` that was cancelled, stops a run with.
    static var cancelled: FerryError {
        FerryError(
            .interrupted, "The migration was cancelled; what is done so far is kept.",
            remedy: "\(action: .again) to go on, or with \(on: .restart) to begin again.", cause: CancellationError())
    }
}
