internal import Dispatch

/// Slots that go round between two threads: one fills them, the other uses what they hold.
///
/// Memory is that of the slots, however far one thread is ahead of the other.
///
/// Unchecked, because semaphores make it true: a slot and `nextFree` belong to the thread that fills from `free` to
/// `filled`, a slot and `nextFilled` to the thread that uses from `filled` to `free`.
package final class SlotRing<Slot: AnyObject>: @unchecked Sendable {
    private let slots: [Slot]
    private let free: DispatchSemaphore
    private let filled = DispatchSemaphore(value: 0)
    private var nextFree = 0
    private var nextFilled = 0

    package init(_ slots: [Slot]) {
        self.slots = slots
        // Raised afterwards: a semaphore must not be freed below the value that it was created with.
        free = DispatchSemaphore(value: 0)
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
    ///
    /// - Parameters:
    ///   - held: How many the filling thread has.
    ///   - body: Is run meanwhile.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
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
