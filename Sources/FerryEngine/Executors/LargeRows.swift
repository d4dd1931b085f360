package import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
package import FerrySQLite
package import FerryStore

/// Source objects with values that are too large for their chunk: copied in pieces, with the keys, order and lookups of
/// ``SetExecutor``.
struct LargeRows {
    private let select: Statement
    /// Counts objects and elements, and those that the filter drops.
    private let count: Statement
    private let writer: LargeRowWriter
    /// Nil if objects keep their keys.
    private let keys: NewKeys?
    private let association: Statement?
    private let unique: LargeRowSearch?
    private let uniquePlaces: Range<Int>

    private static let keyPlace = 0
    private static let elementKeyPlace = 1
    private static let firstUniquePlace = 2

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        let sql = MappingSQL(mapping, in: context.sql)
        uniquePlaces = Self.firstUniquePlace..<Self.firstUniquePlace + mapping.unique.count
        var scope = try sql.scope()
        var selected = ["s.Z_PK", scope.elementKey ?? "NULL"]
        selected += try sql.uniqueValues(in: &scope)
        let cells = try Self.cells(sql, &scope)
        writer = try LargeRowWriter(
            context.sql.destinationTable(of: mapping), cells: cells, of: (mapping.source, mapping.name), in: context)
        selected += writer.selection
        let order = mapping.iteration == nil ? "" : " ORDER BY \(scope.order)"
        count = try sql.countDropped().prepare(on: context.connection, now: context.options.now)
        select = try BoundSQL(
            "SELECT \(selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where)\(order)", scope.parameters
        ).prepare(on: context.connection, now: context.options.now)
        keys = mapping.keepsPrimaryKey ? nil : try NewKeys(of: mapping.destination, in: context)
        association =
            context.isAssociated(mapping)
            ? try context.connection.prepare(ScratchTables.associatedRow(of: mapping)) : nil
        unique = mapping.unique.isEmpty ? nil : try LargeRowSearch(mapping, in: context)
    }

    /// The cells that the mapping sets, in the order of the table's columns.
    private static func cells(_ sql: MappingSQL, _ scope: inout SourceScope) throws -> [LargeCell] {
        let (step, mapping) = (sql.step, sql.mapping)
        let number = scope.parameters.add(.integer(try step.destinationNumber(of: mapping)))
        let version = mapping.keepsPrimaryKey ? "s.Z_OPT" : scope.parameters.add(.integer(1))
        var cells = [
            LargeCell(name: "Z_ENT", sql: number), LargeCell(name: "Z_OPT", sql: version),
        ]
        let values = Dictionary(
            try sql.columns(in: &scope).map { ($0.column.uppercased(), $0.value) }, uniquingKeysWith: { $1 })
        let columns = step.destination.table(of: mapping.destination)?.columns ?? []
        for column in columns {
            guard let value = values[column.name.uppercased()] else { continue }
            cells.append(
                LargeCell(
                    name: column.name, sql: value.sql, origin: value.stored.flatMap { .init($0, in: step.source) }))
        }
        return cells
    }

    /// Writes the rows of one range, inside the caller's transaction.
    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        for statement in [select, count] { try statement.bind(range) }
        defer { for statement in [select, count] { statement.reset() } }
        return try writer.refusing(range.high) {
            // The statement of the rows leaves out what the filter drops.
            var outcome = try carryRows()
            if try count.step() { (outcome.read, outcome.dropped) = (count.integer(0), count.integer(1)) }
            return outcome
        }
    }

    private func carryRows() throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        var key = try keys?.last() ?? 0
        try unique?.lookup.begin(after: key)
        var (source, element): (Int64?, Int64) = (nil, 0)
        while try select.step() {
            let origin = select.integer(Self.keyPlace)
            (source, element) = (origin, source == origin ? element + 1 : 1)
            if let known = try unique?.find(in: select, at: uniquePlaces) {
                outcome.merged += 1
                try associate(origin, element, with: known)
                continue
            }
            key = keys == nil ? origin : key + 1
            try unique?.lookup.add(key)
            try writer.write(key, from: select, at: uniquePlaces.upperBound, of: origin)
            outcome.written += 1
            try associate(origin, element, with: key)
        }
        return outcome
    }

    private func associate(_ source: Int64, _ element: Int64, with destination: Int64) throws {
        guard let association else { return }
        try association.bind(source, at: 1)
        try association.bind(element, at: 2)
        try association.bind(column: Self.elementKeyPlace, of: select, at: 3)
        try association.bind(destination, at: 4)
        try association.run()
    }
}

