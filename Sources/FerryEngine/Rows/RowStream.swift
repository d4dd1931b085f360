internal import FerryBase
internal import FerryPlan
internal import FerrySQLite

/// The rows of one entity mapping for the writer, range after range.
///
/// If the statement reads the source only, another thread reads it, and reads ahead into the next range during a
/// commit. The writer ignores those rows, and errors, until their range, so each range has the same outcome as without
/// it. Else the writer's connection reads.
///
/// The stream belongs to the thread that writes, and no access to one of its variables lasts while other code runs.
final class RowStream {
    let plan: RowPlan
    private let context: StepContext
    private let thread: ReadAheadThread?
    /// Whether the thread may read past a range's end: nothing is sorted.
    private let runsAhead: Bool

    /// Reads on the writer's connection, if there is no thread.
    private var reader: RowReader?
    private let ownRows: PackedRows

    /// The rows that the thread delivered last, and those of them that are not yet used.
    @exclusivity(unchecked) private var batch: PackedRows?
    @exclusivity(unchecked) private var unread = PackedRowSequence()
    /// Whether the thread's order is unfinished.
    @exclusivity(unchecked) private var isReading = false
    /// The last used key of the thread's rows.
    @exclusivity(unchecked) private var position: Int64 = 0
    @exclusivity(unchecked) private var isBounded = true
    @exclusivity(unchecked) private var low: Int64 = 0
    @exclusivity(unchecked) private var high: Int64 = 0

    init(_ plan: RowPlan, in context: StepContext) throws {
        self.plan = plan
        self.context = context
        thread = try ReadAheadThread(plan, in: context)
        runsAhead = thread?.needsSorting == false
        ownRows = PackedRows(cells: plan.cellCount, capacity: thread == nil ? ReadAheadThread.bufferBytes : 0)
        if thread == nil { reader = try RowReader(plan, on: context.connection, now: context.options.now) }
    }

    deinit {
        guard let thread else { return }
        // The thread may wait for the buffer.
        giveBack(thread)
        thread.end(isReading: isReading)
    }

    /// Runs a body that takes the rows of a range.
    func reading(_ range: KeyRange, _ body: () throws -> ChunkOutcome) throws -> ChunkOutcome {
        // After an error too.
        defer { reader?.select.reset() }
        try begin(range)
        return try body()
    }

    private func begin(_ range: KeyRange) throws {
        (low, high) = (range.low, range.high)
        guard let thread else { return try reader?.select.bind(range) ?? () }
        // The thread reads the next range already.
        if isReading, !isBounded, position == low { return }
        try read(thread, isBounded: !runsAhead)
    }

    /// The next row of the range, valid until the next call; nil at the end of the range.
    func next() throws -> PackedRow? {
        while true {
            if let row = unread.first {
                let key = row.integer(RowPlan.keyCell)
                if !isBounded, key > high {
                    position = high
                    return nil
                }
                unread.removeFirst()
                position = key
                return row
            }
            guard let thread else { return try nextOwnRow() }
            guard try receive(from: thread) else { return nil }
        }
    }

    /// Takes the next rows from the thread; false at the end of the range.
    private func receive(from thread: ReadAheadThread) throws -> Bool {
        giveBack(thread)
        guard isReading else {
            position = high
            return false
        }
        guard let failure = take(from: thread) else { return true }
        guard isBounded else {
            // The failure may lie past the range; otherwise it recurs.
            try read(thread, after: max(position, low), isBounded: true)
            return true
        }
        context.connection.takeOver(functionError: failure.functionError)
        throw failure.error
    }

    /// Takes the next message from the thread; returns its failure.
    private func take(from thread: ReadAheadThread) -> (error: DatabaseError, functionError: (any Error)?)? {
        switch thread.take() {
        case .rows(let rows): (batch, unread) = (rows, rows.rows)
        case .end: isReading = false
        case .failure(let error, let functionError):
            isReading = false
            return (error, functionError)
        }
        return nil
    }

    private func read(_ thread: ReadAheadThread, after key: Int64? = nil, isBounded: Bool) throws {
        giveBack(thread)
        if isReading { thread.abandon() }
        self.isBounded = isBounded
        position = key ?? low
        isReading = true
        try thread.read(KeyRange(low: position, high: isBounded ? high : .max, rows: 0, isLast: true))
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
    private let plan: RowPlan

    init(_ plan: RowPlan, on connection: Connection, now: Double) throws {
        self.plan = plan
        select = try plan.sql.prepare(on: connection, now: now)
    }

    /// Packs the current row; false if the buffer is full.
    func pack(into rows: PackedRows) -> Bool {
        // A policy may not need the value, and holds the row already.
        rows.pack(select, shortOnly: plan.computed)
    }
}
