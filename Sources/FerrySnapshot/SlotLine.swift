internal import Dispatch
internal import FerryBase
internal import Foundation

/// Passes slots from the caller's thread, which fills them, to a last thread, which takes them in the same order.
///
/// In between, several threads may work on the slots, each on the next one that is filled.
///
/// Unchecked, because semaphores order all access: a slot belongs to the filling thread until it is handed over, to a
/// working one until it is ready, then to the last one until it is given back. `problem` has its lock.
final class SlotLine<Slot: AnyObject>: @unchecked Sendable {
    private final class Place {
        let slot: Slot
        let isReady = DispatchSemaphore(value: 0)
        /// Whether the body ended without an error, at the end of the line; nil before.
        var isWhole: Bool?

        init(_ slot: Slot) { self.slot = slot }
    }

    private let ring: SlotRing<Place>
    private let workers = OperationQueue()
    private let work: (@Sendable (Slot) throws -> Void)?
    private let ended = DispatchSemaphore(value: 0)
    private let problem = Locked<(any Error)?>(nil)

    /// `work` runs on at most so many slots at a time.
    init(_ slots: [Slot], workers count: Int = 1, working work: (@Sendable (Slot) throws -> Void)? = nil) {
        ring = SlotRing(slots.map(Place.init))
        workers.maxConcurrentOperationCount = count
        self.work = work
    }

    /// Runs a body that calls ``fill(_:)``, while other threads work on the slots and take them; called once.
    ///
    /// After the first failure, neither work nor `take` are called again; `end` runs on the last thread after the last
    /// slot.
    ///
    /// - Throws: The error of another thread, after all filled slots have gone by; else the body's error.
    func run(
        _ name: String, filling body: () throws -> Void, taking take: @escaping @Sendable (Slot) throws -> Void,
        atEnd end: @escaping @Sendable (_ isWhole: Bool) throws -> Void
    ) throws {
        try WorkThread.start(name) { [self] in takeAll(take, end) }
        var problem: (any Error)?
        do { try body() } catch { problem = error }
        let place = ring.freeSlot()
        place.isWhole = problem == nil
        place.isReady.signal()
        ring.handOver()
        ended.wait()
        if let problem = failure ?? problem { throw problem }
    }

    /// Waits for a slot and fills it.
    ///
    /// - Throws: The error of another thread, or the body's; the slot is then not passed on.
    func fill(_ body: (Slot) throws -> Void) throws {
        let place = ring.freeSlot()
        do {
            if let failure { throw failure }
            try body(place.slot)
        } catch {
            ring.keepFree()
            throw error
        }
        ring.handOver()
        guard let work else {
            place.isReady.signal()
            return
        }
        nonisolated(unsafe) let filled = place
        workers.addOperation { [self] in
            attempt { try work(filled.slot) }
            filled.isReady.signal()
        }
    }

    private func takeAll(_ take: (Slot) throws -> Void, _ end: (Bool) throws -> Void) {
        defer { ended.signal() }
        while true {
            let place = ring.filledSlot()
            place.isReady.wait()
            if let isWhole = place.isWhole { return attempt { try end(isWhole) } }
            attempt { try take(place.slot) }
            ring.giveBack()
        }
    }

    private var failure: (any Error)? { problem.withLock { $0 } }

    private func attempt(_ body: () throws -> Void) {
        guard failure == nil else { return }
        do {
            try body()
        } catch {
            problem.withLock { if $0 == nil { $0 = error } }
        }
    }
}
