internal import FerrySQLite

/// Rows of three integers in the order in which they were added.
///
/// The lookup file holds them in blobs of many rows: a row costs the copying of its numbers, not an insertion.
final class IntegerRun {
    typealias Row = (Int64, Int64, Int64)

    private static let rowBytes = MemoryLayout<Row>.size
    private static let mostRows = (32 << 10) / rowBytes

    let table: String
    private let waiting: UnsafeMutablePointer<Row>
    private var count = 0
    private let insert: Statement
    private let connection: Connection

    init(into table: String, on connection: Connection) throws(DatabaseError) {
        try connection.execute("CREATE TABLE IF NOT EXISTS \(table) (number INTEGER PRIMARY KEY, rows BLOB)")
        (self.table, self.connection) = (table, connection)
        insert = try connection.prepare("INSERT INTO \(table) (rows) VALUES (?)")
        waiting = .allocate(capacity: Self.mostRows)
    }

    deinit { waiting.deallocate() }

    func add(_ first: Int64, _ second: Int64, _ third: Int64) throws(DatabaseError) {
        waiting[count] = (first, second, third)
        count += 1
        if count == Self.mostRows { try flush() }
    }

    /// To be called before the lookup file is committed.
    func flush() throws(DatabaseError) {
        if count == 0 { return }
        try insert.bind(blob: UnsafeRawBufferPointer(start: waiting, count: count * Self.rowBytes), at: 1)
        try insert.run()
        count = 0
    }

    /// Returns a function that yields one row after the other.
    func rows() throws(DatabaseError) -> () throws -> Row? {
        try flush()
        let blobs = try connection.prepare("SELECT rows FROM \(table) ORDER BY number")
        var blob = UnsafeRawBufferPointer(start: nil, count: 0)
        var place = 0
        return {
            if place == blob.count {
                guard try blobs.step() else { return nil }
                (blob, place) = (blobs.lentBytes(0), 0)
            }
            defer { place += Self.rowBytes }
            // A blob within a page need not be aligned.
            return blob.loadUnaligned(fromByteOffset: place, as: Row.self)
        }
    }
}
