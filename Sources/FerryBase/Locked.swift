internal import Foundation

/// A value that one thread at a time may use.
///
/// Not `Mutex` of the standard library: that needs the systems of 2024 on Apple's platforms, and on Linux the thread
/// sanitizer does not see it and reports what it protects as races.
///
/// Unchecked, because the value is only reached under the lock.
package final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    private let lock = NSLock()

    package init(_ value: sending Value) { self.value = value }

    /// Gives the value to the body while no other thread has it.
    ///
    /// The body must not come back to the same lock.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
