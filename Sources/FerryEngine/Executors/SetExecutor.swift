internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of one entity mapping by prepared `INSERT … SELECT` statements, a chunk of keys at a time.
final class SetExecutor: MappingExecutor {
    private let context: StepContext
    private let mapping: ResolvedEntityMapping
    private let destinationTable: String
    /// Above which new keys begin.
    private let firstKey: Int64
    private let body: Body
    private let lookups: [Statement]
    private let count: Statement?
    /// Whether the mapping may leave out what it reads.
    private let isFiltered: Bool

    /// The statements of a chunk.
    private enum Body {
        case plain(rows: Statement, associations: Statement?)
        case findOrCreate(FindOrCreate)
    }

    private struct FindOrCreate {
        var stage: Statement
        var find: Statement
        var create: Statement
        var rows: Statement
        var associations: Statement?
        var count: Statement
        var remember: Statement
        var cleanUp: [String]
    }

    /// - Parameters:
    ///   - mapping: The entity mapping.
    ///   - context: The step.
    ///   - sharesRanges: Whether the ranges hold objects of other entities too.
    /// - Throws: ``FerryError``, ``DatabaseError``.
    init(_ mapping: ResolvedEntityMapping, in context: StepContext, sharesRanges: Bool = false) throws {
        self.context = context
        self.mapping = mapping
        isFiltered = mapping.filter != nil || mapping.iteration?.skipsInvalid == true
        destinationTable = try context.destinationTable(of: mapping)
        firstKey = try KeyBase.lastKeptKey(below: mapping, in: context)
        let connection = context.connection
        let sql = RowStatements(context: context, mapping: mapping)
        let isAssociated = context.isAssociated(mapping)
        if mapping.unique.isEmpty {
            body = .plain(
                rows: try sql.rows().prepare(on: connection),
                associations: isAssociated ? try sql.associations().prepare(on: connection) : nil)
        } else {
            for table in try sql.stagingTables() { try connection.execute(table) }
            try sql.register(KnownObjects())
            body = .findOrCreate(
                FindOrCreate(
                    stage: try sql.stage().prepare(on: connection), find: try connection.prepare(sql.find()),
                    create: try connection.prepare(sql.create()), rows: try sql.freshRows().prepare(on: connection),
                    associations: isAssociated ? try connection.prepare(sql.stagedAssociations()) : nil,
                    count: try connection.prepare(sql.stagedCount), remember: try connection.prepare(sql.remember()),
                    cleanUp: sql.stagingCleanUp))
        }
        lookups = try sql.lookups().map { try $0.prepare(on: connection) }
        let needsCount = isFiltered && (mapping.iteration != nil || sharesRanges)
        count = needsCount ? try sql.count().prepare(on: connection) : nil
    }

    var writesScratch: Bool { context.isAssociated(mapping) || !lookups.isEmpty || !mapping.unique.isEmpty }

    func carry(_ range: KeyRanges.Range) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        outcome.read = range.rows
        if let count {
            try bind(range, to: count)
            outcome.read = try count.step() ? count.integer(0) : 0
            count.reset()
        }
        let last = try KeyBase.lastKey(of: mapping, in: destinationTable, above: firstKey, context)
        switch body {
        case .plain(let rows, let associations):
            if let associations { try run(associations, range, last: last) }
            outcome.written = try run(rows, range, last: last)
        case .findOrCreate(let statements):
            outcome = try findOrCreate(statements, range, last: last, read: outcome.read)
        }
        try fillLookups(range, last: last)
        if case .findOrCreate(let statements) = body {
            try statements.associations?.run()
            try statements.remember.run()
            outcome.stagedBytes = try context.temporaryBytes()
            for text in statements.cleanUp { try context.connection.execute(text) }
        }
        // Whatever an unfiltered mapping reads becomes an object, or is found to be one.
        if !isFiltered { outcome.read = outcome.written + outcome.merged }
        return outcome
    }

    private func findOrCreate(
        _ statements: FindOrCreate, _ range: KeyRanges.Range, last: Int64, read: Int64
    ) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        outcome.read = read
        try run(statements.stage, range, last: last)
        let staged = try statements.count.step() ? statements.count.integer(0) : 0
        statements.count.reset()
        try statements.find.run()
        try run(statements.create, range, last: last)
        outcome.written = try run(statements.rows, range, last: last)
        outcome.merged = staged - outcome.written
        return outcome
    }

    /// New objects are known by their new keys, kept ones by the range itself.
    private func fillLookups(_ range: KeyRanges.Range, last: Int64) throws {
        for lookup in lookups {
            let (from, to) = mapping.keepsPrimaryKey ? (range.low, range.high) : (last, Int64.max)
            try lookup.bind(.integer(from), named: ":from")
            try lookup.bind(.integer(to), named: ":to")
            try lookup.run()
        }
    }

    @discardableResult
    private func run(_ statement: Statement, _ range: KeyRanges.Range, last: Int64) throws -> Int64 {
        try bind(range, to: statement)
        try statement.bind(.integer(last), named: ":last")
        try statement.run()
        return context.connection.changes
    }

    private func bind(_ range: KeyRanges.Range, to statement: Statement) throws {
        try statement.bind(.integer(range.low), named: ":low")
        try statement.bind(.integer(range.high), named: ":high")
    }
}
