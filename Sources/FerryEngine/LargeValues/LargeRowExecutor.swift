internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Carries a source object with values that are too large for their chunk, whichever executor carries the others.
final class LargeRowExecutor {
    private let loop: RowLoop
    private let rows: LargeRows
    /// How many objects and elements there are before the filter.
    private let count: Statement

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        let sql = RowStatements(context: context, mapping: mapping)
        rows = try LargeRows(sql)
        count = try sql.count().prepare(on: context.connection)
        loop = try RowLoop(sql, nil, use: .largeRows)
    }

    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        for statement in [rows.select, count] { try statement.bind(range) }
        defer { for statement in [rows.select, count] { statement.reset() } }
        return try rows.writer.refusing(range.high) {
            let read = try count.step() ? count.integer(0) : 0
            var outcome = try loop.carry(rows)
            outcome.read = read
            return outcome
        }
    }
}

/// The rows that a statement selects, whose large values are copied in pieces.
private struct LargeRows: BoundRows {
    let select: Statement
    let writer: LargeRowWriter
    private let uniquePlaces: Range<Int>

    private static let keyPlace = 0
    private static let elementKeyPlace = 1
    private static let firstUniquePlace = 2

    init(_ sql: RowStatements) throws {
        let (context, mapping) = (sql.context, sql.mapping)
        uniquePlaces = Self.firstUniquePlace..<Self.firstUniquePlace + mapping.unique.count
        var scope = try sql.scope()
        var selected = ["s.Z_PK", scope.elementKey ?? "NULL"]
        selected += try sql.expressions.uniqueValues(in: &scope)
        let cells = try Self.cells(sql, &scope)
        writer = try LargeRowWriter(
            context.destinationTable(of: mapping), key: "Z_PK", cells: cells, of: (mapping.source, mapping.name),
            in: context)
        selected += writer.selection
        let order = mapping.iteration == nil ? "" : " ORDER BY \(scope.order)"
        select = try RowStatements.SQL(
            text: "SELECT \(selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where)\(order)",
            parameters: scope.parameters
        ).prepare(on: context.connection)
    }

    /// The columns that the mapping sets, in the order in which the table has them.
    private static func cells(_ sql: RowStatements, _ scope: inout SourceScope) throws -> [LargeCell] {
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

    /// The first object of an entity with a value of more bytes; nil when there is none.
    ///
    /// - Parameters:
    ///   - entity: The entity, without those below it.
    ///   - range: The keys that are looked at.
    ///   - bytes: The size.
    /// - Returns: The object's key.
    /// - Throws: ``DatabaseError``.
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

    /// The first object of any entity with a value of more bytes.
    func first(above bytes: Int) throws(DatabaseError) -> (entity: String, key: Int64)? {
        for entity in layout.model.sortedEntityNames {
            if let key = try firstKey(of: entity, above: bytes) { return (entity, key) }
        }
        return nil
    }
}
