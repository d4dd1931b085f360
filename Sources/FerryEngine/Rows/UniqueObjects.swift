internal import FerryMapping
internal import FerrySQLite

/// The objects that are found by the values of `unique`, one after another.
final class UniqueObjects {
    private let lookup: ObjectLookup
    private let search: Statement
    /// What is bound from each row; all else stays bound.
    private let cells: [CellBinding]

    /// - Parameters:
    ///   - sql: The mapping's statements.
    ///   - values: Where packed rows have the values; nil where ``find(in:at:)`` is asked.
    ///   - use: What tells several lookups of one mapping apart.
    ///   - connection: The step's connection.
    /// - Throws: ``FerryError``, ``DatabaseError``.
    init(
        _ sql: RowStatements, _ values: [RowValue]?, use: RowStatements.LookupUse, on connection: Connection
    ) throws {
        let lookup = try sql.lookup(use)
        self.lookup = lookup
        let count = sql.mapping.unique.count
        let function = "ferry_seek_\(sql.lookupNumber(use))"
        try connection.register(function, arguments: count, deterministic: false) { [weak lookup] arguments, result in
            if let key = try lookup?.find(arguments, from: 0) { result.set(key) }
        }
        search = try connection.prepare(
            "SELECT \(function)(\((1...count).map { "?\($0)" }.joined(separator: ", ")))")
        search.isSilent = true
        var cells: [CellBinding] = []
        for (index, value) in (values ?? []).enumerated() {
            switch value {
            case .column(let cell): cells.append(CellBinding(cell: cell, parameter: index + 1))
            case .constant(let value): try search.bind(value, at: index + 1)
            case .evaluated: preconditionFailure("the reader evaluates")
            }
        }
        self.cells = cells
    }

    /// Makes sure that all objects are known; to be called first in each unit.
    func begin(after last: Int64) throws { try lookup.begin(after: last) }

    /// The object that has the values of a row, if there is one.
    func find(_ row: PackedRow) throws -> Int64? {
        try search.bind(cells, of: row)
        return try found()
    }

    /// The object that has the values in some columns of a statement's current row, if there is one.
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

    /// Makes a new object known by the values that were looked for last.
    func add(_ destination: Int64) throws { try lookup.add(destination) }
}
