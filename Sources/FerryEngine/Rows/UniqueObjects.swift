internal import FerryMapping
internal import FerrySQLite

/// The objects that are found by the values of `unique`, one after another.
final class UniqueObjects {
    private let search: Statement
    private let record: Statement
    private let cells: [CellBinding]
    private let count: Int

    init(_ sql: RowStatements, _ values: [RowValue], on connection: Connection) throws {
        let lookup = ScratchDatabase.lookup(of: sql.mapping.destination, by: sql.mapping.unique)
        count = sql.mapping.unique.count
        let equal = (0..<count).map { "l.v\($0) IS ?\($0 + 1)" }.joined(separator: " AND ")
        search = try connection.prepare(
            "SELECT l.destination FROM \(lookup) AS l WHERE \(equal) ORDER BY l.destination LIMIT 1")
        let names = (0..<count).map { "v\($0)" } + ["destination"]
        let parameters = names.indices.map { "?\($0 + 1)" }
        record = try connection.prepare(
            "INSERT INTO \(lookup) (\(names.joined(separator: ", "))) VALUES (\(parameters.joined(separator: ", ")))")
        var cells: [CellBinding] = []
        for (index, value) in values.enumerated() {
            switch value {
            case .column(let cell): cells.append(CellBinding(cell: cell, parameter: index + 1))
            case .constant(let value):
                try search.bind(value, at: index + 1)
                try record.bind(value, at: index + 1)
            case .evaluated: preconditionFailure("the reader evaluates")
            }
        }
        self.cells = cells
    }

    /// The object that has the values of a row, if there is one.
    func find(_ row: PackedRow) throws -> Int64? {
        try search.bind(cells, of: row)
        try record.bind(cells, of: row)
        defer { search.reset() }
        return try search.step() ? search.integer(0) : nil
    }

    /// Makes a new object known by the values that were looked for last.
    func add(_ destination: Int64) throws {
        try record.bind(destination, at: count + 1)
        try record.run()
    }
}
