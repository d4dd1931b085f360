internal import Dispatch
internal import FerryBase
internal import Foundation

/// A thread with a stack as small as that of an app's queues and tasks on Darwin.
package enum SmallThread {
    /// Runs a body on such a thread and waits for it.
    package static func run<Outcome: Sendable>(_ body: @escaping @Sendable () throws -> Outcome) throws -> Outcome {
        let (done, outcome) = (DispatchSemaphore(value: 0), Locked<Result<Outcome, any Error>?>(nil))
        let thread = Thread {
            let result = Result { try body() }
            outcome.withLock { $0 = result }
            done.signal()
        }
        thread.stackSize = 512 << 10
        thread.start()
        done.wait()
        guard let result = outcome.withLock({ $0 }) else { preconditionFailure("the thread has run") }
        return try result.get()
    }
}
