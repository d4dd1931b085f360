internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Carries a source object with values that are too large for their chunk, whichever executor carries the others.
///
/// Keys, order and lookups are those of ``SetExecutor``.
final class LargeRowExecutor {
    private let context: StepContext
    private let mapping: ResolvedEntityMapping
    private let destinationTable: String
    private let firstKey: Int64
    private let select: Statement
    private let count: Statement
    private let writer: LargeRowWriter
    private let association: Statement?
    private let unique: UniqueObjects?

    private static let keyPlace = 0
    private static let elementPlace = 1
    private static let elementKeyPlace = 2
    private static let firstValuePlace = 3

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        self.context = context
        self.mapping = mapping
        destinationTable = try context.destinationTable(of: mapping)
        firstKey = try KeyBase.lastKeptKey(below: mapping, in: context)
        let connection = context.connection
        let sql = RowStatements(context: context, mapping: mapping)
        var scope = try sql.scope()
        // An element of JSON has a number of its own; others are counted.
        let ordinal = mapping.iteration.flatMap { scope.jsonElements[$0.variable] == nil ? nil : scope.elementOrder }
        var selected = ["s.Z_PK", ordinal ?? "NULL", scope.elementKey ?? "NULL"]
        selected += try sql.expressions.uniqueValues(in: &scope)
        let cells = try Self.cells(sql, &scope)
        writer = try LargeRowWriter(
            destinationTable, key: "Z_PK", cells: cells, on: connection, options: context.options)
        selected += writer.selection
        let order = mapping.iteration == nil ? "" : " ORDER BY \(scope.order)"
        select = try RowStatements.SQL(
            text: "SELECT \(selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where)\(order)",
            parameters: scope.parameters
        ).prepare(on: connection)
        count = try sql.count().prepare(on: connection)
        association =
            context.isAssociated(mapping)
            ? try connection.prepare(
                """
                INSERT INTO \(ScratchDatabase.association(of: mapping)) (source, element, object, destination)
                VALUES (?1, ?2, ?3, ?4)
                """) : nil
        unique = mapping.unique.isEmpty ? nil : try UniqueObjects(sql, nil, use: .largeRows, on: connection)
    }

    // MARK: Cells

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

    // MARK: Carrying

    func carry(_ range: KeyRanges.Range) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        for statement in [select, count] {
            try statement.bind(.integer(range.low), named: ":low")
            try statement.bind(.integer(range.high), named: ":high")
        }
        do {
            outcome.read = try count.step() ? count.integer(0) : 0
            count.reset()
            try carry(&outcome, range)
        } catch let error as DatabaseError where error.isTooBig {
            throw refusal(range.high, cause: error)
        }
        return outcome
    }

    private func carry(_ outcome: inout ChunkOutcome, _ range: KeyRanges.Range) throws {
        let last = try KeyBase.lastKey(of: mapping, in: destinationTable, above: firstKey, context)
        try unique?.begin(after: last)
        let values = Self.firstValuePlace..<Self.firstValuePlace + mapping.unique.count
        var key = last
        var element: Int64 = 0
        defer { select.reset() }
        while try select.step() {
            let origin = select.integer(Self.keyPlace)
            element += 1
            if !select.isNull(Self.elementPlace) { element = select.integer(Self.elementPlace) }
            var destination = origin
            if let known = try unique?.find(in: select, at: values) {
                outcome.merged += 1
                try associate(origin, element, with: known)
                continue
            }
            if !mapping.keepsPrimaryKey {
                key += 1
                destination = key
            }
            guard try writer.write(destination, from: select, at: values.upperBound) else {
                throw refusal(origin, cause: nil)
            }
            try unique?.add(destination)
            outcome.written += 1
            try associate(origin, element, with: destination)
        }
    }

    private func associate(_ source: Int64, _ element: Int64, with destination: Int64) throws(DatabaseError) {
        guard let association else { return }
        try association.bind(source, at: 1)
        try association.bind(element, at: 2)
        try association.bind(column: Self.elementKeyPlace, of: select, at: 3)
        try association.bind(destination, at: 4)
        try association.run()
    }

    private func refusal(_ key: Int64, cause: (any Error)?) -> FerryError {
        FerryError(
            valueOf: mapping.source, key: key, entityMapping: mapping.name,
            memoryLimit: context.options.memoryLimit, cause: cause)
    }
}

extension FerryError {
    /// The refusal of a row that would take more memory than there is.
    init(valueOf entity: String, key: Int64?, entityMapping: String?, memoryLimit: Int, cause: (any Error)?) {
        self.init(
            .valueTooLarge,
            "\(key.map { "\(entity) with key \($0)" } ?? "An object made of \(entity)") has values that must be whole in memory and take more of it than "
                + "\(memoryLimit >> 20) MiB: a text, a value that an expression reads, or a BLOB with other columns "
                + "behind it.",
            remedy: "Give \(setting: .memoryLimit) at least twice their size and \(action: .again).",
            place: .init(entityMapping: entityMapping, entity: entity, primaryKey: key), cause: cause)
    }
}
