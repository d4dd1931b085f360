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
        /// Gives their range, or nil when there is none.
        mutating func carry(
            after low: Int64, upTo rows: Int, _ entries: inout [ProgressTable.Entry]
        ) throws -> KeyRange?

        /// Is told that a chunk was given up because of a value that is too large for it; what was done is undone.
        ///
        /// Gives what carries a range of one row with such a value, inside the unit's transaction; nil where nothing
        /// can.
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
        var sizer = ChunkSizer(
            context.options.chunkSize, bytes: min(context.options.chunkBytes, byteLimit),
            nanoseconds: context.options.chunkNanoseconds, rowBytes: rowBytes)
        // Below the size that is asked for only around values that are too large for their chunk.
        var most = Int.max
        var isAtEnd = false
        while !isAtEnd {
            try context.options.stop.check()
            let start = Clock.nanoseconds()
            let rows = min(sizer.rows, most)
            var range: KeyRange?
            // A value of a size of its own says nothing about the rows around it: it costs no row.
            var counted: Int64 = 0
            let written = context.writtenBytes
            do {
                range = try unit(units, &entries, writesScratch: work.writesScratch) { entries in
                    try work.carry(after: low, upTo: rows, &entries)
                }
                counted = range?.rows ?? 0
            } catch let error as DatabaseError where error.isTooBig {
                guard let given = try ranges.next(after: low, rows: rows), let carryAlone = try work.giveUp() else {
                    throw error
                }
                guard given.rows <= 1 else {
                    most = Int(given.rows / 2)
                    continue
                }
                range = try unit(units, &entries, writesScratch: work.writesScratch) { entries in
                    try carryAlone(given, &entries)
                    return given
                }
                most = 1
            }
            guard let range else { return }
            (low, isAtEnd) = (range.high, range.isLast || entries.allSatisfy(\.isDone))
            let nanoseconds = Clock.nanoseconds(since: start)
            sizer.chunkTook(rows: counted, bytes: context.writtenBytes - written, nanoseconds: nanoseconds)
            if most < sizer.rows { most *= 2 } else { most = .max }
            report.chunkTimes.add(nanoseconds)
            context.options.progress?(
                ProgressUpdate(
                    phase: phase, subject: subject, done: entries.reduce(0) { $0 + $1.read }, total: total))
        }
    }

    /// One range as one unit; the records are changed only when it is committed.
    ///
    /// Gives the range as the body does; nil: there was none, and all is done.
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
        report: inout StepReport, aside carryAlone: ChunkWalk.CarryAlone? = nil,
        _ body: (KeyRange, inout ProgressTable.Entry) throws -> Void
    ) throws {
        try withoutActuallyEscaping(body) { body in
            var work = PlainWork(ranges: ranges, writesScratch: writesScratch, carryAlone: carryAlone, body: body)
            try ChunkWalk(context: self, phase: phase, subject: subject)
                .run(&work, over: ranges, units: [unit], report: &report)
        }
    }

    /// Runs a statement over all rows of a table, which is written as in SQL; chunk by chunk, each chunk one unit.
    ///
    /// Rows with values that are too large for their chunk are carried aside, where that can be.
    func walk(
        _ unit: String, over table: String, key: String = "rowid", phase: Phase, subject: String?, running sql: String,
        aside: @autoclosure () throws -> ChunkWalk.CarryAlone? = nil
    ) throws {
        let statement = try connection.prepare(sql)
        guard try !progress.entry(unit).isDone else { return }
        let ranges = try ChunkRanges(over: table, key: key, on: connection)
        let carryAlone = try aside()
        let limit = carryAlone == nil ? options.wholeValueBytes : options.valueBytes
        var report = StepReport()
        try walk(
            ranges, unit: unit, phase: phase, subject: subject, writesScratch: false, report: &report,
            aside: carryAlone
        ) { range, entry in
            try statement.bind(range)
            try connection.with(.length, limit) { try statement.run() }
            entry.read += range.rows
        }
    }
}

/// The same body for every range.
private struct PlainWork: ChunkWalk.Work {
    let ranges: ChunkRanges
    let writesScratch: Bool
    /// What carries a row with values that are too large for their chunk; nil where they go through memory.
    let carryAlone: ChunkWalk.CarryAlone?
    let body: (KeyRange, inout ProgressTable.Entry) throws -> Void

    func carry(after low: Int64, upTo rows: Int, _ entries: inout [ProgressTable.Entry]) throws -> KeyRange? {
        try ranges.carry(after: low, upTo: rows) { range in
            try body(range, &entries[0])
            return range
        }
    }

    func giveUp() -> ChunkWalk.CarryAlone? { carryAlone }
}

/// Decides how many source rows the next chunk takes.
///
/// A fixed size is exact. The automatic one is a servo: it aims the 90th percentile of the last ten chunks at what a
/// chunk may cost in bytes and in time, and grows by half at most, so that one cheap chunk does not make the next one
/// huge.
package struct ChunkSizer {
    /// 10,000 rows of ordinary width take a few hundredths of a second, and a commit is small beside it.
    static let usualRows = 10_000
    static let bounds = 10...100_000
    private static let window = 10

    /// What an automatic chunk may cost: long enough that a commit is a small part of it, short enough to lose little
    /// by a kill.
    private let target: (bytes: Double, nanoseconds: Double)
    private let fixed: Int?
    private var size: Int
    /// What each of the last chunks cost for one row, as a share of what a chunk may cost.
    private var recent: [Double] = []

    /// `rowBytes` is what a row holds, as far as that is known beforehand.
    package init(_ chunkSize: EngineOptions.ChunkSize, bytes: Int, nanoseconds: UInt64, rowBytes: Int = 0) {
        target = (Double(max(1, bytes)), Double(max(1, nanoseconds)))
        switch chunkSize {
        case .rows(let rows):
            fixed = rows
            size = rows
        case .automatic:
            fixed = nil
            size = Self.bounded(Double(min(Self.usualRows, bytes / max(1, rowBytes))))
        }
    }

    /// The size of the next chunk.
    package var rows: Int { fixed ?? size }

    /// Takes note of a finished chunk, with the bytes that were written to the new store and to scratch.
    package mutating func chunkTook(rows: Int64, bytes: Int64, nanoseconds: UInt64) {
        guard fixed == nil, rows > 0 else { return }
        // The larger share: none of the limits is to be passed.
        let share = max(Double(bytes) / target.bytes, Double(nanoseconds) / target.nanoseconds)
        recent.append(share / Double(rows))
        if recent.count > Self.window { recent.removeFirst() }
        let dear = recent.sorted()[(recent.count * 9 - 1) / 10]
        let affordable = dear > 0 ? 1 / dear : .infinity
        size = Self.bounded(min(Double(size) * 1.5, affordable))
    }

    private static func bounded(_ rows: Double) -> Int {
        Int(min(max(rows, Double(bounds.lowerBound)), Double(bounds.upperBound)))
    }
}
