internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

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
