internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Source objects with values that are too large for their chunk, which are copied in pieces, whichever executor
/// carries the others.
struct LargeRows: BoundRows {
    let loop: RowLoop
    private let select: Statement
    /// How many objects and elements there are before the filter.
    private let count: Statement
    private let writer: LargeRowWriter
    private let uniquePlaces: Range<Int>

    private static let keyPlace = 0
    private static let elementKeyPlace = 1
    private static let firstUniquePlace = 2

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        let sql = MappingSQL(mapping, in: context)
        uniquePlaces = Self.firstUniquePlace..<Self.firstUniquePlace + mapping.unique.count
        var scope = try sql.scope()
        var selected = ["s.Z_PK", scope.elementKey ?? "NULL"]
        selected += try sql.uniqueValues(in: &scope)
        let cells = try Self.cells(sql, &scope)
        writer = try LargeRowWriter(
            context.destinationTable(of: mapping), key: "Z_PK", cells: cells, of: (mapping.source, mapping.name),
            in: context)
        selected += writer.selection
        let order = mapping.iteration == nil ? "" : " ORDER BY \(scope.order)"
        count = try sql.count().prepare(on: context.connection)
        select = try BoundSQL(
            text: "SELECT \(selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where)\(order)",
            parameters: scope.parameters
        ).prepare(on: context.connection)
        loop = try RowLoop(sql, nil)
    }

    /// The columns that the mapping sets, in the order in which the table has them.
    private static func cells(_ sql: MappingSQL, _ scope: inout SourceScope) throws -> [LargeCell] {
        let (context, mapping) = (sql.context, sql.mapping)
        let number = scope.parameters.add(.integer(try context.destinationNumber(of: mapping)))
        let version = mapping.keepsPrimaryKey ? "s.Z_OPT" : scope.parameters.add(.integer(1))
        var cells = [
            LargeCell(name: "Z_ENT", rawName: "Z_ENT", sql: number),
            LargeCell(name: "Z_OPT", rawName: "Z_OPT", sql: version),
        ]
        let values = Dictionary(
            try sql.columns(in: &scope).map { ($0.column.uppercased(), $0.value) }, uniquingKeysWith: { $1 })
        let columns = context.destination.table(of: mapping.destination)?.columns ?? []
        for column in columns {
            guard let value = values[column.name.uppercased()] else { continue }
            cells.append(
                LargeCell(
                    name: column.name, rawName: column.name, sql: value.sql,
                    origin: value.stored.flatMap { .init($0, in: context.source) }))
        }
        return cells
    }

    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        for statement in [select, count] { try statement.bind(range) }
        defer { for statement in [select, count] { statement.reset() } }
        return try writer.refusing(range.high) {
            let read = try count.step() ? count.integer(0) : 0
            var outcome = try loop.carry(self)
            outcome.read = read
            return outcome
        }
    }

    func next() throws -> Statement? { try select.step() ? select : nil }
    func isTaken(_ row: Statement) -> Bool { true }
    func key(of row: Statement) -> Int64 { row.integer(Self.keyPlace) }

    func find(_ row: Statement, in objects: UniqueObjects) throws -> Int64? {
        try objects.find(in: row, at: uniquePlaces)
    }

    func write(_ row: Statement, to key: Int64) throws {
        try writer.write(key, from: row, at: uniquePlaces.upperBound, of: self.key(of: row))
    }

    func bindElementKey(of row: Statement, to statement: Statement, at index: Int) throws {
        try statement.bind(column: Self.elementKeyPlace, of: row, at: index)
    }

}

