internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// The rows of a table that is carried as it is.
struct CarriedRows: ChunkWalk.Work {
    private let table: CarriedTable
    private let context: StepContext
    let ranges: ChunkRanges
    private let copy: Statement
    /// Nil where the rows are not copied as they are.
    private let writer: LargeRowWriter?
    private let select: Statement?

    /// - Parameters:
    ///   - table: The table, which has row numbers.
    ///   - rowID: The name under which they are reached.
    ///   - statement: Copies a range of rows with changes; nil where they are copied as they are.
    ///   - context: The step.
    /// - Throws: ``DatabaseError``.
    init(_ table: CarriedTable, rowID: String, by statement: String?, context: StepContext) throws {
        self.table = table
        self.context = context
        ranges = try ChunkRanges(over: "source.\(table.quotedName)", key: rowID, on: context.connection)
        copy = try context.connection.prepare(statement ?? table.copy())
        guard statement == nil else {
            (writer, select) = (nil, nil)
            return
        }
        let cells = zip(table.columns, table.columnNames).map { quoted, name in
            LargeCell(
                name: quoted, rawName: name, sql: quoted,
                origin: .init(table: table.name, column: name, value: quoted, key: rowID))
        }
        let writer = try LargeRowWriter(
            table.name, key: rowID, cells: cells, on: context.connection, options: context.options)
        self.writer = writer
        select = try context.connection.prepare(
            """
            SELECT \(([rowID] + writer.selection).joined(separator: ", ")) FROM source.\(table.quotedName)
            WHERE \(rowID) > ?1 AND \(rowID) <= ?2
            """)
    }

    var writesScratch: Bool { false }

    func carry(after low: Int64, upTo rows: Int, _ entries: inout [ProgressTable.Entry]) throws -> KeyRange? {
        let range = try ranges.carry(after: low, upTo: rows) { range in
            try copy.bind(range)
            let limit = writer == nil ? context.options.wholeValueBytes : context.options.valueBytes
            try context.connection.with(.length, limit) { try copy.run() }
            return range.rows
        }
        entries[0].read += range?.rows ?? 0
        return range
    }

    func giveUp() -> ChunkWalk.CarryAlone? {
        guard let writer, let select else { return nil }
        return { range, entries in entries[0].read += try carryAlone(range, select, writer) }
    }

    private func carryAlone(_ range: KeyRange, _ select: Statement, _ writer: LargeRowWriter) throws -> Int64 {
        var read: Int64 = 0
        try select.bind([.integer(range.low), .integer(range.high)])
        defer { select.reset() }
        do {
            while try select.step() {
                guard try writer.write(select.integer(0), from: select, at: 1) else {
                    throw refusal(range.high, cause: nil)
                }
                read += 1
            }
            return read
        } catch let error as DatabaseError where error.isTooBig {
            throw refusal(range.high, cause: error)
        }
    }

    private func refusal(_ key: Int64, cause: (any Error)?) -> FerryError {
        FerryError(
            valueOf: table.name, key: key, entityMapping: nil, memoryLimit: context.options.memoryLimit, cause: cause)
    }
}
