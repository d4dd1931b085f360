internal import FerryBase
internal import FerrySQLite

/// The rows of one entity mapping, range after range, for the one who writes them.
///
/// Where the source alone is read, another thread reads on a connection of its own and runs ahead, also into the next
/// range while this one is committed. What it found there is not looked at before its range has come, an error
/// included, so that a range has the same outcome as without. Else the rows are read here, one by one.
final class RowStream {
    let plan: RowPlan
    private let context: StepContext
    private let aside: RowThread?
    /// Whether the thread may go on past the end of a range: it needs no sorting, and a key is one row.
    private let runsAhead: Bool

    /// Reads on the writer's connection, where there is no thread.
    private var reader: RowReader?
    private let here: PackedRows

    /// What the thread handed over last, and how far it is used.
    private var batch: PackedRows?
    private var place = 0
    /// Whether the thread's rows have an end that was not met.
    private var isReading = false
    /// Where the thread's rows go on, as far as they are used.
    private var position: Int64 = 0
    /// Whether the thread stops at the end of the range.
    private var isBounded = true
    private var low: Int64 = 0
    private var high: Int64 = 0

    init(_ plan: RowPlan, in context: StepContext) throws {
        self.plan = plan
        self.context = context
        aside = try RowThread(plan, in: context)
        runsAhead = plan.isOneRowPerKey && aside?.needsSorting == false
        here = PackedRows(cells: plan.cellCount, capacity: aside == nil ? RowThread.bufferBytes : 0)
        if aside == nil { reader = try RowReader(plan, on: context.connection) }
    }

    deinit {
        guard let aside else { return }
        // The thread may wait for it.
        giveBack(aside)
        aside.end(isReading: isReading)
    }

    /// Begins with the rows of a range.
    func begin(_ range: KeyRanges.Range) throws {
        (low, high) = (range.low, range.high)
        guard let aside else { return try reader?.start(low: low, high: high) ?? () }
        // The next range is on its way already.
        if isReading, !isBounded, position == low { return }
        try read(aside, isBounded: !runsAhead)
    }

    /// The next row of the range, borrowed until the one after it is asked for; nil at the end of the range.
    func next() throws -> PackedRow? {
        guard let aside else { return try nextHere() }
        while true {
            if let row = batch?.row(at: place) {
                let key = row.integer(RowPlan.keyCell)
                if !isBounded, key > high {
                    position = high
                    return nil
                }
                place += row.size
                position = key
                return row
            }
            giveBack(aside)
            guard isReading else {
                position = high
                return nil
            }
            switch aside.take() {
            case .rows(let rows): (batch, place) = (rows, 0)
            case .end: isReading = false
            case .failure(let error, let cause):
                isReading = false
                guard isBounded else {
                    // It may have failed past the range; if not, it fails again.
                    try read(aside, after: max(position, low), isBounded: true)
                    continue
                }
                context.connection.takeOver(functionError: cause)
                throw error
            }
        }
    }

    /// Ends a range, also one that was given up.
    func end() { reader?.select.reset() }

    private func read(_ aside: RowThread, after key: Int64? = nil, isBounded: Bool) throws {
        giveBack(aside)
        if isReading { aside.abandon() }
        self.isBounded = isBounded
        position = key ?? low
        isReading = true
        try aside.read(low: position, high: isBounded ? high : .max)
    }

    private func giveBack(_ aside: RowThread) {
        guard batch != nil else { return }
        batch = nil
        aside.giveBack()
    }

    private func nextHere() throws -> PackedRow? {
        guard let reader, try reader.select.step() else { return nil }
        here.removeAll()
        while try !reader.pack(into: here) { here.grow() }
        return here.row(at: 0)
    }
}
