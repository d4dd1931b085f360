internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite

/// Packed rows, whose cells are bound to one INSERT; unchanged columns stay SQLite values.
struct StreamedRows: BoundRows {
    let loop: RowLoop
    private let stream: RowStream
    private let insert: Statement
    /// Parameters that are bound for each row; the others stay bound.
    private let bindings: [CellBinding]

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        let sql = MappingSQL(mapping, in: context.sql)
        let plan = try RowPlan(sql, now: context.options.now)
        stream = try RowStream(plan, in: context)
        insert = try context.connection.prepare(sql.insert(columns: plan.columns.map(\.name)))
        try insert.bind(try context.sql.destinationNumber(of: mapping), at: 2)
        let version = mapping.keepsPrimaryKey ? RowValue.column(RowPlan.versionCell) : .constant(.integer(1))
        bindings = try insert.bindConstants(of: [version] + plan.columns.map(\.value), from: 3)
        loop = try RowLoop(mapping, plan.uniqueValues, in: context)
    }

    func carry(_ range: KeyRange) throws -> ChunkOutcome { try stream.reading(range) { try loop.carry(self) } }

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
