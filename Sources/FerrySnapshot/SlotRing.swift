internal import Dispatch
internal import FerryBase

/// Slots that go round between two threads: the caller's fills them, a second one takes what they hold.
///
/// Memory is that of the slots, however far one thread is ahead of the other.
///
/// Unchecked, because semaphores make it true: a slot belongs to the first thread from `free` to `filled` and to the
/// second from `filled` to `free`; `isEnding` is written when all slots are free, before the last `filled`;
/// `problem` has its lock.
final class SlotRing<Slot: AnyObject>: @unchecked Sendable {
    private let slots: [Slot]
    private let free: DispatchSemaphore
    private let filled = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private var nextFree = 0
    private var isEnding = false
    private let problem = Locked<(any Error)?>(nil)

    init(_ slots: [Slot]) {
        self.slots = slots
        // Raised afterwards: a semaphore must not be freed below the value that it was created with.
        free = DispatchSemaphore(value: 0)
        for _ in slots { free.signal() }
    }

    // MARK: The first thread

    /// Begins the second thread, which runs the body to its end; the body calls ``take(_:atEnd:)``.
    func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(FerryError) {
        try WorkThread.start(name, body)
    }

    /// Waits for a slot and fills it.
    ///
    /// - Throws: What failed on the second thread, or what the body throws; the slot is then not handed over.
    func fill(_ body: (Slot) throws -> Void) throws {
        free.wait()
        do {
            if let failure { throw failure }
            try body(slots[nextFree])
        } catch {
            free.signal()
            throw error
        }
        nextFree = (nextFree + 1) % slots.count
        filled.signal()
    }

    /// Waits until all that was handed over is taken and the second thread is done; called once.
    ///
    /// - Throws: What failed on the second thread.
    func finish() throws {
        for _ in slots { free.wait() }
        isEnding = true
        filled.signal()
        ended.wait()
        if let failure { throw failure }
    }

    private var failure: (any Error)? { problem.withLock { $0 } }

    // MARK: The second thread

    /// Takes slot by slot until there are no more; after the first failure they are passed over.
    func take(_ body: (Slot) throws -> Void, atEnd end: () throws -> Void) {
        var next = 0
        while true {
            filled.wait()
            if isEnding { break }
            attempt { try body(slots[next]) }
            next = (next + 1) % slots.count
            free.signal()
        }
        attempt(end)
        ended.signal()
    }

    private func attempt(_ body: () throws -> Void) {
        guard failure == nil else { return }
        do {
            try body()
        } catch {
            problem.withLock { $0 = error }
        }
    }
}
