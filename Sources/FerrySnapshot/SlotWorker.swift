internal import Dispatch
internal import FerryBase

/// Hands slots that the caller's thread fills to a second thread, which takes what they hold.
///
/// Unchecked, because semaphores make it true: `isEnding` is written when all slots are free, before the last one is
/// handed over; `problem` has its lock.
final class SlotWorker<Slot: AnyObject>: @unchecked Sendable {
    private let ring: SlotRing<Slot>
    private let ended = DispatchSemaphore(value: 0)
    private var isEnding = false
    private let problem = Locked<(any Error)?>(nil)

    init(_ slots: [Slot]) { ring = SlotRing(slots) }

    // MARK: The first thread

    /// Begins the second thread, which runs the body to its end; the body calls ``take(_:atEnd:)``.
    func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(FerryError) {
        try WorkThread.start(name, body)
    }

    /// Waits for a slot and fills it.
    ///
    /// - Throws: What failed on the second thread, or what the body throws; the slot is then not handed over.
    func fill(_ body: (Slot) throws -> Void) throws {
        let slot = ring.freeSlot()
        do {
            if let failure { throw failure }
            try body(slot)
        } catch {
            ring.keepFree()
            throw error
        }
        ring.handOver()
    }

    /// Waits until all that was handed over is taken and the second thread is done; called once.
    ///
    /// - Throws: What failed on the second thread.
    func finish() throws {
        ring.whenAllAreFree(butFor: 0) { isEnding = true }
        _ = ring.freeSlot()
        ring.handOver()
        ended.wait()
        if let failure { throw failure }
    }

    private var failure: (any Error)? { problem.withLock { $0 } }

    // MARK: The second thread

    /// Takes slot by slot until there are no more; after the first failure they are passed over.
    func take(_ body: (Slot) throws -> Void, atEnd end: () throws -> Void) {
        while true {
            let slot = ring.filledSlot()
            if isEnding { break }
            attempt { try body(slot) }
            ring.giveBack()
        }
        attempt(end)
        ring.giveBack()
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
