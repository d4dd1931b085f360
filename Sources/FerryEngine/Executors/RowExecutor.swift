internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of one entity mapping through Swift: a row is read, what must be computed is computed, and the row
/// is written.
///
/// Untouched columns pass as SQLite's own values, and reading goes on while rows are written (``RowStream``).
final class RowExecutor: CountingExecutor {
    private let loop: RowLoop
    private let rows: StreamedRows

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        let sql = RowStatements(context: context, mapping: mapping)
        let plan = try RowPlan(sql)
        rows = try StreamedRows(plan, sql)
        loop = try RowLoop(sql, plan.uniqueValues, use: .rows)
    }

    var writesScratch: Bool { loop.writesScratch }

    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        defer { rows.stream.end() }
        try rows.stream.begin(range)
        return try loop.carry(rows)
    }

    var counting: (any CountingExecutor)? { rows.stream.countsRows ? self : nil }

    func carry(after low: Int64, upTo count: Int) throws -> (ChunkOutcome, KeyRange?) {
        defer { rows.stream.end() }
        try rows.stream.begin(after: low, rows: count)
        let outcome = try loop.carry(rows)
        return (outcome, try rows.stream.takenRange())
    }
}

/// Packed rows, whose cells are bound to one statement.
private struct StreamedRows: BoundRows {
    let stream: RowStream
    private let insert: Statement
    /// What is bound from each row; all else stays bound.
    private let bindings: [CellBinding]

    init(_ plan: RowPlan, _ sql: RowStatements) throws {
        let (context, mapping) = (sql.context, sql.mapping)
        stream = try RowStream(plan, in: context)
        insert = try context.connection.prepare(sql.insert(columns: plan.columns.map(\.name)))
        try insert.bind(try context.destinationNumber(of: mapping), at: 2)
        var bindings: [CellBinding] = []
        if mapping.keepsPrimaryKey {
            bindings.append(CellBinding(cell: RowPlan.versionCell, parameter: 3))
        } else {
            try insert.bind(Int64(1), at: 3)
        }
        for (index, column) in plan.columns.enumerated() {
            switch column.value {
            case .column(let cell): bindings.append(CellBinding(cell: cell, parameter: index + 4))
            case .constant(let value): try insert.bind(value, at: index + 4)
            case .evaluated: preconditionFailure("the reader evaluates")
            }
        }
        self.bindings = bindings
    }

    func next() throws -> PackedRow? { try stream.next() }
    func isTaken(_ row: PackedRow) -> Bool { row.isTaken }
    func key(of row: PackedRow) -> Int64 { row.integer(RowPlan.keyCell) }
    func find(_ row: PackedRow, in objects: UniqueObjects) throws -> Int64? { try objects.find(row) }

    func write(_ row: PackedRow, to key: Int64) throws {
        try insert.bind(key, at: 1)
        try insert.bind(bindings, of: row)
        try insert.run()
    }

    func bindElementKey(of row: PackedRow, to statement: Statement, at index: Int) throws {
        try statement.bind(borrowing: RowPlan.elementKeyCell, of: row, at: index)
    }
}