extension FerryError {
    /// Refuses a row that needs more memory than the limit allows; `needed` are the bytes of its values, if they are known.
    ///
    /// Beside the program's own memory, values take up to three times their size, where objects are merged.
    package init(
        _ code: Code = .valueTooLarge, valueOf entity: String, key: Int64?, entityMapping: String?, memoryLimit: Int,
        needed: Int? = nil, cause: (any Error)?
    ) {
        let limit: Remedy =
            needed.map { "Give \(setting: .memoryLimit, .mebibytes(((3 * $0 + MemoryBudget.program) >> 20) + 1))" }
            ?? "Set \(setting: .memoryLimit) to at least \(MemoryBudget.program >> 20) MiB and three times their size"
        let row = key.map { "\(entity) with key \($0)" } ?? "An object created from \(entity)"
        let which =
            SQLiteLibrary.limitsWholeRows
            ? "SQLite \(SQLiteLibrary.version) reads every value as a whole; 3.39 and later read BLOBs in pieces."
            : "a text, a value that an expression reads, or a BLOB with other columns after it."
        self.init(
            code,
            "\(row) has values that must be in memory as a whole and need more than \(memoryLimit >> 20) MiB: \(which)",
            remedy: "\(limit) and \(action: .again).",
            place: .init(entityMapping: entityMapping, entity: entity, primaryKey: key), cause: cause)
    }
}

