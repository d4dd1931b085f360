internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of one entity mapping through Swift: a row is read, what must be computed is computed, and the row
/// is written.
///
/// Untouched columns pass as SQLite's own values, and reading goes on while rows are written (``RowStream``). Keys,
/// order and lookups are those of ``SetExecutor``.
final class RowExecutor: MappingExecutor {
    private let context: StepContext
    private let mapping: ResolvedEntityMapping
    private let destinationTable: String
    private let firstKey: Int64
    private let rows: RowStream
    private let insert: Statement
    /// What is bound from each row; all else stays bound.
    private let bindings: [CellBinding]
    private let association: Statement?
    private let unique: UniqueObjects?

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        self.context = context
        self.mapping = mapping
        destinationTable = try context.destinationTable(of: mapping)
        firstKey = try KeyBase.lastKeptKey(below: mapping, in: context)
        let connection = context.connection
        let sql = RowStatements(context: context, mapping: mapping)
        let plan = try RowPlan(sql)
        rows = try RowStream(plan, in: context)
        insert = try connection.prepare(sql.insert(columns: plan.columns.map(\.name)))
        association =
            context.isAssociated(mapping)
            ? try connection.prepare(
                """
                INSERT INTO \(ScratchDatabase.association(of: mapping)) (source, element, object, destination)
                VALUES (?1, ?2, ?3, ?4)
                """) : nil
        unique = mapping.unique.isEmpty ? nil : try UniqueObjects(sql, plan.uniqueValues, use: .rows, on: connection)
        bindings = try Self.bindings(of: plan, to: insert, mapping)
        try insert.bind(try context.destinationNumber(of: mapping), at: 2)
    }

    /// Binds what is the same for all rows; gives back what is not, but the key.
    private static func bindings(
        of plan: RowPlan, to insert: Statement, _ mapping: ResolvedEntityMapping
    ) throws -> [CellBinding] {
        var bindings: [CellBinding] = []
        if mapping.keepsPrimaryKey {
            bindings.append(CellBinding(cell: RowPlan.versionCell, parameter: 3))
        } else {
            try insert.bind(Int64(1), at: 3)
        }
        for (index, column) in plan.columns.enumerated() {
            switch column.value {
            case .column(let cell): bindings.append(CellBinding(cell: cell, parameter: index + 4))
            case .constant(let value): try insert.bind(value, at: index + 4)
            case .evaluated: preconditionFailure("the reader evaluates")
            }
        }
        return bindings
    }

    var writesScratch: Bool { association != nil || unique != nil }

    func carry(_ range: KeyRanges.Range) throws -> ChunkOutcome {
        defer { rows.end() }
        try rows.begin(range)
        return try carryRows()
    }

    var findsRanges: Bool { rows.findsRanges }

    func carry(after low: Int64, rows count: Int) throws -> (ChunkOutcome, KeyRanges.Range?) {
        defer { rows.end() }
        try rows.begin(after: low, rows: count)
        let outcome = try carryRows()
        return (outcome, try rows.takenRange())
    }

    private func carryRows() throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        let last = try KeyBase.lastKey(of: mapping, in: destinationTable, above: firstKey, context)
        try unique?.begin(after: last)
        var key = last
        var source: Int64?
        var element: Int64 = 0
        while let row = try rows.next() {
            outcome.read += 1
            guard row.isTaken else { continue }
            let origin = row.integer(RowPlan.keyCell)
            if source != origin { (source, element) = (origin, 0) }
            element += 1
            var destination = origin
            if let unique {
                if let known = try unique.find(row) {
                    outcome.merged += 1
                    try associate(row, element, with: known)
                    continue
                }
                key += 1
                destination = key
                try unique.add(key)
            } else if !mapping.keepsPrimaryKey {
                key += 1
                destination = key
            }
            try insert.bind(destination, at: 1)
            try insert.bind(bindings, of: row)
            try insert.run()
            outcome.written += 1
            try associate(row, element, with: destination)
        }
        return outcome
    }

    private func associate(_ row: PackedRow, _ element: Int64, with destination: Int64) throws {
        guard let association else { return }
        try association.bind(row.integer(RowPlan.keyCell), at: 1)
        try association.bind(element, at: 2)
        try association.bind(borrowing: RowPlan.elementKeyCell, of: row, at: 3)
        try association.bind(destination, at: 4)
        try association.run()
    }
}
