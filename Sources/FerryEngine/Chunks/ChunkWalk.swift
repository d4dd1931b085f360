internal import FerryBase
internal import FerrySQLite

/// Walks over ranges of keys, each of which is one unit: its work and the record of it are committed together.
struct ChunkWalk {
    let context: StepContext
    var phase: Phase
    var subject: String?
    /// What rows hold, as far as that is known beforehand.
    var rowBytes = 0
    /// Bytes that a chunk may hold, where it may not be as many as was asked for.
    var byteLimit = Int.max
    /// How many rows there are, where that is known.
    var total: Int64?

    /// What the walk does with a range.
    protocol Work {
        /// Whether a chunk writes to the scratch database.
        var writesScratch: Bool { get }

        /// Carries the rows after a key, as many as are asked for or as there are, inside the unit's transaction, and takes
        /// note of them in the records of the units.
        ///
        /// Work that finds that nothing is left to be done, in later ranges either, marks its record as done.
        ///
        /// - Returns: Their range, or nil when there is none.
        mutating func carry(
            after low: Int64, upTo rows: Int, _ entries: inout [ProgressTable.Entry]
        ) throws -> KeyRange?

        /// Is told that a chunk was given up because of a value that is too large for it; what was done is undone.
        ///
        /// - Returns: What carries a range of one row with such a value, inside the unit's transaction; nil where nothing can.
        mutating func giveUp() throws -> CarryAlone?
    }

    typealias CarryAlone = (KeyRange, inout [ProgressTable.Entry]) throws -> Void

    /// Runs what is left of the units, which go through the ranges side by side.
    func run(
        _ work: inout some Work, over ranges: ChunkRanges, units: [String], report: inout StepReport
    ) throws {
        var entries = try units.map { try context.progress.entry($0) }
        guard let first = entries.first, !first.isDone else { return }
        var low = first.chunks == 0 ? ChunkRanges.beginning : first.mark
        var sizer = ChunkSizer(context.options.chunkSize, target: target, rowBytes: rowBytes)
        // Below the size that is asked for only around values that are too large for their chunk.
        var most = Int.max
        var isAtEnd = false
        while !isAtEnd {
            try context.options.stop.check()
            let start = Clock.nanoseconds()
            let rows = min(sizer.rows, most)
            var range: KeyRange?
            var cost = ChunkSizer.Cost(rows: 0)
            let written = context.writtenBytes
            do {
                range = try unit(units, &entries, writesScratch: work.writesScratch) { entries in
                    try work.carry(after: low, upTo: rows, &entries)
                }
                cost.rows = range?.rows ?? 0
            } catch let error as DatabaseError where error.isTooBig {
                guard let given = try ranges.next(after: low, rows: rows), let carryAlone = try work.giveUp() else {
                    throw error
                }
                guard given.rows <= 1 else {
                    most = Int(given.rows / 2)
                    continue
                }
                // A value of its own size says nothing about the rows around it: it costs no row.
                range = try unit(units, &entries, writesScratch: work.writesScratch) { entries in
                    try carryAlone(given, &entries)
                    return given
                }
                most = 1
            }
            guard let range else { return }
            (low, isAtEnd) = (range.high, range.isLast || entries.allSatisfy(\.isDone))
            cost.nanoseconds = Clock.nanoseconds(since: start)
            cost.bytes = context.writtenBytes - written
            sizer.chunkTook(cost)
            if most < sizer.rows { most *= 2 } else { most = .max }
            report.chunkTimes.add(cost.nanoseconds)
            context.options.progress?(
                ProgressUpdate(
                    phase: phase, subject: subject, done: entries.reduce(0) { $0 + $1.read }, total: total))
        }
    }

    private var target: ChunkSizer.Target {
        ChunkSizer.Target(
            bytes: min(context.options.chunkBytes, byteLimit), nanoseconds: context.options.chunkNanoseconds)
    }

    /// One range as one unit; the records are changed only when it is committed.
    ///
    /// - Returns: The range as the body gives it; nil: there was none, and all is done.
    private func unit(
        _ units: [String], _ entries: inout [ProgressTable.Entry], writesScratch: Bool,
        _ body: (inout [ProgressTable.Entry]) throws -> KeyRange?
    ) throws -> KeyRange? {
        var next = entries
        var range: KeyRange?
        try context.unit(writesScratch: writesScratch) {
            range = try body(&next)
            if let range {
                for index in next.indices { next[index].mark = range.high }
                // However many units share it, it is one chunk.
                next[0].chunks += 1
            }
            for (index, unit) in units.enumerated() {
                next[index].isDone = next[index].isDone || range?.isLast ?? true
                try context.progress.save(next[index], for: unit)
            }
        }
        entries = next
        return range
    }
}

extension StepContext {
    /// Runs a piece of work over the source objects of an entity mapping, range by range, each range one unit.
    func walk(
        _ ranges: ChunkRanges, unit: String, phase: Phase, subject: String?, writesScratch: Bool,
        report: inout StepReport, _ body: (KeyRange, inout ProgressTable.Entry) throws -> Void
    ) throws {
        try withoutActuallyEscaping(body) { body in
            var work = PlainWork(ranges: ranges, writesScratch: writesScratch, body: body)
            try ChunkWalk(context: self, phase: phase, subject: subject)
                .run(&work, over: ranges, units: [unit], report: &report)
        }
    }

    /// Runs a piece of work over all rows of a table, chunk by chunk, each chunk one unit.
    ///
    /// `table` is written as in SQL; `rowID` is the name under which the number of a row is reached.
    func walk(
        _ unit: String, schema: String = "main", table: String, rowID: String = "rowid", phase: Phase,
        subject: String?, _ body: (KeyRange) throws -> Void
    ) throws {
        guard try !progress.entry(unit).isDone else { return }
        var report = StepReport()
        let ranges = try ChunkRanges(over: "\(schema).\(table)", key: rowID, on: connection)
        try walk(ranges, unit: unit, phase: phase, subject: subject, writesScratch: false, report: &report) {
            range, entry in
            try body(range)
            entry.read += range.rows
        }
    }
}

/// Work that values of any size go through, as far as memory allows.
private struct PlainWork: ChunkWalk.Work {
    let ranges: ChunkRanges
    let writesScratch: Bool
    let body: (KeyRange, inout ProgressTable.Entry) throws -> Void

    func carry(after low: Int64, upTo rows: Int, _ entries: inout [ProgressTable.Entry]) throws -> KeyRange? {
        try ranges.carry(after: low, upTo: rows) { range in
            try body(range, &entries[0])
            return range
        }
    }

    func giveUp() -> ChunkWalk.CarryAlone? { nil }
}
