internal import FerryMapping
internal import FerrySQLite

/// Rows of an entity mapping, one after another: where they are read, and how their values come into the new rows.
protocol BoundRows {
    associatedtype Row

    /// The next row of the range, borrowed until the one after it is asked for; nil at the end of the range.
    func next() throws -> Row?
    /// Whether the row is carried: its JSON is valid or need not be, and the filter lets it through.
    func isTaken(_ row: Row) -> Bool
    func key(of row: Row) -> Int64
    func find(_ row: Row, in objects: UniqueObjects) throws -> Int64?
    func write(_ row: Row, to key: Int64) throws
    /// Binds the key of an element that is an object.
    func bindElementKey(of row: Row, to statement: Statement, at index: Int) throws
}

/// Carries the rows of an entity mapping one by one: new keys, lookups, associations and counts.
///
/// Keys, order and lookups are those of ``SetExecutor``.
struct RowLoop {
    private let context: StepContext
    private let mapping: ResolvedEntityMapping
    private let destinationTable: String
    private let firstKey: Int64
    private let association: Statement?
    private let unique: UniqueObjects?

    /// - Parameters:
    ///   - sql: The mapping's statements.
    ///   - values: Where packed rows have the values of `unique`; nil where a statement's columns have them.
    ///   - use: What tells several lookups of one mapping apart.
    /// - Throws: ``FerryError``, ``DatabaseError``.
    init(_ sql: RowStatements, _ values: [RowValue]?, use: RowStatements.LookupUse) throws {
        (context, mapping) = (sql.context, sql.mapping)
        let connection = context.connection
        destinationTable = try context.destinationTable(of: mapping)
        firstKey = try KeyBase.lastKeptKey(below: mapping, in: context)
        association =
            context.isAssociated(mapping)
            ? try connection.prepare(
                """
                INSERT INTO \(ScratchDatabase.association(of: mapping)) (source, element, object, destination)
                VALUES (?1, ?2, ?3, ?4)
                """) : nil
        unique = mapping.unique.isEmpty ? nil : try UniqueObjects(sql, values, use: use, on: connection)
    }

    var writesScratch: Bool { association != nil || unique != nil }

    func carry<Rows: BoundRows>(_ rows: Rows) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        let keepsKey = mapping.keepsPrimaryKey
        var key = try KeyBase.lastKey(of: mapping, in: destinationTable, above: firstKey, context)
        try unique?.begin(after: key)
        var source: Int64?
        var element: Int64 = 0
        while let row = try rows.next() {
            outcome.read += 1
            guard rows.isTaken(row) else { continue }
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
            try unique?.add(destination)
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
