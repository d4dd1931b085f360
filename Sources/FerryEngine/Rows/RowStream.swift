internal import FerryBase
internal import FerryExpression
internal import FerrySQLite

/// The rows of one entity mapping, range after range, on their way to the writer.
///
/// Where the source alone is read, another thread reads on a connection of its own and runs ahead, also into the next
/// range while this one is committed. What it found there is not looked at before its range has come, an error
/// included, so that a range has the same outcome as without. Else the rows are read here, one by one.
///
/// It belongs to the thread that writes, and no access to one of its variables lasts while other code runs.
final class RowStream {
    let plan: RowPlan
    private let context: StepContext
    private let aside: ReadAheadThread?
    /// Whether the thread may go on past the end of a range, so that this may be an open one: it needs no sorting, and a
    /// key is one row.
    let runsAhead: Bool

    /// Reads on the writer's connection, where there is no thread.
    private var reader: RowReader?
    private let here: PackedRows

    /// What the thread handed over last, and how far it is used.
    @exclusivity(unchecked) private var batch: PackedRows?
    @exclusivity(unchecked) private var unread = PackedRowSequence()
    /// Whether the thread's rows have an end that was not met.
    @exclusivity(unchecked) private var isReading = false
    /// Where the thread's rows go on, as far as they are used.
    @exclusivity(unchecked) private var position: Int64 = 0
    /// Whether the thread stops at the end of the range.
    @exclusivity(unchecked) private var isBounded = true
    @exclusivity(unchecked) private var low: Int64 = 0
    @exclusivity(unchecked) private var high: Int64 = 0
    /// How many rows an open range asked for, and how many of them are not handed out.
    private var count: Int?
    @exclusivity(unchecked) private var left = Int.max
    /// Of the row that was handed out last.
    @exclusivity(unchecked) private var lastKey: Int64 = 0

    init(_ plan: RowPlan, in context: StepContext) throws {
        self.plan = plan
        self.context = context
        aside = try ReadAheadThread(plan, in: context)
        runsAhead = plan.isOneRowPerKey && aside?.needsSorting == false
        here = PackedRows(cells: plan.cellCount, capacity: aside == nil ? ReadAheadThread.bufferBytes : 0)
        if aside == nil { reader = try RowReader(plan, on: context.connection) }
    }

    deinit {
        guard let aside else { return }
        // The thread may wait for it.
        giveBack(aside)
        aside.end(isReading: isReading)
    }

    /// Runs what takes the rows of a range; of an open one it tells which range they came to.
    func reading(_ range: KeyRange, _ body: () throws -> ChunkOutcome) throws -> ChunkOutcome {
        // Also where the range is given up.
        defer { reader?.select.reset() }
        try begin(range)
        var outcome = try body()
        outcome.taken = try takenRange()
        return outcome
    }

    private func begin(_ range: KeyRange) throws {
        (low, high) = (range.low, range.high)
        count = range.isOpen ? Int(range.rows) : nil
        left = count ?? .max
        guard let aside else { return try reader?.select.bind(range) ?? () }
        // The next range is on its way already.
        if isReading, !isBounded, position == low { return }
        try read(aside, isBounded: !runsAhead)
    }

    /// The range of the rows that an open one gave; nil when there was none.
    private func takenRange() throws -> KeyRange? {
        guard let count, left < count else { return nil }
        return KeyRange(low: low, high: lastKey, rows: Int64(count - left), isLast: try !hasMore())
    }

    /// Whether there are rows behind the number that was asked for.
    private func hasMore() throws -> Bool {
        guard left == 0, let aside else { return false }
        while unread.first == nil {
            giveBack(aside)
            guard isReading else { return false }
            // The range that a failure belongs to will meet it again.
            if take(from: aside) != nil { return true }
        }
        return true
    }

    /// The next row of the range, borrowed until the one after it is asked for; nil at the end of the range.
    func next() throws -> PackedRow? {
        while left > 0 {
            if let row = unread.first {
                let key = row.integer(RowPlan.keyCell)
                if !isBounded, key > high {
                    position = high
                    return nil
                }
                unread.removeFirst()
                position = key
                lastKey = key
                left -= 1
                return row
            }
            guard let aside else { return try nextHere() }
            guard try receive(from: aside) else { return nil }
        }
        return nil
    }

    /// Takes the next rows from the thread; false at the end of the range.
    private func receive(from aside: ReadAheadThread) throws -> Bool {
        giveBack(aside)
        guard isReading else {
            position = high
            return false
        }
        guard let failure = take(from: aside) else { return true }
        guard isBounded else {
            // It may have failed past the range; if not, it fails again.
            try read(aside, after: max(position, low), isBounded: true)
            return true
        }
        context.connection.takeOver(functionError: failure.functionError)
        throw failure.error
    }

