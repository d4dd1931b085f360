internal import Dispatch
internal import FerryBase
internal import FerryPlan
internal import FerrySQLite

/// The thread that reads the rows of one entity mapping on its own connection, ahead of the thread that writes.
///
/// A fixed number of buffers bounds the memory. A row larger than a buffer is delivered alone, with no other in use.
///
/// `@unchecked Sendable` holds by the ring and two semaphores: `order` belongs to the writer until it signals
/// `ordered`, then to the reader until the last slot; `reader` is the reader's from the thread's start until `ended`.
final class ReadAheadThread: @unchecked Sendable {
    /// A message from the reader to the writer.
    enum Delivery {
        case rows(PackedRows)
        case end
        /// The reader's error, and the error of one of our SQL functions, if that was the cause.
        case failure(DatabaseError, functionError: (any Error)?)
    }

    private final class Slot {
        let rows: PackedRows
        var delivery = Delivery.end

        init(cells: Int) { rows = PackedRows(cells: cells, capacity: ReadAheadThread.bufferBytes) }
    }

    private enum Order { case read(KeyRange), end }

    /// Three, so that neither of two equally fast threads waits.
    private static let slotCount = 3
    /// Large enough that the threads seldom wake each other, small enough for the processor's caches.
    static let bufferBytes = 128 << 10

    private var reader: RowReader?
    private var order = Order.end
    private let ordered = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let ring: SlotRing<Slot>
    private var taken: Slot?
    private var hasStarted = false

    /// Nil if the statement reads more than the source: only the writer's connection can run it then.
    init?(_ plan: RowPlan, in context: StepContext) throws {
        let connection = try context.openSource()
        do {
            reader = try RowReader(plan, on: connection, now: context.options.now)
        } catch let error as DatabaseError where error.isInSQL {
            return nil
        }
        // A policy holds the values that it reads, so none is left out.
        connection.limit(.length, context.options.wholeValueBytes)
        ring = SlotRing((0..<Self.slotCount).map { _ in Slot(cells: plan.cellCount) })
    }

    // MARK: The writer

    /// Orders the rows of a range, after the end of the former order; throws ``FerryError`` if no thread starts.
    func read(_ range: KeyRange) throws {
        if !hasStarted {
            try WorkThread.start("ferry.rows") { [self] in run() }
            hasStarted = true
        }
        order = .read(range)
        ordered.signal()
    }

    /// Waits for the next message; give back its rows before the next call.
    func take() -> Delivery {
        let slot = ring.filledSlot()
        let delivery = slot.delivery
        if case .rows = delivery { taken = slot } else { ring.giveBack() }
        return delivery
    }

    func giveBack() {
        taken?.rows.removeAll()
        taken = nil
        ring.giveBack()
    }

    /// Ends the thread and closes its connection; `isReading` says that an order is unfinished, whose rows are discarded.
    func end(isReading: Bool) {
        guard hasStarted else { return }
        if isReading { while case .rows = take() { giveBack() } }
        order = .end
        ordered.signal()
        ended.wait()
    }

    // MARK: The reader

    private func run() {
        while true {
            ordered.wait()
            guard case .read(let range) = order else { break }
            let end = deliver(range)
            // A slot is always free for this: the writer takes all others.
            handOver(ring.freeSlot(), end)
        }
        reader = nil
        ended.signal()
    }

    private func deliver(_ range: KeyRange) -> Delivery {
        guard let reader else { return .end }
        defer { reader.select.reset() }
        do {
            try reader.select.bind(range)
            try read(reader)
            return .end
        } catch {
            return .failure(error, functionError: reader.select.connection.takeFunctionError())
        }
    }

    private func read(_ reader: RowReader) throws(DatabaseError) {
        var slot = ring.freeSlot()
        // Delivers or returns the slot, after an error too.
        defer {
            if slot.rows.isEmpty {
                slot.rows.removeAll()
                ring.keepFree()
            } else {
                handOver(slot, .rows(slot.rows))
            }
        }
        while try reader.select.step() {
            if reader.pack(into: slot.rows) { continue }
            if !slot.rows.isEmpty {
                handOver(slot, .rows(slot.rows))
                slot = ring.freeSlot()
                if reader.pack(into: slot.rows) { continue }
            }
            packAlone(reader, into: slot)
            handOver(slot, .rows(slot.rows))
            slot = ring.freeSlot()
        }
    }

    /// Packs a row that is larger than a buffer, once all other slots are free.
    private func packAlone(_ reader: RowReader, into slot: Slot) {
        ring.whenAllAreFree(butFor: 1) {
            repeat { slot.rows.grow() } while !reader.pack(into: slot.rows)
        }
    }

    private func handOver(_ slot: Slot, _ delivery: Delivery) {
        slot.delivery = delivery
        ring.handOver()
    }
}
