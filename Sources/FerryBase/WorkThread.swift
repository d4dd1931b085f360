internal import CSystem
internal import Dispatch
internal import Foundation

/// Threads of ours.
///
/// Each gets a stack of one size on every system. The system's own are 512 KiB on Darwin and 128 KiB with musl, while
/// expressions, SQL and archives are read as deep as on a main thread of 8 MiB.
package enum WorkThread {
    /// What every limit of depth is made for, and a thread costs only as much of it as it uses.
    private static let stackBytes = 8 << 20

    /// Runs the body on a new thread that nothing waits for; of its name, which is for debuggers, 15 bytes count.
    ///
    /// - Throws: ``FerryError`` `.outOfMemory` when the system makes no thread; the body is not run then.
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
                .outOfMemory, "The system makes no further thread: \(SystemError(code)).",
                remedy: "Close other programs, or raise the limit on threads (ulimit -u), and \(action: .again).",
                cause: SystemError(code))
        }
    }

    /// What the body of ``withStack(_:)`` finds at least: a quarter of what a thread of ours has.
    private static let leastStackBytes = 2 << 20

    /// Runs a body that limits of depth are made for: on the calling thread, or, where that has too little stack for it,
    /// on one of ours while the calling thread waits.
    ///
    /// An app may call from a thread of 512 KiB, as those of its queues and tasks are on Darwin.
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
            let handed = Handed(body)
            do throws(FerryError) {
                try start("ferry") { handed.run() }
            } catch {
                return nil
            }
            handed.done.wait()
            return handed.outcome
        }
        guard let outcome else {
            // Without a further thread the calling one has to do, as it does for most inputs.
            return try body()
        }
        return try outcome.get()
    }

    /// Work and its outcome on their way between two threads.
    ///
    /// Unchecked, because the semaphore makes it true: the calling thread waits while the other one uses it.
    private final class Handed<Outcome>: @unchecked Sendable {
        private var body: (() -> Outcome)?
        private(set) var outcome: Outcome?
        let done = DispatchSemaphore(value: 0)

        init(_ body: @escaping () -> Outcome) { self.body = body }

        func run() {
            outcome = body?()
            // It must not outlive the call that it belongs to.
            body = nil
            done.signal()
        }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

/// Slots that go round between two threads: one fills them, the other uses what they hold.
///
/// Memory is that of the slots, however far one thread is ahead of the other.
///
/// Unchecked, because semaphores make it true: a slot and `nextFree` belong to the thread that fills from `free` to
/// `filled`, a slot and `nextFilled` to the thread that uses from `filled` to `free`.
package final class SlotRing<Slot: AnyObject>: @unchecked Sendable {
    private let slots: [Slot]
    // Raised afterwards: a semaphore must not be freed below the value that it was created with.
    private let free = DispatchSemaphore(value: 0)
    private let filled = DispatchSemaphore(value: 0)
    private var nextFree = 0
    private var nextFilled = 0

    package init(_ slots: [Slot]) {
        self.slots = slots
        for _ in slots { free.signal() }
    }

    // MARK: The thread that fills

    /// Waits for a slot; it is to be handed over or kept free.
    package func freeSlot() -> Slot {
        free.wait()
        return slots[nextFree]
    }

    /// Hands the slot over that ``freeSlot()`` gave last.
    package func handOver() {
        nextFree = (nextFree + 1) % slots.count
        filled.signal()
    }

    /// Lets the slot that ``freeSlot()`` gave last stay free.
    package func keepFree() { free.signal() }

    /// Waits until all slots are free but those that the filling thread has, and runs the body before any is used again.
    package func whenAllAreFree<Result>(butFor held: Int, _ body: () throws -> Result) rethrows -> Result {
        for _ in held..<slots.count { free.wait() }
        defer { for _ in held..<slots.count { free.signal() } }
        return try body()
    }

    // MARK: The thread that uses

    /// Waits for the next slot that is filled; it is to be given back.
    package func filledSlot() -> Slot {
        filled.wait()
        defer { nextFilled = (nextFilled + 1) % slots.count }
        return slots[nextFilled]
    }

    /// Gives the oldest slot back that ``filledSlot()`` gave.
    package func giveBack() { free.signal() }
}

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
