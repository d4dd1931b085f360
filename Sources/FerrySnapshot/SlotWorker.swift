internal import Dispatch
internal import FerryBase

/// Hands slots that the caller's thread fills to a second thread, which takes what they hold.
///
/// Unchecked, because semaphores make it true: `isWhole` is written when all slots are free, before the last one is
/// handed over; `problem` has its lock.
final class SlotWorker<Slot: AnyObject>: @unchecked Sendable {
    private let ring: SlotRing<Slot>
    private let ended = DispatchSemaphore(value: 0)
    /// Whether what was handed over is all that was to be; nil until no more comes.
    private var isWhole: Bool?
    private let problem = Locked<(any Error)?>(nil)

    init(_ slots: [Slot]) { ring = SlotRing(slots) }

    /// Runs a body that fills slots, while a second thread takes them; called once.
    ///
    /// - Parameters:
    ///   - name: Of the second thread.
    ///   - body: Calls ``fill(_:)``.
    ///   - take: Takes slot by slot on the second thread; after the first failure they are passed over.
    ///   - end: Is called there behind the last one, and told whether the body came to its end.
    /// - Throws: What failed on the second thread, which takes all that was handed over first; else what the body throws.
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

/// Writes a file on a second thread, while the caller's makes its content.
///
/// Unchecked, because the ring makes it true: the file is used by the second thread alone.
final class ContentWriter: @unchecked Sendable {
    private final class Slot {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: ArchiveReader.pieceBytes, alignment: 4096)
        var count = 0

        deinit { bytes.deallocate() }
    }

    private var output: OutputFile

    init(_ output: consuming OutputFile) { self.output = output }

    /// Runs the body, and makes durable what it writes; called once.
    ///
    /// - Parameter body: Gets the function that takes a piece of the content, of at most ``ArchiveReader/pieceBytes``.
    /// - Throws: What the body throws, or ``FerryError`` when the file cannot be written.
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