    /// Takes what comes next from the thread; gives why it failed.
    private func take(from aside: ReadAheadThread) -> (error: any Error, functionError: (any Error)?)? {
        switch aside.take() {
        case .rows(let rows): (batch, unread) = (rows, rows.rows)
        case .end: isReading = false
        case .failure(let error, let functionError):
            isReading = false
            return (error, functionError)
        }
        return nil
    }

    private func read(_ aside: ReadAheadThread, after key: Int64? = nil, isBounded: Bool) throws {
        giveBack(aside)
        if isReading { aside.abandon() }
        self.isBounded = isBounded
        position = key ?? low
        isReading = true
        try aside.read(KeyRange(low: position, high: isBounded ? high : .max, rows: 0, isLast: true))
    }

    private func giveBack(_ aside: ReadAheadThread) {
        guard batch != nil else { return }
        (batch, unread) = (nil, PackedRowSequence())
        aside.giveBack()
    }

    private func nextHere() throws -> PackedRow? {
        guard let reader, try reader.select.step() else { return nil }
        here.removeAll()
        while try !reader.pack(into: here) { here.grow() }
        return here.rows.first
    }
}

/// Reads the source objects of one entity mapping for Swift, one row per element of its iteration, in order.
///
/// It belongs to the thread of its connection.
final class RowReader {
    let select: Statement
    private let row: StatementRow
    private let plan: RowPlan

    init(_ plan: RowPlan, on connection: Connection) throws {
        self.plan = plan
        select = try plan.sql.prepare(on: connection)
        row = StatementRow(select)
    }

    /// Packs the current row; false when there is no room for it.
    func pack(into rows: PackedRows) throws -> Bool {
        guard rows.begin() else { return false }
        guard try isTaken() else {
            rows.pack(select.integer(RowPlan.keyCell), into: RowPlan.keyCell)
            rows.finish(isTaken: false)
            return true
        }
        guard rows.pack(plan.packed, of: select) else { return false }
        for (index, evaluator) in plan.evaluated.enumerated() {
            let cell = plan.packed.count + index
            if plan.mayMiss {
                guard packAhead(evaluator, into: cell, of: rows) else { return false }
            } else {
                guard rows.pack(try evaluator.value(in: row), into: cell) else { return false }
            }
        }
        rows.finish(isTaken: true)
        return true
    }

    /// What is longer is computed when it is needed: a policy may not need it, and holds the row already.
    private static let aheadLimit = 4096

    /// Packs a value that may never be needed, so that it must neither fail nor take much room.
    private func packAhead(_ evaluator: RowEvaluator, into cell: Int, of rows: PackedRows) -> Bool {
        guard case .success(let value) = Result(catching: { try evaluator.value(in: row) }) else {
            rows.packMissing(into: cell)
            return true
        }
        switch value {
        case .text(let bytes) where bytes.count > Self.aheadLimit, .blob(let bytes) where bytes.count > Self.aheadLimit:
            rows.packMissing(into: cell)
            return true
        default: return rows.pack(value, into: cell)
        }
    }

    /// Whether the current row is carried: its JSON is valid or need not be, and the filter lets it through.
    private func isTaken() throws -> Bool {
        if plan.skipsInvalid, select.isNull(RowPlan.ordinalCell) { return false }
        return try plan.filter?.holds(in: row) ?? true
    }
}

/// A statement's current row, for the evaluation of expressions.
private final class StatementRow: RowValues {
    let statement: Statement

    init(_ statement: Statement) { self.statement = statement }

    func value(at place: Int) -> FunctionValue {
        switch statement.storageClass(place) {
        case .null: .null
        case .integer: .integer(statement.integer(place))
        case .real: .real(statement.real(place))
        // SQLite's memory stays where it is until the statement goes on.
        case .text: .text(statement.withBytes(place) { $0 })
        case .blob: .blob(statement.withBytes(place) { $0 })
        }
    }
}

extension PackedRows {
    /// Packs what a computation yielded; false when there is no room.
    fileprivate func pack(_ value: FunctionValue, into cell: Int) -> Bool {
        switch value {
        case .null: packNull(into: cell)
        case .integer(let integer): pack(integer, into: cell)
        case .real(let real): pack(real, into: cell)
        case .text(let bytes): return pack(bytes, isText: true, into: cell)
        case .blob(let bytes): return pack(bytes, isText: false, into: cell)
        }
        return true
    }
}
