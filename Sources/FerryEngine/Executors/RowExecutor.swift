internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

/// Writes the rows of one entity mapping, a range of source keys at a time.
protocol MappingExecutor {
    var writesScratch: Bool { get }

    /// Whether the executor takes an open range and reports the actual one.
    var takesOpenRanges: Bool { get }

    /// Writes the rows of one range, inside the caller's transaction.
    func carry(_ range: KeyRange) throws -> ChunkOutcome
}

extension MappingExecutor {
    var takesOpenRanges: Bool { false }
}

/// The row counts of one range; each is counted by itself, so that a lost row shows.
struct ChunkOutcome {
    var read: Int64 = 0
    var written: Int64 = 0
    var dropped: Int64 = 0
    var merged: Int64 = 0
    /// Objects that a policy inserted beyond one for each source object.
    var created: Int64 = 0
    /// The actual range of an open one, or nil if there were no rows.
    var actualRange: KeyRange?

    var balances: Bool { read + created == written + dropped + merged }
}

/// The rows of an entity mapping, with functions that read a row and write its new row.
protocol BoundRows: MappingExecutor {
    associatedtype Row

    var loop: RowLoop { get }
    /// The next row of the range, valid until the next call; nil at the end of the range.
    func next() throws -> Row?
    /// Whether the row is migrated: the filter holds, and its JSON is valid or may be invalid.
    func isTaken(_ row: Row) -> Bool
    func key(of row: Row) -> Int64
    func find(_ row: Row, in objects: UniqueObjects) throws -> Int64?
    func write(_ row: Row, to key: Int64) throws
    func bindElementKey(of row: Row, to statement: Statement, at index: Int) throws
}

extension BoundRows {
    var writesScratch: Bool { loop.writesScratch }
}

/// Writes the rows of one entity mapping one by one in Swift, with the keys, order and lookups of ``SetExecutor``.
struct RowLoop {
    private let mapping: ResolvedEntityMapping
    /// Nil if objects keep their keys.
    private let keys: NewKeys?
    private let association: Statement?
    private let unique: UniqueObjects?

    /// `values`: the values of `unique` in packed rows; nil if the rows are a statement's.
    init(_ mapping: ResolvedEntityMapping, _ values: [RowValue]?, in context: StepContext) throws {
        self.mapping = mapping
        keys = mapping.keepsPrimaryKey ? nil : try NewKeys(of: mapping.destination, in: context)
        association =
            context.isAssociated(mapping)
            ? try context.connection.prepare(
                """
                \(ScratchTables.insertion(intoAssociationOf: mapping))
                VALUES (?1, ?2, ?3, ?4)
                """) : nil
        unique = mapping.unique.isEmpty ? nil : try UniqueObjects(mapping, values, in: context)
    }

    var writesScratch: Bool { association != nil || unique != nil }

    func carry<Rows: BoundRows>(_ rows: Rows) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        let keepsKey = mapping.keepsPrimaryKey
        var key = try keys?.last() ?? 0
        try unique?.lookup.begin(after: key)
        var source: Int64?
        var element: Int64 = 0
        while let row = try rows.next() {
            outcome.read += 1
            guard rows.isTaken(row) else {
                outcome.dropped += 1
                continue
            }
            let origin = rows.key(of: row)
            if source != origin { (source, element) = (origin, 0) }
            element += 1
            if let unique, let known = try rows.find(row, in: unique) {
                outcome.merged += 1
                try associate(rows, row, element, with: known)
                continue
            }
            var destination = origin
            if !keepsKey {
                key += 1
                destination = key
            }
            try unique?.lookup.add(destination)
            try rows.write(row, to: destination)
            outcome.written += 1
            try associate(rows, row, element, with: destination)
        }
        return outcome
    }

    private func associate<Rows: BoundRows>(
        _ rows: Rows, _ row: Rows.Row, _ element: Int64, with destination: Int64
    ) throws {
        guard let association else { return }
        try association.bind(rows.key(of: row), at: 1)
        try association.bind(element, at: 2)
        try rows.bindElementKey(of: row, to: association, at: 3)
        try association.bind(destination, at: 4)
        try association.run()
    }
}

/// Finds objects by the values of `unique`, one row at a time.
final class UniqueObjects {
    let lookup: ObjectLookup
    private let search: Statement
    /// Parameters that are bound for each row; the others stay bound.
    private let cells: [CellBinding]

    /// `values`: the values of `unique` in packed rows; nil for large rows, which use ``find(in:at:)``.
    init(_ mapping: ResolvedEntityMapping, _ values: [RowValue]?, in context: StepContext) throws {
        let lookup = try ObjectLookup.of(mapping, ofLargeRows: values == nil, in: context)
        self.lookup = lookup
        let (connection, count) = (context.connection, mapping.unique.count)
        let function = "ferry_seek_\(lookup.id)"
        try connection.register(function, arguments: count, deterministic: false) {
            [owner = lookup.owner] arguments, result in
            if let key = try owner.object?.find(arguments, from: 0) { result.set(key) }
        }
        search = try connection.prepare(
            "SELECT \(function)(\((1...count).map { "?\($0)" }.joined(separator: ", ")))")
        search.isSilent = true
        cells = try search.bindConstants(of: values ?? [], from: 1)
    }

    func find(_ row: PackedRow) throws -> Int64? {
        try search.bind(cells, of: row)
        return try found()
    }

    func find(in statement: Statement, at columns: Range<Int>) throws -> Int64? {
        for (index, column) in columns.enumerated() {
            try search.bind(column: column, of: statement, at: index + 1)
        }
        return try found()
    }

    private func found() throws -> Int64? {
        defer { search.reset() }
        return try search.step() && !search.isNull(0) ? search.integer(0) : nil
    }
}

/// Packed rows, whose cells are bound to one INSERT; unchanged columns stay SQLite values.
struct StreamedRows: BoundRows {
    let loop: RowLoop
    private let stream: RowStream
    private let insert: Statement
    /// Parameters that are bound for each row; the others stay bound.
    private let bindings: [CellBinding]

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        let sql = MappingSQL(mapping, in: context.sql)
        let plan = try RowPlan(sql, in: context)
        stream = try RowStream(plan, in: context)
        insert = try context.connection.prepare(sql.insert(columns: plan.columns.map(\.name)))
        try insert.bind(try context.sql.destinationNumber(of: mapping), at: 2)
        let version = mapping.keepsPrimaryKey ? RowValue.column(RowPlan.versionCell) : .constant(.integer(1))
        bindings = try insert.bindConstants(of: [version] + plan.columns.map(\.value), from: 3)
        loop = try RowLoop(mapping, plan.uniqueValues, in: context)
    }

    var takesOpenRanges: Bool { stream.runsAhead }

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
