internal import Dispatch
internal import FerryBase
internal import FerrySQLite

/// The thread that reads the rows of one entity mapping on a connection of its own, ahead of the thread that writes them.
///
/// It has a fixed number of buffers, so that what it holds does not grow with the rows. A row that is larger than a
/// buffer is handed over alone, and only when no other is on its way.
///
/// Unchecked, because semaphores make it true: `order` belongs to the writer until it raises `ordered`, then to the
/// reader until the last slot of what it ordered; a slot belongs to the reader from `free` to `filled` and to the writer
/// from `filled` to `free`; `reader` is the reader's from the start of the thread until `ended`.
final class RowThread: @unchecked Sendable {
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

        init(cells: Int) { rows = PackedRows(cells: cells, capacity: RowThread.bufferBytes) }
    }

    private enum Order { case read(low: Int64, high: Int64), end }

    /// Three, so that neither side waits where both are as quick: together a tenth of what the batches of a run may take.
    private static let slotCount = 3
    /// Large enough that the two seldom wake each other, small enough for the processors' caches.
    static let bufferBytes = 128 << 10

    /// Whether rows are sorted before the first one comes.
    let needsSorting: Bool

    private var reader: RowReader?
    private var order = Order.end
    private let ordered = DispatchSemaphore(value: 0)
    private let free = DispatchSemaphore(value: 0)
    private let filled = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let slots: [Slot]
    private var nextFree = 0
    private var nextFilled = 0
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
        slots = (0..<Self.slotCount).map { _ in Slot(cells: plan.cellCount) }
        // Raised afterwards: a semaphore must not be freed below the value that it was created with.
        for _ in slots { free.signal() }
    }

    // MARK: The writer

    /// Orders the rows of a range; the ones ordered before were taken to their end.
    ///
    /// - Throws: ``FerryError`` when the system makes no thread.
    func read(low: Int64, high: Int64) throws {
        if !hasStarted {
            try WorkThread.start("ferry.rows") { [self] in run() }
            hasStarted = true
        }
        order = .read(low: low, high: high)
        ordered.signal()
    }

    /// Waits for what comes next; rows have to be given back before the next call.
    func take() -> Delivery {
        filled.wait()
        let slot = slots[nextFilled]
        nextFilled = (nextFilled + 1) % slots.count
        if case .rows = slot.delivery { return slot.delivery }
        // Nothing of it is used.
        free.signal()
        return slot.delivery
    }

    /// Gives back the rows that were taken last.
    func giveBack() {
        slots[(nextFilled + slots.count - 1) % slots.count].rows.removeAll()
        free.signal()
    }

    /// Takes what was ordered to its end without looking at it.
    func abandon() {
        isAbandoned.withLock { $0 = true }
        while case .rows = take() { giveBack() }
        isAbandoned.withLock { $0 = false }
    }

    /// Ends the thread and closes its connection.
    ///
    /// - Parameter isReading: Whether what was ordered has not come to its end.
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
            guard case .read(let low, let high) = order else { break }
            let end = read(low, high)
            // A slot is always left for this: what was handed over is taken.
            let slot = freeSlot()
            handOver(slot, end)
        }
        reader = nil
        ended.signal()
    }

    private func read(_ low: Int64, _ high: Int64) -> Delivery {
        guard let reader else { return .end }
        defer { reader.select.reset() }
        do {
            try reader.start(low: low, high: high)
            try read(reader)
            return .end
        } catch let error as DatabaseError {
            return .failure(error, functionError: reader.select.connection.takeFunctionError())
        } catch {
            return .failure(error, functionError: nil)
        }
    }

    private func read(_ reader: RowReader) throws {
        var slot = freeSlot()
        // The slot is handed over or put back, whatever happens.
        defer {
            if slot.rows.isEmpty {
                slot.rows.removeAll()
                free.signal()
            } else {
                handOver(slot, .rows(slot.rows))
            }
        }
        while try reader.select.step() {
            if try reader.pack(into: slot.rows) { continue }
            if !slot.rows.isEmpty {
                handOver(slot, .rows(slot.rows))
                slot = freeSlot()
                if isAbandoned.withLock({ $0 }) { return }
                if try reader.pack(into: slot.rows) { continue }
            }
            try packAlone(reader, into: slot)
            handOver(slot, .rows(slot.rows))
            slot = freeSlot()
            if isAbandoned.withLock({ $0 }) { return }
        }
    }

    /// Packs a row that is larger than a buffer, once all others are used.
    private func packAlone(_ reader: RowReader, into slot: Slot) throws {
        for _ in 1..<slots.count { free.wait() }
        defer { for _ in 1..<slots.count { free.signal() } }
        repeat { slot.rows.grow() } while try !reader.pack(into: slot.rows)
    }

    private func freeSlot() -> Slot {
        free.wait()
        return slots[nextFree]
    }

    private func handOver(_ slot: Slot, _ delivery: Delivery) {
        slot.delivery = delivery
        nextFree = (nextFree + 1) % slots.count
        filled.signal()
    }
}
