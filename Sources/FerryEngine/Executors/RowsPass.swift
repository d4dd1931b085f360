internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Copies the rows of entity mappings that read one table together, so that SQLite reads each page once.
final class RowsPass {
    private let mappings: [ResolvedEntityMapping]
    private let context: StepContext
    private let policies: PolicyRun
    private let ranges: ChunkRanges
    private let executors: [any MappingExecutor]
    private let targets: [CountedTargets]
    /// One for each mapping after the first value that was too large for its chunk; all such rows share them.
    private var largeRows: [LargeRows] = []
    private var hasPolicy: Bool { mappings.contains { $0.policy != nil } }

    private init(_ mappings: [ResolvedEntityMapping], _ context: StepContext, _ policies: PolicyRun) throws {
        (self.mappings, self.context, self.policies) = (mappings, context, policies)
        ranges = try ChunkRanges(of: mappings, in: context)
        // Registers functions that the executors' statements call.
        targets = try mappings.map { try CountedTargets(of: $0, in: context) }
        executors = try mappings.map { mapping in
            try policies.executor(of: mapping)
                ?? SetExecutor(mapping, in: context, sharesRanges: mappings.count > 1)
        }
    }

    /// Copies the remaining rows of entity mappings, given by position.
    static func run(
        _ positions: [Int], in context: StepContext, _ policies: PolicyRun, report: inout StepReport
    ) throws {
        let mappings = positions.map { context.step.resolved.entityMappings[$0] }
        try policies.beginPass(positions)
        for mapping in mappings { try policies.begin(mapping) }
        let units = positions.map(StepOperation.unit(ofRowsOf:))
        if try !context.progress.entry(units[0]).isDone {
            let pass = try RowsPass(mappings, context, policies)
            let walk = ChunkWalk(
                context: context, phase: .rows, subject: pass.name,
                rowBytes: context.options.chunkSize == .automatic ? try pass.rowBytes() : 0,
                byteLimit: mappings.count > 1 ? RunDatabase.reusedSourceBytes(context) : .max, total: pass.total)
            try walk.run(
                units, over: pass.ranges, report: &report, didRollBack: pass.didRollBack, carry: pass.carry)
        }
        for mapping in mappings { try policies.endInstanceCreation(mapping) }
    }

    /// Prepares the statements of all mappings, so that an error in their SQL comes before the first row.
    static func checkStatements(_ context: StepContext) throws {
        let kept = context.step.keptPart?.positions ?? []
        for mapping in context.step.entityMappings
        where mapping.policy == nil && !kept.contains(mapping.position) {
            let statements = MappingSQL(mapping, in: context.sql)
            // The statements call functions that count keys; each mapping registers them again when its rows begin.
            let counted = try context.program.fills.keys[mapping.position].counted.map {
                try context.sql.mapping(named: $0)
            }
            for made in counted + [mapping] { _ = try KeyCounter(made, by: statements, on: context.connection) }
            if statements.dropsRows { _ = try DropCounter(of: statements, on: context.connection) }
            _ = try statements.rows().prepare(on: context.connection, now: context.options.now)
        }
    }

    private func carry(
        after low: Int64, upTo rows: Int, _ entries: inout [ProgressTable.Entry]
    ) throws -> KeyRange? {
        guard let range = try ranges.next(after: low, rows: rows) else { return nil }
        for (index, executor) in executors.enumerated() {
            let outcome = try limited(index, range) { try executor.carry(range) }
            try count(outcome, mappings[index], &entries[index])
        }
        return range
    }

    /// Runs the body under the length limit for values that are written with their rows.
    private func limited<Result>(_ index: Int, _ range: KeyRange, _ body: () throws -> Result) throws -> Result {
        let mapping = mappings[index]
        // A policy holds the values that it reads, so none is copied in pieces.
        let limit = hasPolicy ? context.options.wholeValueBytes : context.options.valueBytes
        return try placed(in: mapping, range) {
            do {
                return try context.connection.with(.length, limit) { try targets[index].counting(body) }
            } catch let error as DatabaseError where error.isTooBig && mapping.policy != nil {
                throw try refusal(mapping, after: range.low, cause: error)
            }
        }
    }

    private func didRollBack() throws -> ChunkWalk.LargeRowCopy? {
        if hasPolicy { return nil }
        if largeRows.isEmpty {
            largeRows = try zip(mappings, executors).map {
                try LargeRows($0, besides: $1 as? SetExecutor, in: context)
            }
        }
        return copyLargeRow
    }

