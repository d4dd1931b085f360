package import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
package import FerrySQLite
package import FerryStore

/// Source objects with values that are too large for their chunk: copied one row at a time, in pieces, with the keys, the
/// order and the lookup of ``SetExecutor``.
///
/// SQLite does not hold zeroed BLOBs at the end of a record in memory. So a row is inserted with them, and each is then
/// written in pieces. Texts, and BLOBs before other values, are in memory twice: alone and in the record.
final class LargeRows {
    private let context: StepContext
    private let mapping: ResolvedEntityMapping
    private let table: String
    private let cells: [LargeCell]
    private let select: Statement
    /// Nil if the mapping drops no rows.
    private let drops: DropCounter?
    private let insert: Statement
    /// Nil if objects keep their keys.
    private let keys: NewKeys?
    private let association: Statement?
    /// The objects by the values of `unique`, and the statement that searches them.
    private let unique: (lookup: ObjectLookup, search: Statement)?
    private var buffer: [UInt8] = []

    private var connection: Connection { context.connection }

    // The places of the selected columns: the keys, the values of `unique`, three for each cell.
    private static let keyPlace = 0
    private static let elementKeyPlace = 1
    private static let firstUniquePlace = 2
    private var firstCellPlace: Int { Self.firstUniquePlace + mapping.unique.count }

    /// Long enough that the cost of the calls is negligible.
    private static let pieceBytes = 1 << 18

    /// `executor` writes the mapping's other rows.
    init(_ mapping: ResolvedEntityMapping, besides executor: SetExecutor?, in context: StepContext) throws {
        (self.mapping, self.context, drops) = (mapping, context, executor?.drops)
        let (connection, now) = (context.connection, context.options.now)
        let sql = MappingSQL(mapping, in: context.sql)
        table = try context.sql.destinationTable(of: mapping)
        var scope = try sql.scope(countsDropped: true)
        var selected = ["s.Z_PK", scope.elementKey ?? "NULL"] + (try sql.uniqueValues(in: &scope))
        cells = try Self.cells(sql, &scope)
        selected += cells.flatMap(\.selection)
        let order = mapping.iteration == nil ? "" : " ORDER BY \(scope.order)"
        select = try BoundSQL(
            "SELECT \(selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where)\(order)", scope.parameters
        ).prepare(on: connection, now: now)
        insert = try connection.prepare(RowInsert.sql(into: table, columns: cells.dropFirst(2).map(\.name)))
        keys = mapping.keepsPrimaryKey ? nil : try NewKeys(of: mapping.destination, in: context)
        association =
            context.isAssociated(mapping) ? try connection.prepare(ScratchTables.associatedRow(of: mapping)) : nil
        unique = try executor?.lookup.map { ($0, try $0.prepareSearch()) }
    }

    /// Entity number and version, then the cells that the mapping sets, in the order of the table's columns.
    private static func cells(_ sql: MappingSQL, _ scope: inout SourceScope) throws -> [LargeCell] {
        let (step, mapping) = (sql.step, sql.mapping)
        let number = scope.parameters.add(.integer(try step.destinationNumber(of: mapping)))
        let version = mapping.keepsPrimaryKey ? "s.Z_OPT" : scope.parameters.add(.integer(1))
        var cells = [
            LargeCell(name: "Z_ENT", sql: number), LargeCell(name: "Z_OPT", sql: version),
        ]
        let values = Dictionary(
            try sql.columns(in: &scope).map { ($0.column.uppercased(), $0.value) }, uniquingKeysWith: { $1 })
        for column in step.destination.table(of: mapping.destination)?.columns ?? [] {
            guard let value = values[column.name.uppercased()] else { continue }
            let origin = value.stored.flatMap { stored in
                step.source.table(of: stored.object.entity).map { (table: $0.name, value: stored) }
            }
            cells.append(LargeCell(name: column.name, sql: value.sql, origin: origin))
        }
        return cells
    }