/// Finds the row with a value that is too large, without reading values.
package struct LargeValueSearch {
    let layout: StoreLayout
    let connection: Connection
    let schema: String

    package init(layout: StoreLayout, connection: Connection, schema: String) {
        (self.layout, self.connection, self.schema) = (layout, connection, schema)
    }

    package func firstKey(of entity: String, after key: Int64, above bytes: Int) throws(DatabaseError) -> Int64? {
        var range = KeyRange.all
        range.low = key
        return try firstKey(of: entity, in: range, above: bytes)
    }

    /// The key of the first object of exactly an entity with a value of more bytes; nil if there is none.
    func firstKey(of entity: String, in range: KeyRange = .all, above bytes: Int) throws(DatabaseError) -> Int64? {
        guard let table = layout.table(of: entity), let number = layout.number(of: entity) else { return nil }
        // Only types are read, but some SQLite versions apply the limit to the whole row (`limitsWholeRows`).
        let limitBefore = connection.limit(.length, .max)
        defer { connection.limit(.length, limitBefore) }
        let columns = table.columns.filter(\.hasVariableLength).map(\.name)
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

    /// Refuses the first object of any entity with a value of more bytes; nil if there is none.
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
/// SQLite does not hold zeroed BLOBs at the end of a record in memory. So the writer inserts them with the row, and
/// then writes each in pieces. Texts, and BLOBs before other values, are in memory twice: alone and in the record.
final class LargeRowWriter {
    private let connection: Connection
    private let options: EngineOptions
    private let table: String
    /// The entity and the entity mapping, for messages.
    private let subject: (entity: String, mapping: String)
    private let cells: [LargeCell]
    private let insert: Statement
    private var buffer: [UInt8] = []
    /// Long enough that the cost of the calls is negligible.
    private static let pieceBytes = 1 << 18

    /// The cells have the order of the table's columns.
    init(
        _ table: String, cells: [LargeCell], of subject: (entity: String, mapping: String), in context: StepContext
    ) throws(DatabaseError) {
        (connection, options) = (context.connection, context.options)
        (self.table, self.subject, self.cells) = (table, subject, cells)
        let names = ["Z_PK"] + cells.map(\.name)
        insert = try connection.prepare(
            """
            INSERT INTO main.\(Connection.quoted(table)) (\(names.joined(separator: ", ")))
            VALUES (\(names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))
            """)
    }

    var selection: [String] { cells.flatMap(\.selection) }

    private enum Transfer {
        case bound
        /// A BLOB in memory, written after the INSERT.
        case written
        /// A stored value, copied in pieces after the INSERT.
        case copied(size: Int, row: Int64)
    }

    /// Writes one row from the columns of ``selection``, which begin at `place` in the statement's current row.
    ///
    /// Throws ``FerryError`` `.valueTooLarge` before the INSERT if memory does not suffice, with `origin`, the source
    /// key.
    func write(_ key: Int64, from row: Statement, at place: Int, of origin: Int64) throws {
        let transfers = transfers(row, place)
        // The values beside a text of the largest size may take as much as in any chunk.
        let cost = cost(of: transfers, row, place)
        guard cost <= options.wholeValueBytes + options.valueBytes else {
            throw refusal(of: origin, needed: cost, cause: nil)
        }
        // SQLite counts zeroed BLOBs for the length limit, though they take no memory.
        try connection.with(.length, .max) {
            try insert.bind(key, at: 1)
            for (index, transfer) in transfers.enumerated() {
                switch transfer {
                case .bound: try insert.bind(borrowed: place + 3 * index, of: row, at: index + 2)
                case .written: try insert.bind(zeros: byteCount(row, place + 3 * index), at: index + 2)
                case .copied(let size, _): try insert.bind(zeros: size, at: index + 2)
                }
            }
            defer { insert.unbind() }
            try insert.run()
        }
        for (index, transfer) in transfers.enumerated() {
            switch transfer {
            case .bound: break
            case .written: try write(place + 3 * index, of: row, to: cells[index], key)
            case .copied(let size, let origin): try copy(cells[index], size, from: origin, to: key)
            }
        }
    }

    /// Runs the body for a row; turns SQLite's error for a value that is too large into a refusal with the row's key.
    func refusing<Result>(_ key: Int64, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError where error.isTooBig {
            throw refusal(of: key, cause: error)
        }
    }

    private func refusal(of key: Int64, needed: Int? = nil, cause: (any Error)?) -> FerryError {
        FerryError(
            valueOf: subject.entity, key: key, entityMapping: subject.mapping, memoryLimit: options.memoryLimit,
            needed: needed, cause: cause)
    }

    // MARK: Transfers

    private func transfers(_ row: Statement, _ place: Int) -> [Transfer] {
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

    /// Bytes that must be whole in memory: texts, BLOBs in memory, and BLOBs with other values after them.
    private func cost(of transfers: [Transfer], _ row: Statement, _ place: Int) -> Int {
        var cost = 0
        var hasDataBehind = false
        for (index, transfer) in transfers.enumerated().reversed() {
            let column = place + 3 * index
            switch transfer {
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
            cell.name, of: table, row: key, schema: "main", writable: true, on: connection)
        try row.withBytes(column) { try target.write($0, at: 0) }
    }

    private func copy(_ cell: LargeCell, _ size: Int, from row: Int64, to key: Int64) throws {
        guard let origin = cell.origin, size > 0 else { return }
        let source = try BlobHandle(
            origin.column, of: origin.table, row: row, schema: "source", on: connection)
        let target = try BlobHandle(
            cell.name, of: table, row: key, schema: "main", writable: true, on: connection)
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

    /// The first byte of an external-storage value says whether contents or a file name follows.
    private func checkHasContents(_ source: borrowing BlobHandle) throws {
        var first: UInt8 = 0
        try withUnsafeMutableBytes(of: &first) { try source.read(into: $0, at: 0) }
        guard first == 1 else { throw ExternalContents.isNeitherContentsNorName }
    }
}

/// A column of a row with values too large for memory, and the origin of its value.
struct LargeCell {
    /// A stored value that may be copied in pieces.
    struct Origin {
        /// The source table and column.
        var table: String
        var column: String
        /// SQL of the value, and of its row's rowid.
        var value: String
        var key: String
        /// Leading bytes of the stored value that are left out.
        var skipped = 0
        /// Bytes written before the stored value.
        var prefix: [UInt8] = []
    }

    /// The destination column.
    var name: String
    var sql: String
    var origin: Origin?

    /// The selected columns: the value, or its size (`length` does not read a BLOB) and the rowid of its row.
    var selection: [String] {
        guard let origin else { return [sql, "NULL", "NULL"] }
        // A file name is shorter than this limit; the first byte of a longer value says that contents follow.
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
    /// Nil if the store has no table for the object's entity.
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
