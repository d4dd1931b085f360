internal import FerryBase
internal import FerryPlan
internal import FerrySQLite

/// The rows of one entity mapping for the writer, range after range.
///
/// If the statement reads the source only, another thread reads the range's rows while the writer writes. Else the writer's
/// connection reads.
///
/// The stream belongs to the thread that writes, and no access to one of its variables lasts while other code runs.
final class RowStream {
    let plan: RowPlan
    private let context: StepContext
    private let thread: ReadAheadThread?

    /// Reads on the writer's connection, if there is no thread.
    private var reader: RowReader?
    private let ownRows: PackedRows

    /// The rows that the thread delivered last, and those of them that are not yet used.
    @exclusivity(unchecked) private var batch: PackedRows?
    @exclusivity(unchecked) private var unread = PackedRowSequence()
    /// Whether the thread's order is unfinished.
    @exclusivity(unchecked) private var isReading = false

    init(_ plan: RowPlan, in context: StepContext) throws {
        self.plan = plan
        self.context = context
        thread = try ReadAheadThread(plan, in: context)
        ownRows = PackedRows(cells: plan.cellCount, capacity: thread == nil ? ReadAheadThread.bufferBytes : 0)
        if thread == nil { reader = try RowReader(plan, on: context.connection, now: context.options.now) }
    }

    deinit {
        guard let thread else { return }
        // The thread may wait for the buffer.
        giveBack(thread)
        thread.end(isReading: isReading)
    }

    /// Runs a body that takes all rows of a range.
    func reading(_ range: KeyRange, _ body: () throws -> ChunkOutcome) throws -> ChunkOutcome {
        // After an error too.
        defer { reader?.select.reset() }
        if let thread {
            try thread.read(range)
            isReading = true
        } else {
            try reader?.select.bind(range)
        }
        return try body()
    }

    /// The next row of the range, valid until the next call; nil at the end of the range.
    func next() throws -> PackedRow? {
        while true {
            if let row = unread.first {
                unread.removeFirst()
                return row
            }
            guard let thread else { return try nextOwnRow() }
            giveBack(thread)
            guard isReading else { return nil }
            switch thread.take() {
            case .rows(let rows): (batch, unread) = (rows, rows.rows)
            case .end: isReading = false
            case .failure(let error, let functionError):
                isReading = false
                context.connection.takeOver(functionError: functionError)
                throw error
            }
        }
    }

    private func giveBack(_ thread: ReadAheadThread) {
        guard batch != nil else { return }
        (batch, unread) = (nil, PackedRowSequence())
        thread.giveBack()
    }

    private func nextOwnRow() throws -> PackedRow? {
        guard let reader, try reader.select.step() else { return nil }
        ownRows.removeAll()
        while !reader.pack(into: ownRows) { ownRows.grow() }
        return ownRows.rows.first
    }
}

/// Packs the source objects of one entity mapping, in order.
final class RowReader {
    let select: Statement

    init(_ plan: RowPlan, on connection: Connection, now: Double) throws {
        select = try plan.sql.prepare(on: connection, now: now)
    }

    /// Packs the current row; false if the buffer is full.
    func pack(into rows: PackedRows) -> Bool { rows.pack(select) }
}
