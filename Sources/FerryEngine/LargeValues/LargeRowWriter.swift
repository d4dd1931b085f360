internal import FerryBase
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Writes rows with values that are too large for memory, one at a time.
///
/// SQLite keeps a run of BLOBs at the end of a record out of memory when they are all zeros yet. So the row is inserted
/// with zeros, and then each of these BLOBs is written in pieces. A value that has something else behind it, and every
/// text, must be whole in memory, twice: as itself, and in the record.
final class LargeRowWriter {
    private let connection: Connection
    private let options: EngineOptions
    private let table: String
    /// What the rows are of, for messages.
    private let subject: (entity: String, mapping: String?)
    private let cells: [LargeCell]
    private let insert: Statement
    private var buffer: [UInt8] = []
    /// Long enough that the calls cost nothing beside the bytes.
    private static let pieceBytes = 1 << 18

    /// - Parameters:
    ///   - table: The new store's table, not quoted.
    ///   - key: The name under which the number of a row is reached.
    ///   - cells: What is written, in the order of the table's columns.
    ///   - subject: What the rows are of, for messages.
    ///   - context: The step.
    /// - Throws: ``DatabaseError``.
    init(
        _ table: String, key: String, cells: [LargeCell], of subject: (entity: String, mapping: String?),
        in context: StepContext
    ) throws(DatabaseError) {
        (connection, options) = (context.connection, context.options)
        (self.table, self.subject, self.cells) = (table, subject, cells)
        let names = [key] + cells.map(\.name)
        insert = try connection.prepare(
            """
            INSERT INTO main.\(Connection.quoted(table)) (\(names.joined(separator: ", ")))
            VALUES (\(names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))
            """)
    }

    /// What a statement must select for a row.
    var selection: [String] { cells.flatMap(\.selection) }

    /// How a cell's value comes into its row.
    private enum Way {
        case bound
        /// A BLOB that is at hand, written after the row.
        case written
        /// A stored value, copied in pieces after the row.
        case copied(size: Int, row: Int64)
    }

    /// Writes one row from the current row of a statement.
    ///
    /// - Parameters:
    ///   - key: The new row's number.
    ///   - row: Has what ``selection`` asks for, from a place on.
    ///   - place: The first of these columns.
    ///   - origin: The number of the row that it comes from, for messages.
    /// - Throws: ``DatabaseError``; ``FerryError`` `.valueTooLarge` when the row would take more memory than there is:
    ///   nothing is written then.
    func write(_ key: Int64, from row: Statement, at place: Int, of origin: Int64) throws {
        let ways = ways(row, place)
        // What stands beside a text of the largest size is of the size that goes with any chunk.
        guard cost(of: ways, row, place) <= options.wholeValueBytes + options.valueBytes else {
            throw refusal(of: origin, cause: nil)
        }
        // Zeros count as bytes of the record, though none of them is in memory.
        try connection.with(.length, .max) {
            try insert.bind(key, at: 1)
            for (index, way) in ways.enumerated() {
                switch way {
                case .bound: try insert.bind(borrowed: place + 3 * index, of: row, at: index + 2)
                case .written: try insert.bind(zeros: byteCount(row, place + 3 * index), at: index + 2)
                case .copied(let size, _): try insert.bind(zeros: size, at: index + 2)
                }
            }
            defer { insert.unbind() }
            try insert.run()
        }
        for (index, way) in ways.enumerated() {
            switch way {
            case .bound: break
            case .written: try write(place + 3 * index, of: row, to: cells[index], key)
            case .copied(let size, let origin): try copy(cells[index], size, from: origin, to: key)
            }
        }
    }

    /// Runs what reads and writes a row; a value that SQLite has no memory for is refused with the row's number.
    func refusing<Result>(_ key: Int64, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError where error.isTooBig {
            throw refusal(of: key, cause: error)
        }
    }

    private func refusal(of key: Int64, cause: (any Error)?) -> FerryError {
        FerryError(
            valueOf: subject.entity, key: key, entityMapping: subject.mapping, memoryLimit: options.memoryLimit,
            cause: cause)
    }

    // MARK: Ways

    private func ways(_ row: Statement, _ place: Int) -> [Way] {
        var isBehindLarge = false
        return cells.indices.map { index in
            let first = place + 3 * index
            if let origin = cells[index].origin, !row.isNull(first + 1) {
                isBehindLarge = true
                let size = Int(row.integer(first + 1)) - origin.skipped + origin.prefix.count
                return .copied(size: size, row: row.integer(first + 2))
            }
            return isBehindLarge && row.storageClass(first) == .blob ? .written : .bound
        }
    }

