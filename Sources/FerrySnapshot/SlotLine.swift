internal import Dispatch
internal import FerryBase

/// Passes slots from the caller's thread, which fills them, to a last thread, which takes them in the same order.
///
/// In between, any number of threads may work on the slots, each on the next one that is filled.
///
/// Unchecked, because semaphores order all access: a slot belongs to the filling thread from `free` on, to a working one
/// from `filled` on, to the last one from its own `ready` on. `isWhole` is written while all slots are free, before
/// the other threads are woken for the last time; `problem` and `nextFilled` have their locks.
final class SlotLine<Slot: AnyObject>: @unchecked Sendable {
    private let slots: [Slot]
    // Created with 0: a semaphore must not be freed below its initial value.
    private let free = DispatchSemaphore(value: 0)
    private let filled = DispatchSemaphore(value: 0)
    private let ready: [DispatchSemaphore]
    private let ended = DispatchSemaphore(value: 0)
    private var nextFree = 0
    private let nextFilled = Locked(0)
    private var hasWorkers = false
    /// Whether the body ended without an error; nil until it ends.
    private var isWhole: Bool?
    private let problem = Locked<(any Error)?>(nil)

    init(_ slots: [Slot]) {
        self.slots = slots
        ready = slots.map { _ in DispatchSemaphore(value: 0) }
        for _ in slots { free.signal() }
    }

    /// Runs a body that calls ``fill(_:)``, while the other threads work on the slots and take them; called once.
    ///
    /// After the first failure, neither `workers` nor `take` are called again; `end` runs on the last thread after the
    /// last slot. Where the system gives no thread for some of the workers, the others do their work.
    ///
    /// - Throws: The error of another thread, after all filled slots have gone by; else the body's error.
    func run(
        _ name: String, working workers: [@Sendable (Slot) throws -> Void] = [], filling body: () throws -> Void,
        taking take: @escaping @Sendable (Slot) throws -> Void,
        atEnd end: @escaping @Sendable (_ isWhole: Bool) throws -> Void
    ) throws {
        hasWorkers = !workers.isEmpty
        var started = 0
        var problem: (any Error)?
        var takes = false
        do {
            try WorkThread.start(name) { [self] in takeAll(take, end) }
            takes = true
            for work in workers {
                do {
                    try WorkThread.start(name + "\(started)") { [self] in workOnAll(work) }
                    started += 1
                } catch {
                    if started == 0 { throw error }
                    break
                }
            }
            try body()
        } catch {
            problem = error
        }
        for _ in slots { free.wait() }
        isWhole = problem == nil
        for _ in 0..<started { filled.signal() }
        if takes { ready[nextFree].signal() }
        for _ in 0..<(started + (takes ? 1 : 0)) { ended.wait() }
        for _ in slots { free.signal() }
        if let problem = failure ?? problem { throw problem }
    }

    /// Waits for a slot and fills it.
    ///
    /// - Throws: The error of another thread, or the body's; the slot is then not passed on.
    func fill(_ body: (Slot) throws -> Void) throws {
        free.wait()
        do {
            if let failure { throw failure }
            try body(slots[nextFree])
        } catch {
            free.signal()
            throw error
        }
        (hasWorkers ? filled : ready[nextFree]).signal()
        nextFree = (nextFree + 1) % slots.count
    }

    private func workOnAll(_ work: (Slot) throws -> Void) {
        defer { ended.signal() }
        while true {
            filled.wait()
            if isWhole != nil { return }
            let index = nextFilled.withLock { next in
                defer { next = (next + 1) % slots.count }
                return next
            }
            attempt { try work(slots[index]) }
            ready[index].signal()
        }
    }

    private func takeAll(_ take: (Slot) throws -> Void, _ end: (Bool) throws -> Void) {
        defer { ended.signal() }
        var next = 0
        while true {
            ready[next].wait()
            if let isWhole { return attempt { try end(isWhole) } }
            attempt { try take(slots[next]) }
            next = (next + 1) % slots.count
            free.signal()
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
