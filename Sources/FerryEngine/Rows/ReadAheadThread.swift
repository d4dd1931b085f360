internal import Dispatch
internal import FerryBase
internal import FerrySQLite

/// The thread that reads the rows of one entity mapping on a connection of its own, ahead of the thread that writes them.
///
/// It has a fixed number of buffers, so that what it holds does not grow with the rows. A row that is larger than a
/// buffer is handed over alone, and only when no other is on its way.
///
/// Unchecked, because the ring and two semaphores make it true: `order` belongs to the writer until it raises `ordered`,
/// then to the reader until the last slot of what it ordered; `reader` is the reader's from the start of the thread until
/// `ended`.
final class ReadAheadThread: @unchecked Sendable {
    /// What is handed over.
    enum Delivery {
        case rows(PackedRows)
        /// There is no row more.
        case end
        /// Reading failed; and what a function of ours had thrown, if it was one.
        case failure(any Error, functionError: (any Error)?)
    }

    private final class Slot {
        let rows: PackedRows
        var delivery = Delivery.end

        init(cells: Int) { rows = PackedRows(cells: cells, capacity: ReadAheadThread.bufferBytes) }
    }

    private enum Order { case read(KeyRange), end }

    /// Three, so that neither side waits where both are as quick: together a tenth of what the batches of a run may take.
    private static let slotCount = 3
    /// Large enough that the two seldom wake each other, small enough for the processors' caches.
    static let bufferBytes = 128 << 10

    /// Whether rows are sorted before the first one comes.
    let needsSorting: Bool

    private var reader: RowReader?
    private var order = Order.end
    private let ordered = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let ring: SlotRing<Slot>
    /// The slot whose rows the writer uses.
    private var taken: Slot?
    private let isAbandoned = Locked(false)
    private var hasStarted = false

    /// Nil when the rows need more than the source: then only the writer's connection can read them.
    init?(_ plan: RowPlan, in context: StepContext) throws {
        let connection = try context.openSource()
        do {
            reader = try RowReader(plan, on: connection)
        } catch let error as DatabaseError where error.isInSQL {
            return nil
        }
        let steps = try connection.rows("EXPLAIN QUERY PLAN " + plan.sql.text)
        needsSorting = steps.contains { $0.contains { $0.text?.contains("TEMP B-TREE") == true } }
        // Only now: what SQLite says of a plan may be longer.
        connection.limit(.length, plan.largestValue)
        ring = SlotRing((0..<Self.slotCount).map { _ in Slot(cells: plan.cellCount) })
    }

    // MARK: The writer

    /// Orders the rows of a range; the ones ordered before were taken to their end.
    ///
    /// - Throws: ``FerryError`` when the system makes no thread.
    func read(_ range: KeyRange) throws {
        if !hasStarted {
            try WorkThread.start("ferry.rows") { [self] in run() }
            hasStarted = true
        }
        order = .read(range)
        ordered.signal()
    }

    /// Waits for what comes next; rows have to be given back before the next call.
    func take() -> Delivery {
        let slot = ring.filledSlot()
        let delivery = slot.delivery
        if case .rows = delivery { taken = slot } else { ring.giveBack() }
        return delivery
    }

    /// Gives back the rows that were taken last.
    func giveBack() {
        taken?.rows.removeAll()
        taken = nil
        ring.giveBack()
    }

    /// Takes what was ordered to its end without looking at it.
    func abandon() {
        isAbandoned.withLock { $0 = true }
        while case .rows = take() { giveBack() }
        isAbandoned.withLock { $0 = false }
    }

    /// Ends the thread and closes its connection; what was ordered may not have come to its end.
    func end(isReading: Bool) {
        guard hasStarted else { return }
        if isReading { abandon() }
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
            // A slot is always left for this: what was handed over is taken.
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
        } catch let error as DatabaseError {
            return .failure(error, functionError: reader.select.connection.takeFunctionError())
        } catch {
            return .failure(error, functionError: nil)
        }
    }

    private func read(_ reader: RowReader) throws {
        var slot = ring.freeSlot()
        // The slot is handed over or put back, whatever happens.
        defer {
            if slot.rows.isEmpty {
                slot.rows.removeAll()
                ring.keepFree()
            } else {
                handOver(slot, .rows(slot.rows))
            }
        }
        while try reader.select.step() {
            if try reader.pack(into: slot.rows) { continue }
            if !slot.rows.isEmpty {
                handOver(slot, .rows(slot.rows))
                slot = ring.freeSlot()
                if isAbandoned.withLock({ $0 }) { return }
                if try reader.pack(into: slot.rows) { continue }
            }
            try packAlone(reader, into: slot)
            handOver(slot, .rows(slot.rows))
            slot = ring.freeSlot()
            if isAbandoned.withLock({ $0 }) { return }
        }
    }

    /// Packs a row that is larger than a buffer, once all others are used.
    private func packAlone(_ reader: RowReader, into slot: Slot) throws {
        try ring.whenAllAreFree(butFor: 1) {
            repeat { slot.rows.grow() } while try !reader.pack(into: slot.rows)
        }
    }

    private func handOver(_ slot: Slot, _ delivery: Delivery) {
        slot.delivery = delivery
        ring.handOver()
    }
}
