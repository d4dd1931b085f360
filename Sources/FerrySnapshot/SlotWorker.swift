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

/// Writes a file on a second thread, while the caller's makes its content.
///
/// Unchecked, because the ring makes it true: the file is used by the second thread alone.
final class ContentWriter: @unchecked Sendable {
    private final class Slot {
        let bytes: UnsafeMutableRawBufferPointer
        var count = 0

        init() { bytes = .allocate(byteCount: ArchiveReader.pieceBytes, alignment: 4096) }

        deinit { bytes.deallocate() }
    }

    private let slots = SlotWorker((0..<3).map { _ in Slot() })
    private var output: OutputFile

    init(_ output: consuming OutputFile) { self.output = output }

    /// Runs the body, and makes durable what it writes; called once.
    ///
    /// - Parameter body: Gets the function that takes a piece of the content, of at most ``ArchiveReader/pieceBytes``.
    /// - Throws: What the body throws, or ``FerryError`` when the file cannot be written.
    func run(_ body: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
        try slots.start("ferry.restoration") { self.write() }
        do {
            try body { piece in
                try slots.fill { slot in
                    slot.bytes.copyMemory(from: piece)
                    slot.count = piece.count
                }
            }
        } catch {
            isWhole = false
            try slots.finish()
            throw error
        }
        try slots.finish()
    }

    /// Whether what was handed over is all; written before the ring's end.
    private var isWhole = true

    private func write() {
        slots.take {
            try output.write(UnsafeRawBufferPointer(rebasing: $0.bytes[..<$0.count]))
        } atEnd: {
            if isWhole { try output.sync() }
            try output.close()
        }
    }
}
