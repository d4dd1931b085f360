internal import FerrySQLite

/// Rows of integers in partitions, which are read back one at a time, each in the order in which its rows were added.
///
/// The lookup file holds them in blobs of many rows: a row costs the copying of its numbers, neither an insertion nor,
/// later, a place in a sorter.
final class RowPartitions {
    let count: Int
    /// Fewer numbers per blob would cost an insertion for every few rows.
    private static let leastNumbers = 64
    /// A blob's rowid begins with the number of its partition.
    private static let sequenceBits: Int64 = 40

    private let width: Int
    private let room: Int
    private let waiting: UnsafeMutablePointer<Int64>
    private var filled: [Int]
    private var sequence: Int64
    /// Whether no row was ever added.
    var isEmpty: Bool { sequence == 0 && filled.allSatisfy { $0 == 0 } }
    private let insert: Statement
    private let read: String
    private let connection: Connection

    /// `bytes` is the memory for rows that are not in the file yet, of all partitions together.
    init(
        into table: String, width: Int, partitions: Int = 64, bytes: Int, on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute("CREATE TABLE IF NOT EXISTS \(table) (number INTEGER PRIMARY KEY, rows BLOB)")
        (self.width, count, self.connection) = (width, partitions, connection)
        filled = Array(repeating: 0, count: partitions)
        room = max(Self.leastNumbers, bytes / partitions / MemoryLayout<Int64>.stride) / width * width
        insert = try connection.prepare("INSERT INTO \(table) VALUES (?, ?)")
        read = "SELECT rows FROM \(table) WHERE number BETWEEN ? AND ? ORDER BY number"
        let mask = Int64(1) << Self.sequenceBits - 1
        sequence = try connection.integer("SELECT max(number & \(mask)) FROM \(table)") ?? 0
        waiting = .allocate(capacity: room * partitions)
    }

    deinit { waiting.deallocate() }

    func add(
        to partition: Int, _ first: Int64, _ second: Int64, _ third: Int64, _ fourth: Int64, _ fifth: Int64
    ) throws(DatabaseError) {
        let place = waiting + partition * room + filled[partition]
        (place[0], place[1], place[2], place[3], place[4]) = (first, second, third, fourth, fifth)
        try advance(partition)
    }

    func add(to partition: Int, _ first: Int64, _ second: Int64, _ third: Int64) throws(DatabaseError) {
        let place = waiting + partition * room + filled[partition]
        (place[0], place[1], place[2]) = (first, second, third)
        try advance(partition)
    }

    private func advance(_ partition: Int) throws(DatabaseError) {
        filled[partition] += width
        if filled[partition] == room { try write(partition) }
    }

    private func write(_ partition: Int) throws(DatabaseError) {
        sequence += 1
        try insert.bind(Int64(partition) << Self.sequenceBits + sequence, at: 1)
        try insert.bind(
            blob: UnsafeRawBufferPointer(
                start: waiting + partition * room, count: filled[partition] * MemoryLayout<Int64>.stride), at: 2)
        try insert.run()
        filled[partition] = 0
    }

    /// To be called before rows are read, or the lookup file is committed.
    func flush() throws(DatabaseError) {
        for partition in 0..<count where filled[partition] > 0 { try write(partition) }
    }

    /// Calls the body with a pointer to each row of a partition.
    func forEach(in partition: Int, _ body: (UnsafePointer<Int64>) throws -> Void) throws {
        let rows = try rows(of: partition)
        while let row = try rows.next() { try body(row) }
    }

    /// The rows of a partition, all of which are in the file.
    func rows(of partition: Int) throws(DatabaseError) -> PackedIntegers {
        let statement = try connection.prepare(read)
        let first = Int64(partition) << Self.sequenceBits
        try statement.bind(first, at: 1)
        try statement.bind(first + (1 << Self.sequenceBits - 1), at: 2)
        return PackedIntegers(statement, width: width)
    }
}

/// Rows of integers that lie one behind the other in the blobs of a statement.
final class PackedIntegers {
    private let blobs: Statement
    private let rowBytes: Int
    private let row: UnsafeMutablePointer<Int64>
    private var blob = UnsafeRawBufferPointer(start: nil, count: 0)
    private var place = 0

    init(_ blobs: Statement, width: Int) {
        (self.blobs, rowBytes) = (blobs, width * MemoryLayout<Int64>.stride)
        row = .allocate(capacity: width)
    }

    deinit {
        row.deallocate()
        blobs.reset()
    }

    /// The next row, valid until the next call.
    func next() throws(DatabaseError) -> UnsafePointer<Int64>? {
        if place == blob.count {
            guard try blobs.step() else { return nil }
            (blob, place) = (blobs.lentBytes(0), 0)
        }
        // A blob within a page need not be aligned.
        UnsafeMutableRawBufferPointer(start: row, count: rowBytes).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: blob[place..<place + rowBytes]))
        place += rowBytes
        return UnsafePointer(row)
    }
}
