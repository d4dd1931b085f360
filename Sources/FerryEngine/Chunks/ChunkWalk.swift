package import FerryBase
internal import FerrySQLite

/// Copies ranges of keys, each as one unit: SQLite commits its work and its progress record together.
struct ChunkWalk {
    let context: StepContext
    var phase: Phase
    var subject: String?
    /// The estimated bytes of a row; 0 if unknown.
    var rowBytes = 0
    /// The most bytes that a chunk may hold, if fewer than the options allow.
    var byteLimit = Int.max
    /// The number of rows, if known.
    var total: Int64?

    typealias LargeRowCopy = (KeyRange, inout [ProgressTable.Entry]) throws -> Void

    /// Runs the unfinished units, which share each range.
    ///
    /// `carry` copies at most so many rows after a key inside the unit's transaction, and counts them in the units'
    /// entries; it marks an entry as done if no later range has work either. It returns the range, or nil if there are
    /// no rows. `didRollBack` handles the rollback of a chunk with a too large value; it returns a function that copies
    /// one such row, or nil.
    func run(
        _ units: [String], over ranges: ChunkRanges, report: inout StepReport,
        didRollBack: () throws -> LargeRowCopy?,
        carry: (_ low: Int64, _ rows: Int, inout [ProgressTable.Entry]) throws -> KeyRange?
    ) throws {
        var entries = try units.map { try context.progress.entry($0) }
        guard let first = entries.first, !first.isDone else { return }
        var low = first.chunks == 0 ? ChunkRanges.beginning : first.mark
        var sizer = ChunkSizer(
            context.options.chunkSize, bytes: min(context.options.chunkBytes, byteLimit),
            nanoseconds: context.options.chunkNanoseconds, rowBytes: rowBytes)
        // Lower than the sizer's size only near values that are too large for their chunk.
        var rowLimit = Int.max
        var isAtEnd = false
        var worked: UInt64 = 0
        let stop = context.options.stop
        while !isAtEnd {
            try stop.checkBetweenUnits(after: worked)
            let start = Clock.nanoseconds()
            let wanted = stop.pace?.orders.chunkRows ?? sizer.rows
            let rows = min(wanted, rowLimit)
            var range: KeyRange?
            // Stays 0 for a row that is copied alone: its size says nothing about the other rows.
            var counted: Int64 = 0
            let written = context.writtenBytes
            do {
                range = try unit(units, &entries) { try carry(low, rows, &$0) }
                counted = range?.rows ?? 0
            } catch let error as DatabaseError where error.isTooBig {
                guard let given = try ranges.next(after: low, rows: rows), let copyRow = try didRollBack() else {
                    throw error
                }
                guard given.rows <= 1 else {
                    rowLimit = Int(given.rows / 2)
                    continue
                }
                range = try unit(units, &entries) { entries in
                    try copyRow(given, &entries)
                    return given
                }
                rowLimit = 1
            }
            guard let range else { return }
            (low, isAtEnd) = (range.high, range.isLast || entries.allSatisfy(\.isDone))
            if phase == .rows, let sample = context.options.sample, entries[0].read >= sample, !isAtEnd {
                try end(units, &entries)
                isAtEnd = true
            }
            let nanoseconds = Clock.nanoseconds(since: start)
            worked = nanoseconds
            sizer.chunkTook(rows: counted, bytes: context.writtenBytes - written, nanoseconds: nanoseconds)
            if rowLimit < wanted { rowLimit *= 2 } else { rowLimit = .max }
            report.chunkTimes.add(nanoseconds)
            context.options.progress?(
                ProgressUpdate(
                    phase: phase, subject: subject, done: entries.reduce(0) { $0 + $1.read }, total: total))
        }
    }

    /// Marks the units as done, whatever rows are left.
    private func end(_ units: [String], _ entries: inout [ProgressTable.Entry]) throws {
        for index in entries.indices { entries[index].isDone = true }
        let ended = entries
        try context.unit {
            for (unit, entry) in zip(units, ended) { try context.progress.save(entry, for: unit) }
        }
    }

    /// Runs one range as one unit; entries change after the commit only, and nil means that no rows are left.
    private func unit(
        _ units: [String], _ entries: inout [ProgressTable.Entry],
        _ body: (inout [ProgressTable.Entry]) throws -> KeyRange?
    ) throws -> KeyRange? {
        var next = entries
        var range: KeyRange?
        try context.unit {
            range = try body(&next)
            if let range {
                for index in next.indices { next[index].mark = range.high }
                // Units that share a range count it as one chunk.
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
    /// Runs a body over the source objects of an entity mapping, one unit for each range.
    func walk(
        _ ranges: ChunkRanges, unit: String, phase: Phase, subject: String?, report: inout StepReport,
        _ body: (KeyRange, inout ProgressTable.Entry) throws -> Void
    ) throws {
        try ChunkWalk(context: self, phase: phase, subject: subject).run(
            [unit], over: ranges, report: &report, didRollBack: { nil }
        ) { low, rows, entries in
            guard let range = try ranges.next(after: low, rows: rows) else { return nil }
            try body(range, &entries[0])
            return range
        }
    }

    /// Runs a statement over all rows of a table, named as in SQL; one unit for each chunk.
    func walk(_ unit: String, over table: String, phase: Phase, subject: String?, running sql: String) throws {
        let statement = try connection.prepare(sql)
        guard try !progress.entry(unit).isDone else { return }
        let ranges = try ChunkRanges(over: table, on: connection)
        var report = StepReport()
        try walk(
            ranges, unit: unit, phase: phase, subject: subject, report: &report
        ) { range, entry in
            try statement.bind(range)
            try connection.with(.length, options.wholeValueBytes) { try statement.run() }
            entry.read += range.rows
        }
    }
}

/// Decides how many source rows the next chunk takes.
///
/// The automatic size follows the 90th percentile of the cost per row of the last ten chunks, in bytes and in time. The
/// size grows by half at most, so that one cheap chunk does not make the next one huge.
package struct ChunkSizer {
    /// 10,000 rows of ordinary width take a few hundredths of a second, much longer than a commit.
    static let usualRows = 10_000
    static let bounds = 10...100_000
    private static let window = 10

    /// The limits of an automatic chunk: a commit is a small part of a chunk, and a kill loses little.
    private let target: (bytes: Double, nanoseconds: Double)
    private let fixed: Int?
    private var size: Int
    /// The cost per row of each of the last chunks, as a share of a chunk's limit.
    private var recent: [Double] = []

    /// `rowBytes` is the estimated size of a row; 0 if unknown.
    package init(_ chunkSize: ChunkSize, bytes: Int, nanoseconds: UInt64, rowBytes: Int = 0) {
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

    /// The number of rows of the next chunk.
    package var rows: Int { fixed ?? size }

    /// Records a finished chunk; `bytes` are those written to the new store and to scratch.
    package mutating func chunkTook(rows: Int64, bytes: Int64, nanoseconds: UInt64) {
        guard fixed == nil, rows > 0 else { return }
        // The larger share: a chunk must keep both limits.
        let share = max(Double(bytes) / target.bytes, Double(nanoseconds) / target.nanoseconds)
        recent.append(share / Double(rows))
        if recent.count > Self.window { recent.removeFirst() }
        let costPerRow = recent.sorted()[(recent.count * 9 - 1) / 10]
        let mostRows = costPerRow > 0 ? 1 / costPerRow : .infinity
        size = Self.bounded(min(Double(size) * 1.5, mostRows))
    }

    private static func bounded(_ rows: Double) -> Int {
        Int(min(max(rows, Double(bounds.lowerBound)), Double(bounds.upperBound)))
    }
}
