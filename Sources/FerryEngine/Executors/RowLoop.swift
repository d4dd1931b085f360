internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

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
                ScratchTables.associatedRow(of: mapping)) : nil
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