    /// Writes the rows of one range, inside the caller's transaction.
    ///
    /// - Throws: ``FerryError`` `.valueTooLarge` with the source key, before the INSERT if memory does not suffice.
    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        try select.bind(range)
        defer { select.reset() }
        // A chunk that failed may have left some.
        _ = drops?.take()
        do {
            var outcome = try carryRows()
            outcome.dropped = drops?.take() ?? 0
            outcome.read = outcome.written + outcome.merged + outcome.dropped
            return outcome
        } catch let error as DatabaseError where error.isTooBig {
            throw refusal(of: range.high, cause: error)
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
            if let known = try known() {
                outcome.merged += 1
                try associate(origin, element, with: known)
                continue
            }
            key = keys == nil ? origin : key + 1
            try unique?.lookup.add(key)
            try write(key, of: origin)
            outcome.written += 1
            try associate(origin, element, with: key)
        }
        return outcome
    }

    /// The object with the current row's values of `unique`.
    private func known() throws -> Int64? {
        guard let search = unique?.search else { return nil }
        for index in mapping.unique.indices {
            try search.bind(column: Self.firstUniquePlace + index, of: select, at: index + 1)
        }
        defer { search.reset() }
        return try search.step() && !search.isNull(0) ? search.integer(0) : nil
    }

    private func associate(_ source: Int64, _ element: Int64, with destination: Int64) throws {
        guard let association else { return }
        try association.bind(source, at: 1)
        try association.bind(element, at: 2)
        try association.bind(column: Self.elementKeyPlace, of: select, at: 3)
        try association.bind(destination, at: 4)
        try association.run()
    }

    private func refusal(of key: Int64, needed: Int? = nil, cause: (any Error)?) -> FerryError {
        FerryError(
            valueOf: mapping.source, key: key, entityMapping: mapping.name, memoryLimit: context.options.memoryLimit,
            needed: needed, cause: cause)
    }

    // MARK: One row

    private enum Transfer {
        case bound
        /// A BLOB in memory, written after the INSERT.
        case written
        /// A stored value, copied in pieces after the INSERT.
        case copied(size: Int, row: Int64)
    }

    private func write(_ key: Int64, of origin: Int64) throws {
        let transfers = transfers()
        // The values beside a text of the largest size may take as much as in any chunk.
        let cost = cost(of: transfers)
        guard cost <= context.options.wholeValueBytes + context.options.valueBytes else {
            throw refusal(of: origin, needed: cost, cause: nil)
        }
        // SQLite counts zeroed BLOBs for the length limit, though they take no memory.
        try connection.with(.length, .max) {
            try insert.bind(key, at: 1)
            for (index, transfer) in transfers.enumerated() {
                switch transfer {
                case .bound: try insert.bind(borrowed: place(of: index), of: select, at: index + 2)
                case .written: try insert.bind(zeros: byteCount(place(of: index)), at: index + 2)
                case .copied(let size, _): try insert.bind(zeros: size, at: index + 2)
                }
            }
            defer { insert.unbind() }
            try insert.run()
        }
        for (index, transfer) in transfers.enumerated() {
            switch transfer {
            case .bound: break
            case .written:
                let target = try target(of: cells[index], key)
                try select.withBytes(place(of: index)) { try target.write($0, at: 0) }
            case .copied(let size, let row): try copy(cells[index], size, from: row, to: key)
            }
        }
    }

    private func place(of cell: Int) -> Int { firstCellPlace + 3 * cell }

    private func byteCount(_ column: Int) -> Int { select.withBytes(column) { $0.count } }

    private func transfers() -> [Transfer] {
        var isBehindLarge = false
        return cells.indices.map { index in
            let first = place(of: index)
            if !select.isNull(first + 1) {
                isBehindLarge = true
                let size = Int(select.integer(first + 1)) + cells[index].growth
                return .copied(size: size, row: select.integer(first + 2))
            }
            return isBehindLarge && select.storageClass(first) == .blob ? .written : .bound
        }
    }

    /// Bytes that must be whole in memory: texts, BLOBs in memory, and BLOBs with other values after them.
    private func cost(of transfers: [Transfer]) -> Int {
        var cost = 0
        var hasDataBehind = false
        for (index, transfer) in transfers.enumerated().reversed() {
            let column = place(of: index)
            switch transfer {
            case .copied(let size, _): cost += hasDataBehind ? size : 0
            case .written: cost += byteCount(column)
            case .bound:
                let type = select.storageClass(column)
                if type == .text || type == .blob { cost += byteCount(column) }
                if type != .null { hasDataBehind = true }
            }
        }
        return cost
    }

    private func target(of cell: LargeCell, _ key: Int64) throws(DatabaseError) -> BlobHandle {
        try BlobHandle(cell.name, of: table, row: key, schema: "main", writable: true, on: connection)
    }

    private func copy(_ cell: LargeCell, _ size: Int, from row: Int64, to key: Int64) throws {
        guard let origin = cell.origin, size > 0 else { return }
        let source = try BlobHandle(
            origin.value.column, of: origin.table, row: row, schema: "source", on: connection)
        let target = try target(of: cell, key)
        if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: Self.pieceBytes) }
        // The first byte of an external-storage value says whether contents or a file name follows.
        var mark: UInt8 = 1
        if cell.growth < 0 {
            try withUnsafeMutableBytes(of: &mark) { try source.read(into: $0, at: 0) }
            guard mark == 1 else { throw ExternalContents.isNeitherContentsNorName }
        } else if cell.growth > 0 {
            try withUnsafeBytes(of: mark) { try target.write($0, at: 0) }
        }
        var done = max(0, -cell.growth)
        while done < source.count {
            try context.options.stop.check()
            let count = min(Self.pieceBytes, source.count - done)
            try buffer.withUnsafeMutableBytes { bytes in
                let piece = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
                try source.read(into: piece, at: done)
                try target.write(UnsafeRawBufferPointer(piece), at: done + cell.growth)
            }
            done += count
        }
    }
}

