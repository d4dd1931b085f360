internal import FerryBase
internal import FerrySQLite

extension StepContext {
    /// Runs a piece of work over the source objects of an entity mapping, range by range, each range one unit.
    func walk(
        _ ranges: KeyRanges, unit: String, phase: Phase, subject: String?, writesScratch: Bool,
        report: inout StepReport, _ body: (KeyRanges.Range, inout ProgressTable.Entry) throws -> Void
    ) throws {
        var entry = try progress.entry(unit)
        var sizer = ChunkSizer(options.chunkSize)
        var low = entry.chunks == 0 ? KeyRanges.beginning : entry.mark
        while !entry.isDone {
            try options.stop.check()
            let start = Clock.nanoseconds()
            let range = try ranges.next(after: low, rows: sizer.rows)
            try self.unit(writesScratch: range != nil && writesScratch) {
                if let range {
                    try body(range, &entry)
                    entry.mark = range.high
                    entry.chunks += 1
                }
                entry.isDone = range?.isLast ?? true
                try progress.save(entry, for: unit)
            }
            guard let range else { return }
            low = range.high
            let nanoseconds = Clock.nanoseconds() - start
            sizer.chunkTook(nanoseconds)
            report.chunkTimes.add(nanoseconds)
            options.progress?(ProgressUpdate(phase: phase, subject: subject, done: entry.chunks))
        }
    }

    /// Runs a piece of work over all rows of a table, chunk by chunk, each chunk one unit.
    ///
    /// The body does the work for the rows with numbers above the first one up to the second one. `table` is written as
    /// in SQL; `rowID` is the name under which the number of a row is reached.
    func walk(
        _ unit: String, schema: String = "main", table: String, rowID: String = "rowid", phase: Phase,
        subject: String?,
        _ body: (Int64, Int64) throws -> Void
    ) throws {
        var entry = try progress.entry(unit)
        guard !entry.isDone else { return }
        let next = try connection.prepare(
            """
            SELECT max(k), count(*) FROM (
                SELECT \(rowID) AS k FROM \(schema).\(table) WHERE \(rowID) > ? ORDER BY \(rowID) LIMIT ?)
            """)
        var sizer = ChunkSizer(options.chunkSize)
        var low = entry.chunks == 0 ? Int64.min : entry.mark
        while !entry.isDone {
            try options.stop.check()
            options.progress?(ProgressUpdate(phase: phase, subject: subject, done: entry.read))
            let start = Clock.nanoseconds()
            try next.bind([.integer(low), .integer(Int64(sizer.rows))])
            let rows = try next.step() ? next.integer(1) : 0
            let high = next.integer(0)
            next.reset()
            try self.unit(writesScratch: false) {
                if rows > 0 {
                    try body(low, high)
                    entry.mark = high
                    entry.chunks += 1
                    entry.read += rows
                }
                entry.isDone = rows < Int64(sizer.rows)
                try progress.save(entry, for: unit)
            }
            low = high
            sizer.chunkTook(Clock.nanoseconds() - start)
        }
    }
}
