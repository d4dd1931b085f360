internal import Dispatch
internal import FerryBase

/// Passes slots from the caller's thread, which fills them, to a second thread, which empties them.
///
/// Unchecked, because semaphores order all access: `isWhole` is written while all slots are free, before the last one
/// is passed on; `problem` has its lock.
final class SlotWorker<Slot: AnyObject>: @unchecked Sendable {
    private let ring: SlotRing<Slot>
    private let ended = DispatchSemaphore(value: 0)
    /// Whether the body ended without an error; nil until it ends.
    private var isWhole: Bool?
    private let problem = Locked<(any Error)?>(nil)

    init(_ slots: [Slot]) { ring = SlotRing(slots) }

    /// Runs a body that calls ``fill(_:)``, while a second thread takes the slots; called once.
    ///
    /// After the first failure, `take` is not called again; `end` runs on the second thread after the last slot.
    ///
    /// - Throws: The second thread's error, after it has taken all filled slots; else the body's error.
    func run(
        _ name: String, filling body: () throws -> Void, taking take: @escaping @Sendable (Slot) throws -> Void,
        atEnd end: @escaping @Sendable (_ isWhole: Bool) throws -> Void
    ) throws {
        try WorkThread.start(name) { [self] in
            while true {
                let slot = ring.filledSlot()
                if let isWhole {
                    attempt { try end(isWhole) }
                    break
                }
                attempt { try take(slot) }
                ring.giveBack()
            }
            ring.giveBack()
            ended.signal()
        }
        var problem: (any Error)?
        do {
            try body()
        } catch {
            problem = error
        }
        ring.whenAllAreFree(butFor: 0) { isWhole = problem == nil }
        _ = ring.freeSlot()
        ring.handOver()
        ended.wait()
        if let problem = failure ?? problem { throw problem }
    }

    /// Waits for a slot and fills it.
    ///
    /// - Throws: The second thread's error, or the body's; the slot is then not passed on.
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

    private var failure: (any Error)? { problem.withLock { $0 } }

    private func attempt(_ body: () throws -> Void) {
        guard failure == nil else { return }
        do {
            try body()
        } catch {
            problem.withLock { $0 = error }
        }
    }
}

/// Writes a file on a second thread; unchecked, because only that thread uses the file.
final class ContentWriter: @unchecked Sendable {
    private final class Slot {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: ArchiveReader.pieceBytes, alignment: 4096)
        var count = 0

        deinit { bytes.deallocate() }
    }

    private var output: OutputFile

    init(_ output: consuming OutputFile) { self.output = output }

    /// Runs the body, which writes pieces of at most ``ArchiveReader/pieceBytes``, and makes them durable; called once.
    ///
    /// - Throws: The body's error, or ``FerryError`` when the file cannot be written.
    func run(_ body: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
        let slots = SlotWorker((0..<3).map { _ in Slot() })
        try slots.run("ferry.restoration") {
            try body { piece in
                try slots.fill { slot in
                    slot.bytes.copyMemory(from: piece)
                    slot.count = piece.count
                }
            }
        } taking: { [self] slot in
            try output.write(UnsafeRawBufferPointer(rebasing: slot.bytes[..<slot.count]))
        } atEnd: { [self] isWhole in
            if isWhole { try output.sync() }
            try output.close()
        }
    }
}