/// A column of a row with values too large for memory.
private struct LargeCell {
    /// The destination column.
    var name: String
    var sql: String
    /// A stored value that may be copied in pieces, and its source table.
    var origin: (table: String, value: StoredValue)?

    /// The bytes that are written before the stored value, or left out at its beginning.
    var growth: Int {
        switch origin?.value.mark {
        case nil, .asStored: 0
        case .added: 1
        case .removed: -1
        }
    }

    /// The selected columns: the value, or its size (`length` does not read a BLOB) and the rowid of its row.
    var selection: [String] {
        guard let value = origin?.value else { return [sql, "NULL", "NULL"] }
        // A file name is shorter than this limit; the first byte of a longer value says that contents follow.
        let isStreamed =
            "typeof(\(value.sql)) = 'blob'" + (growth < 0 ? " AND length(\(value.sql)) > \(Self.longestName)" : "")
        return [
            "CASE WHEN \(isStreamed) THEN NULL ELSE \(sql) END",
            "CASE WHEN \(isStreamed) THEN length(\(value.sql)) END", "\(value.object.alias).Z_PK",
        ]
    }

    private static let longestName = 64
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

    /// The first key, after another one, of an object of exactly an entity with a value of more bytes; nil if there is none.
    package func firstKey(
        of entity: String, after key: Int64 = .min, above bytes: Int
    ) throws(DatabaseError) -> Int64? {
        guard let table = layout.table(of: entity), let number = layout.number(of: entity) else { return nil }
        // Only types are read, but some SQLite versions apply the limit to the whole row (`limitsWholeRows`).
        let limitBefore = connection.limit(.length, .max)
        defer { connection.limit(.length, limitBefore) }
        let columns = table.columns.filter(\.hasVariableLength).map(\.name)
        let types = columns.map { "typeof(\(Connection.quoted($0))) IN ('text', 'blob')" }
        let rows = try connection.prepare(
            """
            SELECT \((["Z_PK"] + types).joined(separator: ", ")) FROM \(schema).\(Connection.quoted(table.name))
            WHERE Z_PK > ?1 AND +Z_ENT = ?2 ORDER BY Z_PK
            """)
        try rows.bind([.integer(key), .integer(number)])
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
