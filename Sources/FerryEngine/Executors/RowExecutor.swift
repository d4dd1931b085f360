internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of one entity mapping through Swift: a row is read, what must be computed is computed, and the row
/// is written.
///
/// Untouched columns pass as SQLite's own values. Keys, order and lookups are those of ``SetExecutor``.
final class RowExecutor: MappingExecutor {
    private let context: StepContext
    private let mapping: ResolvedEntityMapping
    private let destinationTable: String
    private let firstKey: Int64
    private let reader: RowReader
    private let insert: Statement
    private let association: Statement?
    private let unique: UniqueObjects?

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        self.context = context
        self.mapping = mapping
        destinationTable = try context.destinationTable(of: mapping)
        firstKey = try KeyBase.lastKeptKey(below: mapping, in: context)
        let connection = context.connection
        let sql = RowStatements(context: context, mapping: mapping)
        reader = try RowReader(sql, on: connection)
        insert = try connection.prepare(sql.insert(columns: reader.columns.map(\.name)))
        try insert.bind(try context.destinationNumber(of: mapping), at: 2)
        association =
            context.isAssociated(mapping)
            ? try connection.prepare(
                """
                INSERT INTO \(ScratchDatabase.association(of: mapping)) (source, element, object, destination)
                VALUES (?1, ?2, ?3, ?4)
                """) : nil
        unique = mapping.unique.isEmpty ? nil : try UniqueObjects(sql, on: connection)
        for (index, column) in reader.columns.enumerated() {
            if case .constant(let value) = column.value { try insert.bind(value, at: index + 4) }
        }
    }

    var writesScratch: Bool { association != nil || unique != nil }

    func carry(_ range: KeyRanges.Range) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        let last = try KeyBase.lastKey(of: mapping, in: destinationTable, above: firstKey, context)
        try unique?.begin(after: last)
        var key = last
        var source: Int64?
        var element: Int64 = 0
        try reader.start(range)
        defer { reader.select.reset() }
        while try reader.select.step() {
            outcome.read += 1
            guard try reader.isTaken() else { continue }
            let origin = reader.select.integer(RowReader.keyPlace)
            if source != origin { (source, element) = (origin, 0) }
            element += 1
            var destination = origin
            if let unique {
                if let known = try unique.find(reader) {
                    outcome.merged += 1
                    try associate(origin, element, with: known)
                    continue
                }
                key += 1
                destination = key
                try unique.add(key)
            } else if !mapping.keepsPrimaryKey {
                key += 1
                destination = key
            }
            try write(as: destination)
            outcome.written += 1
            try associate(origin, element, with: destination)
        }
        return outcome
    }

    private func write(as key: Int64) throws {
        try insert.bind(key, at: 1)
        if mapping.keepsPrimaryKey {
            try insert.bind(column: RowReader.versionPlace, of: reader.select, at: 3)
        } else {
            try insert.bind(Int64(1), at: 3)
        }
        for (index, column) in reader.columns.enumerated() {
            switch column.value {
            case .column(let place): try insert.bind(column: place, of: reader.select, at: index + 4)
            case .evaluated(let evaluator): try insert.bind(try evaluator.value(in: reader.row), at: index + 4)
            case .constant: break
            }
        }
        try insert.run()
    }

    private func associate(_ source: Int64, _ element: Int64, with destination: Int64) throws {
        guard let association else { return }
        try association.bind(source, at: 1)
        try association.bind(element, at: 2)
        try association.bind(column: RowReader.elementKeyPlace, of: reader.select, at: 3)
        try association.bind(destination, at: 4)
        try association.run()
    }
}