    private func copyLargeRow(_ range: KeyRange, _ entries: inout [ProgressTable.Entry]) throws {
        for (index, mapping) in mappings.enumerated() {
            let outcome = try placed(in: mapping, range) {
                try targets[index].counting { try largeRows[index].carry(range) }
            }
            try count(outcome, mapping, &entries[index])
        }
    }

    private func count(
        _ outcome: ChunkOutcome, _ mapping: ResolvedEntityMapping, _ entry: inout ProgressTable.Entry
    ) throws {
        guard outcome.balances else {
            throw FerryError(
                .internalError, "The counts of a chunk of entity mapping \(mapping.name) do not balance.",
                place: .init(entityMapping: mapping.name))
        }
        entry.read += outcome.read
        entry.written += outcome.written
        entry.merged += outcome.merged
        entry.dropped += outcome.dropped
        entry.created += outcome.created
        try policies.recordCreated(by: mapping, isFirstPass: true)
    }

    // MARK: Errors

    private func refusal(
        _ mapping: ResolvedEntityMapping, after low: Int64, cause: DatabaseError
    ) throws -> FerryError {
        // The first such object after the copied rows caused the error.
        let key = try LargeValueSearch(
            layout: context.source, connection: context.connection, schema: "source"
        ).firstKey(of: mapping.source, after: low, above: context.options.wholeValueBytes)
        return FerryError(
            valueOf: mapping.source, key: key, entityMapping: mapping.name,
            memoryLimit: context.options.memoryLimit, cause: cause)
    }

    /// Runs the body for a range; adds the entity mapping and the object to an error of our SQL functions.
    private func placed<Result>(
        in mapping: ResolvedEntityMapping, _ range: KeyRange, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            let cause = context.connection.takeFunctionError()
            if error.isInterrupted { throw error }
            // One of our functions ran a statement on a value that is too large.
            if let cause = cause as? DatabaseError, cause.isTooBig { throw cause }
            guard let cause = cause as? FerryError else { throw error }
            throw placed(cause, in: mapping, range, cause: error)
        } catch let error as FerryError where error.code == .rowFailed {
            throw placed(error, in: mapping, range, cause: error.cause)
        }
    }

    private func placed(
        _ error: FerryError, in mapping: ResolvedEntityMapping, _ range: KeyRange, cause: (any Error)?
    ) -> FerryError {
        var error = error
        // The search computes the values again, and a policy must not run twice.
        if !hasPolicy {
            do {
                let (columns, rows) = try MappingSQL(mapping, in: context.sql).computedValues()
                let search = FailedRowSearch(
                    entity: mapping.source, columns: columns, rows: rows, connection: context.connection,
                    longestValue: context.options.wholeValueBytes, now: context.options.now)
                error = try search.located(error, in: range)
            } catch {}  // The first failure is the one to report.
        }
        error.place.entity = mapping.source
        error.cause = cause
        return error.placed(in: mapping)
    }

    // MARK: Progress and sizes

    private var name: String {
        let first = mappings[0].name
        return mappings.count > 1 ? "\(first) and \(mappings.count - 1) more" : first
    }

    /// The number of source objects; nil for iterations, whose elements are counted during the copy.
    private var total: Int64? {
        mappings.contains { $0.iteration != nil } ? nil : context.rows(of: mappings)
    }

    /// The average size of the variable-length values in the first rows, which bounds the first chunk.
    private func rowBytes() throws -> Int {
        guard let table = context.source.table(of: mappings[0].source) else { return 0 }
        let sizes = table.columns.filter(\.hasVariableLength).map { column in
            let name = Connection.quoted(column.name)
            // SQLite knows the length of a BLOB without reading it, but not that of a text.
            return "CASE typeof(\(name)) WHEN 'blob' THEN length(\(name)) WHEN 'text' "
                + "THEN length(CAST(\(name) AS BLOB)) ELSE 0 END"
        }
        guard !sizes.isEmpty else { return 0 }
        let sum = sizes.balanced(by: "+")
        return try context.connection.with(.length, context.options.valueBytes) {
            do {
                let bytes = try context.connection.integer(
                    "SELECT sum(bytes) / count(*) FROM (SELECT \(sum) AS bytes FROM source.\(Connection.quoted(table.name)) LIMIT 64)"
                )
                return Int(clamping: bytes ?? 0)
            } catch let error as DatabaseError where error.isTooBig {
                return context.options.valueBytes
            }
        }
    }
}
