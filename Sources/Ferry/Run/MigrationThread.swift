internal import FerryBase
internal import Foundation

/// The threads on which migrations run that are not to block the caller's.
///
/// Not the threads of tasks: there are only as many as processors, and none may wait for a disk.
enum MigrationThread {
    /// As large as a main thread's, which the same work has when the caller lends its own.
    private static let stackBytes = 8 << 20

    static func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread {
            // Only the thread itself can give itself a name on every system.
            Thread.current.name = "ferry.migration"
            body()
        }
        thread.stackSize = stackBytes
        thread.start()
    }

    /// Runs a body on a thread of its own while the task waits.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result(catching: body)) }
        }
    }
}

extension FerryError {
    /// What a cancelled task, or a `Progress` that was cancelled, stops a run with.
    static var cancelled: FerryError {
        FerryError(
            .interrupted, "The migration was cancelled; what is done so far is kept.",
            remedy: "Run it again to go on, or anew to begin again.", cause: CancellationError())
    }
}
