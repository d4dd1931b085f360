internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

/// Carries the rows of one entity mapping by prepared `INSERT … SELECT` statements, a chunk of keys at a time.
final class SetExecutor: MappingExecutor {
    private let context: StepContext
    private let mapping: ResolvedEntityMapping
    private let keys: NewKeys
    private let body: Body
    private let count: Statement?
    /// Gives the keys of objects that do not keep those of their sources.
    private let counter: KeyCounter?
    /// Whether the mapping may leave out what it reads.
    private let isFiltered: Bool

    /// The statements of a chunk.
    private enum Body {
        case plain(rows: Statement, associations: Statement?)
        case findOrCreate(FindOrCreate)
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
        keys = try NewKeys(mapping, in: context)
        let connection = context.connection
        let sql = RowStatements(context: context, mapping: mapping)
        counter =
            mapping.isOneToOne && !mapping.keepsPrimaryKey
            ? try KeyCounter(mapping, by: mapping, on: connection) : nil
        let isAssociated = context.isAssociated(mapping)
        if mapping.unique.isEmpty {
            body = .plain(
                rows: try sql.rows().prepare(on: connection),
                associations: isAssociated ? try sql.associations().prepare(on: connection) : nil)
        } else {
            body = .findOrCreate(try FindOrCreate(sql))
        }
        let needsCount = isFiltered && (mapping.iteration != nil || sharesRanges)
        count = needsCount ? try sql.count().prepare(on: connection) : nil
    }

    var writesScratch: Bool { context.isAssociated(mapping) || !mapping.unique.isEmpty }

    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        outcome.read = range.rows
        if let count {
            try count.bind(range)
            outcome.read = try count.step() ? count.integer(0) : 0
            count.reset()
        }
        let last = try keys.last()
        switch body {
        case .plain(let rows, let associations):
            if let associations { try run(associations, range, last: last) }
            outcome.written = try run(rows, range, last: last)
        case .findOrCreate(let executor):
            (outcome.written, outcome.merged) = try executor.carry(range, after: last)
        }
        // Whatever an unfiltered mapping reads becomes an object, or is found to be one.
        if !isFiltered { outcome.read = outcome.written + outcome.merged }
        return outcome
    }

    @discardableResult
    private func run(_ statement: Statement, _ range: KeyRange, last: Int64) throws -> Int64 {
        try statement.bind(range)
        try statement.bind(.integer(last), named: ":last")
        counter?.begin(after: last)
        try statement.run()
        return context.connection.changes
    }
}