extension FerryError {
    /// The refusal of a row that would take more memory than there is.
    init(valueOf entity: String, key: Int64?, entityMapping: String?, memoryLimit: Int, cause: (any Error)?) {
        let row = key.map { "\(entity) with key \($0)" } ?? "An object made of \(entity)"
        let which =
            SQLiteLibrary.limitsWholeRows
            ? "SQLite \(SQLiteLibrary.version) reads every value so; from 3.39 on BLOBs go in pieces."
            : "a text, a value that an expression reads, or a BLOB with other columns behind it."
        self.init(
            .valueTooLarge,
            "\(row) has values that must be whole in memory and take more of it than \(memoryLimit >> 20) MiB: \(which)",
            remedy: "Give \(setting: .memoryLimit) at least twice their size and \(action: .again).",
            place: .init(entityMapping: entityMapping, entity: entity, primaryKey: key), cause: cause)
    }
}

/// Finds out which row has values that are too large; no value is read for that.
struct LargeValueSearch {
    let layout: StoreLayout
    let connection: Connection
    let schema: String

    /// The key of the first object of an entity, without those below it, with a value of more bytes; nil when there is
    /// none.
    func firstKey(of entity: String, in range: KeyRange = .all, above bytes: Int) throws(DatabaseError) -> Int64? {
        guard let table = layout.table(of: entity), let number = layout.number(of: entity) else { return nil }
        // Only types are asked for, and still some libraries hold the row against the limit (`limitsWholeRows`).
        let limitBefore = connection.limit(.length, .max)
        defer { connection.limit(.length, limitBefore) }
        let columns = table.columns.filter { ["BLOB", "VARCHAR"].contains($0.type.uppercased()) }.map(\.name)
        let types = columns.map { "typeof(\(Connection.quoted($0))) IN ('text', 'blob')" }
        let rows = try connection.prepare(
            """
            SELECT \((["Z_PK"] + types).joined(separator: ", ")) FROM \(schema).\(Connection.quoted(table.name))
            WHERE Z_PK > ?1 AND Z_PK <= ?2 AND +Z_ENT = ?3 ORDER BY Z_PK
            """)
        try rows.bind([
            .integer(range.low), .integer(range.high), .integer(number),
        ])
        while try rows.step() {
            let key = rows.integer(0)
            for (index, column) in columns.enumerated() where rows.integer(index + 1) != 0 {
                let value = try BlobHandle(column, of: table.name, row: key, schema: schema, on: connection)
                if value.count > bytes { return key }
            }
        }
        return nil
    }

    /// The refusal of the first object of any entity with a value of more bytes; nil when there is none.
    func refusal(above bytes: Int, _ options: EngineOptions, cause: (any Error)?) throws(DatabaseError) -> FerryError? {
        for entity in layout.model.sortedEntityNames {
            guard let key = try firstKey(of: entity, above: bytes) else { continue }
            return FerryError(
                valueOf: entity, key: key, entityMapping: nil, memoryLimit: options.memoryLimit, cause: cause)
        }
        return nil
    }
}

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

    /// `table` is not quoted, `key` the name under which the number of a row is reached; the cells come in the order of
    /// the table's columns.
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

    /// Writes one row from the columns of ``selection``, which a statement's current row has from a place on.
    ///
    /// Throws ``FerryError`` `.valueTooLarge` when the row would take more memory than there is: nothing is written
    /// then. The key of the row that it comes from is for messages.
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
            origin.column, of: origin.table, row: row, schema: "source", on: connection)
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
        /// The source's table and its column, not quoted.
        var table: String
        var column: String
        /// SQL of the value, and of the number of its row.
        var value: String
        var key: String
        /// Bytes of the stored value that are left out.
        var skipped = 0
        /// Bytes that stand before it.
        var prefix: [UInt8] = []
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

extension LargeCell.Origin {
    /// Nil where the store has no table of the object.
    init?(_ stored: StoredValue, in layout: StoreLayout) {
        guard let table = layout.table(of: stored.object.entity) else { return nil }
        self.init(table: table.name, column: stored.column, value: stored.sql, key: "\(stored.object.alias).Z_PK")
        switch stored.mark {
        case .asStored: break
        case .added: prefix = [1]
        case .removed: skipped = 1
        }
    }
}