    private func byteCount(_ row: Statement, _ column: Int) -> Int { row.withBytes(column) { $0.count } }

    /// What must be whole in memory: texts, BLOBs that are at hand, and BLOBs with anything but BLOBs behind them.
    private func cost(of ways: [Way], _ row: Statement, _ place: Int) -> Int {
        var cost = 0
        var hasDataBehind = false
        for (index, way) in ways.enumerated().reversed() {
            let column = place + 3 * index
            switch way {
            case .copied(let size, _): cost += hasDataBehind ? size : 0
            case .written: cost += byteCount(row, column)
            case .bound:
                let type = row.storageClass(column)
                if type == .text || type == .blob { cost += byteCount(row, column) }
                if type != .null { hasDataBehind = true }
            }
        }
        return cost
    }

    // MARK: Pieces

    private func write(_ column: Int, of row: Statement, to cell: LargeCell, _ key: Int64) throws {
        let target = try BlobHandle(
            cell.rawName, of: table, row: key, schema: "main", writable: true, on: connection)
        try row.withBytes(column) { try target.write($0, at: 0) }
    }

    private func copy(_ cell: LargeCell, _ size: Int, from row: Int64, to key: Int64) throws {
        guard let origin = cell.origin, size > 0 else { return }
        let source = try BlobHandle(
            origin.column, of: origin.table, row: row, schema: origin.schema, on: connection)
        let target = try BlobHandle(
            cell.rawName, of: table, row: key, schema: "main", writable: true, on: connection)
        if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: Self.pieceBytes) }
        if origin.skipped > 0 { try checkHasContents(source) }
        try origin.prefix.withUnsafeBytes { try target.write($0, at: 0) }
        var done = origin.skipped
        while done < source.count {
            try options.stop.check()
            let count = min(Self.pieceBytes, source.count - done)
            try buffer.withUnsafeMutableBytes { bytes in
                let piece = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
                try source.read(into: piece, at: done)
                try target.write(
                    UnsafeRawBufferPointer(piece), at: done - origin.skipped + origin.prefix.count)
            }
            done += count
        }
    }

    /// Of a value of an attribute with external storage the first byte says where it is.
    private func checkHasContents(_ source: borrowing BlobHandle) throws {
        var first: UInt8 = 0
        try withUnsafeMutableBytes(of: &first) { try source.read(into: $0, at: 0) }
        guard first == 1 else { throw ExternalContents.isNeitherContentsNorName }
    }
}

/// A column of a row that holds values too large to go through memory, and where its value comes from.
struct LargeCell {
    /// A stored value that may be copied in pieces.
    struct Origin {
        var schema = "source"
        /// The table and the column, not quoted.
        var table: String
        var column: String
        /// SQL of the value, and of the number of its row.
        var value: String
        var key: String
        /// Bytes of the stored value that are left out.
        var skipped = 0
        /// Bytes that stand before it.
        var prefix: [UInt8] = []

        init(table: String, column: String, value: String, key: String) {
            (self.table, self.column, self.value, self.key) = (table, column, value, key)
        }

        /// Nil where the store has no table of the object.
        init?(_ stored: StoredValue, in layout: StoreLayout) {
            guard let table = layout.table(of: stored.object.entity) else { return nil }
            self.init(
                table: table.name, column: stored.column, value: stored.sql, key: "\(stored.object.alias).Z_PK")
            switch stored.mark {
            case .asStored: break
            case .added: prefix = [1]
            case .removed: skipped = 1
            }
        }
    }

    /// The destination's column, as it is written in SQL.
    var name: String
    /// The same, not quoted.
    var rawName: String
    /// SQL of the value.
    var sql: String
    var origin: Origin?

    /// What a statement selects for the cell: the value where it goes through memory, else its size and the number of
    /// the row that has it.
    ///
    /// `typeof` and `length` of a BLOB do not read it.
    var selection: [String] {
        guard let origin else { return [sql, "NULL", "NULL"] }
        // The name of a file stands in fewer bytes than this; of contents the first byte tells that they are there.
        let isStreamed =
            origin.skipped > 0
            ? "typeof(\(origin.value)) = 'blob' AND length(\(origin.value)) > \(Self.longestName)"
            : "typeof(\(origin.value)) = 'blob'"
        return [
            "CASE WHEN \(isStreamed) THEN NULL ELSE \(sql) END",
            "CASE WHEN \(isStreamed) THEN length(\(origin.value)) END", origin.key,
        ]
    }

    private static let longestName = 64
}
