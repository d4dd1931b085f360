internal import CSystem
internal import Dispatch
internal import Foundation

/// Threads with a fixed stack size.
///
/// Default stacks have 512 KiB on Darwin and 128 KiB with musl, but all depth limits assume a main thread's 8 MiB.
package enum WorkThread {
    /// The size that every depth limit assumes; a thread uses memory only for the touched part.
    private static let stackBytes = 8 << 20

    /// Runs the body on a new detached thread; debuggers show the first 15 bytes of its name.
    ///
    /// - Throws: ``FerryError`` `.outOfMemory` if the system creates no thread; the body does not run then.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(FerryError) {
        let work = Unmanaged.passRetained(Body(run: body))
        let code = ferry_start_thread(
            name, stackBytes,
            { context in
                guard let context else { preconditionFailure("a thread is started with its work") }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw FerryError(
                .outOfMemory, "The system cannot create another thread: \(SystemError(code)).",
                remedy: "Close other programs, or raise the limit on threads (ulimit -u), and \(action: .again).",
                cause: SystemError(code))
        }
    }

    /// The least free stack of a body in ``withStack(_:)``: a quarter of a ``WorkThread``'s.
    private static let leastStackBytes = 2 << 20

    /// Runs a body that needs a deep stack on the calling thread, or, without enough stack, on a new thread.
    ///
    /// On Darwin, threads of queues and tasks have 512 KiB.
    package static func withStack<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if ferry_stack_left() >= leastStackBytes { return try body() }
        return try onThread(body)
    }

    private static func onThread<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outcome: Swift.Result<Result, Failure>? = withoutActuallyEscaping(
            {
                do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
            } as () -> Swift.Result<Result, Failure>
        ) { body in
            let call = PassedCall(body)
            do throws(FerryError) {
                try start("ferry") { call.run() }
            } catch {
                return nil
            }
            call.done.wait()
            return call.outcome
        }
        guard let outcome else {
            // Without a new thread, the calling one is enough for most inputs.
            return try body()
        }
        return try outcome.get()
    }

    /// A closure and its result, passed between two threads.
    ///
    /// Unchecked: by the semaphore, the calling thread waits while the other one uses the object.
    private final class PassedCall<Outcome>: @unchecked Sendable {
        private var body: (() -> Outcome)?
        private(set) var outcome: Outcome?
        let done = DispatchSemaphore(value: 0)

        init(_ body: @escaping () -> Outcome) { self.body = body }

        func run() {
            outcome = body?()
            // The closure must not outlive the caller's scope.
            body = nil
            done.signal()
        }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

/// A ring of slots between two threads: one fills the slots, the other uses their content.
///
/// The slots bound the memory, also if one thread is much faster.
///
/// Unchecked: by the semaphores, a slot and `nextFree` belong to the filling thread between `free` and `filled`, a slot
/// and `nextFilled` to the using thread between `filled` and `free`.
package final class SlotRing<Slot: AnyObject>: @unchecked Sendable {
    private let slots: [Slot]
    // Created with 0: a semaphore must not be freed below its initial value.
    private let free = DispatchSemaphore(value: 0)
    private let filled = DispatchSemaphore(value: 0)
    private var nextFree = 0
    private var nextFilled = 0

    package init(_ slots: [Slot]) {
        self.slots = slots
        for _ in slots { free.signal() }
    }

    // MARK: The filling thread

    /// Waits for a free slot; ``handOver()`` or ``keepFree()`` must follow.
    package func freeSlot() -> Slot {
        free.wait()
        return slots[nextFree]
    }

    /// Passes the last result of ``freeSlot()`` to the using thread.
    package func handOver() {
        nextFree = (nextFree + 1) % slots.count
        filled.signal()
    }

    /// Marks the last result of ``freeSlot()`` as free.
    package func keepFree() { free.signal() }

    /// Waits until all slots but those of the filling thread are free, and runs the body before their next use.
    package func whenAllAreFree<Result>(butFor held: Int, _ body: () throws -> Result) rethrows -> Result {
        for _ in held..<slots.count { free.wait() }
        defer { for _ in held..<slots.count { free.signal() } }
        return try body()
    }

    // MARK: The using thread

    /// Waits for the next filled slot; ``giveBack()`` must follow.
    package func filledSlot() -> Slot {
        filled.wait()
        defer { nextFilled = (nextFilled + 1) % slots.count }
        return slots[nextFilled]
    }

    /// Returns the oldest slot of ``filledSlot()`` to the filling thread.
    package func giveBack() { free.signal() }
}

/// A value under a lock.
///
/// `Mutex` needs the systems of 2024 on Apple's platforms, and the thread sanitizer reports false races on Linux.
///
/// A function must be a member of a structure: as a value of its own, alone, in a tuple or an optional, each access would
/// wrap it once more.
///
/// Unchecked: all access to the value is under the lock.
package final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    private let lock = NSLock()

    package init(_ value: sending Value) { self.value = value }

    /// Runs the body with the value under the lock, which the body must not take again.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
