internal import FerrySQLite

/// Rows of integers on their way into a table of the lookup file, many at a time: a statement for many rows takes half the
/// time of as many for one.
final class IntegerRows {
    private static let rowsAtOnce = 64

    private let width: Int
    private let insert: Statement
    private let insertMany: Statement
    /// Rows that are not in the table yet, column by column.
    private var waiting: [Int64] = []

    init(into table: String, width: Int, on connection: Connection) throws(DatabaseError) {
        let row = "(\(Array(repeating: "?", count: width).joined(separator: ", ")))"
        func insert(_ rows: Int) throws(DatabaseError) -> Statement {
            let values = Array(repeating: row, count: rows).joined(separator: ", ")
            return try connection.prepare("INSERT INTO \(table) VALUES \(values)")
        }
        (self.width, self.insert, insertMany) = (width, try insert(1), try insert(Self.rowsAtOnce))
        waiting.reserveCapacity(width * Self.rowsAtOnce)
    }

    func add(_ row: Int64...) throws(DatabaseError) {
        waiting.append(contentsOf: row)
        guard waiting.count == width * Self.rowsAtOnce else { return }
        for index in waiting.indices { try insertMany.bind(waiting[index], at: index + 1) }
        try insertMany.run()
        waiting.removeAll(keepingCapacity: true)
    }

    /// To be called before the table is read, or the lookup file is committed.
    func flush() throws(DatabaseError) {
        for row in stride(from: 0, to: waiting.count, by: width) {
            for column in 0..<width { try insert.bind(waiting[row + column], at: column + 1) }
            try insert.run()
        }
        waiting.removeAll(keepingCapacity: true)
    }
}
