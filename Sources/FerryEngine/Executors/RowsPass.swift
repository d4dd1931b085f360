internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension EntityMappingPlan {
    /// Whether what statements write of a range tells how many rows it has, and a range may be done in two parts.
    fileprivate var countsRows: Bool {
        executor == .set && mapping.filter == nil && mapping.iteration == nil && mapping.unique.isEmpty
            && mapping.policy == nil
    }
}

/// The rows of entity mappings that go through one table side by side, so that each of its pages is read once for all
/// of them.
struct RowsPass: ChunkWalk.Work {
    private let plans: [EntityMappingPlan]
    private let context: StepContext
    private let policies: PolicyRun
    private let ranges: ChunkRanges
    private var executors: [any MappingExecutor]
    private let targets: [CountedTargets]
    /// One for each mapping, once a value was too large for its chunk: what they prepared and know serves all such rows.
    private var largeRows: [LargeRows] = []
    private var hasPolicy: Bool { plans.contains { $0.mapping.policy != nil } }

    private init(_ plans: [EntityMappingPlan], _ context: StepContext, _ policies: PolicyRun) throws {
        (self.plans, self.context, self.policies) = (plans, context, policies)
        ranges = try ChunkRanges(of: plans.map(\.mapping), in: context)
        // Before the statements, which call its functions.
        targets = try plans.map { try CountedTargets(of: $0.mapping, in: context) }
        executors = try plans.map { plan in
            if let executor = try policies.executor(of: plan.mapping) { return executor }
            return switch plan.executor {
            case .set: try SetExecutor(plan.mapping, in: context, sharesRanges: plans.count > 1)
            case .row: try StreamedRows(plan.mapping, in: context)
            }
        }
    }

    /// Carries what is left of the rows of entity mappings, by position.
    static func run(
        _ positions: [Int], in context: StepContext, _ policies: PolicyRun, report: inout StepReport
    ) throws {
        let all = context.step.partitions.flatMap(\.entityMappings)
        let plans = positions.flatMap { position in all.filter { $0.mapping.position == position } }
        for plan in plans { try policies.begin(plan.mapping) }
        let units = positions.map(StepOperation.unit(ofRowsOf:))
        if try !context.progress.entry(units[0]).isDone {
            var pass = try RowsPass(plans, context, policies)
            let walk = ChunkWalk(
                context: context, phase: .rows, subject: pass.name,
                rowBytes: context.options.chunkSize == .automatic ? try pass.rowBytes() : 0,
                byteLimit: plans.count > 1 ? RunDatabase.reusedSourceBytes(context) : .max, total: pass.total)
            try walk.run(&pass, over: pass.ranges, units: units, report: &report)
        }
        for plan in plans { try policies.endInstanceCreation(plan.mapping) }
    }

    /// Prepares what all mappings read and write, so that no text fails once there are rows.
    static func checkStatements(_ context: StepContext) throws {
        let hook = context.connection.onStatement
        // What is prepared here is not what runs.
        context.connection.onStatement = nil
        defer { context.connection.onStatement = hook }
        for plan in context.step.partitions.flatMap(\.entityMappings) where plan.mapping.policy == nil {
            let statements = MappingSQL(plan.mapping, in: context)
            // They call functions that count keys, which each mapping makes known anew when its rows begin.
            let counted = try context.program.keys[plan.mapping.position].counted.map { try context.mapping(named: $0) }
            for made in counted + [plan.mapping] {
                _ = try KeyCounter(made, by: plan.mapping, on: context.connection)
            }
            _ = try statements.rows().prepare(on: context.connection)
            _ = try statements.count().prepare(on: context.connection)
        }
    }

    var writesScratch: Bool { executors.contains { $0.writesScratch } }

    mutating func carry(
        after low: Int64, upTo rows: Int, _ entries: inout [ProgressTable.Entry]
    ) throws -> KeyRange? {
        // Of several mappings each must be given the same range.
        let isTaken = executors.count == 1 && executors[0].takesOpenRanges
        let ends = isTaken ? ChunkRanges.Ends.taken : plans.allSatisfy(\.countsRows) ? .counted : .known
        return try ranges.carry(after: low, upTo: rows, ends) { range in
            var carried: KeyRange? = range
            if ends == .counted { carried?.rows = 0 }
            for (index, executor) in executors.enumerated() {
                let outcome = try limited(index, range) { try executor.carry(range) }
                try count(outcome, plans[index].mapping, &entries[index])
                if ends == .counted { carried?.rows += outcome.read }
                if range.isOpen { carried = outcome.taken }
            }
            return carried
        }
    }

    /// Runs the body for a mapping with the limit for values that are carried in their rows.
    private func limited<Result>(_ index: Int, _ range: KeyRange, _ body: () throws -> Result) throws -> Result {
        let mapping = plans[index].mapping
        // A policy holds what it reads: for it nothing is carried in pieces.
        let limit = hasPolicy ? context.options.wholeValueBytes : context.options.valueBytes
        return try placed(in: mapping, range) {
            do {
                return try context.connection.with(.length, limit) { try targets[index].counting(body) }
            } catch let error as DatabaseError where error.isTooBig && mapping.policy != nil {
                throw try refusal(mapping, after: range.low, cause: error)
            }
        }
    }

    mutating func giveUp() throws -> ChunkWalk.CarryAlone? {
        if hasPolicy { return nil }
        // What reads ahead may stand anywhere; statements begin anew by themselves.
        for (index, plan) in plans.enumerated() where plan.executor == .row {
            executors[index] = try StreamedRows(plan.mapping, in: context)
        }
        if largeRows.isEmpty { largeRows = try plans.map { try LargeRows($0.mapping, in: context) } }
        return carryAlone
    }

    private func carryAlone(_ range: KeyRange, _ entries: inout [ProgressTable.Entry]) throws {
        for (index, plan) in plans.enumerated() {
            let outcome = try placed(in: plan.mapping, range) {
                try targets[index].counting { try largeRows[index].carry(range) }
            }
            try count(outcome, plan.mapping, &entries[index])
        }
    }

    private func count(
        _ outcome: ChunkOutcome, _ mapping: ResolvedEntityMapping, _ entry: inout ProgressTable.Entry
    ) throws {
        entry.read += outcome.read
        entry.written += outcome.written
        entry.merged += outcome.merged
        entry.dropped += outcome.dropped
        entry.created += outcome.created
        try policies.recordCreated(by: mapping, isFirstPass: true)
        precondition(outcome.dropped >= 0, "A chunk of \(mapping.name) wrote more rows than it read.")
    }

    // MARK: Errors

    private func refusal(
        _ mapping: ResolvedEntityMapping, after low: Int64, cause: DatabaseError
    ) throws -> FerryError {
        // The first one after what was carried is the one that was met.
        let range = KeyRange(low: low, high: .max, rows: 0, isLast: true)
        let key = try LargeValueSearch(
            layout: context.source, connection: context.connection, schema: "source"
        ).firstKey(of: mapping.source, in: range, above: context.options.wholeValueBytes)
        return FerryError(
            valueOf: mapping.source, key: key, entityMapping: mapping.name,
            memoryLimit: context.options.memoryLimit, cause: cause)
    }

    /// Runs the body for a range; a failing function of ours says in which entity mapping it failed, and on which object.
    private func placed<Result>(
        in mapping: ResolvedEntityMapping, _ range: KeyRange, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            let cause = context.connection.takeFunctionError()
            // A statement inside one of our functions met a value that is too large.
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
        // What a policy does cannot be done again.
        if !hasPolicy {
            do {
                error = error.at(try FailedRowSearch(mapping, in: context).first(in: range))
            } catch {}  // The failure itself is the one to report.
        }
        error.place.entity = mapping.source
        error.cause = cause
        return error.placed(in: mapping)
    }

    // MARK: What is known beforehand

    /// What the pass is called while it runs.
    private var name: String {
        let first = plans[0].mapping.name
        return plans.count > 1 ? "\(first) and \(plans.count - 1) more" : first
    }

    /// How many source objects there are; elements of an iteration are counted as they come.
    private var total: Int64? {
        plans.contains { $0.isEstimated || $0.mapping.iteration != nil } ? nil : plans.reduce(0) { $0 + $1.rows }
    }

    /// What the first rows hold in values of any size, on average.
    ///
    /// It tells rows of ordinary width, for which a chunk begins with many, from rows with pictures in them.
    private func rowBytes() throws -> Int {
        guard let table = context.source.table(of: plans[0].mapping.source) else { return 0 }
        let sizes = table.columns.filter { ["BLOB", "VARCHAR"].contains($0.type.uppercased()) }.map { column in
            // The length of a BLOB is known without reading it; that of a text is not.
            "CASE typeof(\(column.name)) WHEN 'blob' THEN length(\(column.name)) WHEN 'text' "
                + "THEN length(CAST(\(column.name) AS BLOB)) ELSE 0 END"
        }
        guard !sizes.isEmpty else { return 0 }
        let sum = sizes.joined(separator: " + ")
        return try context.connection.with(.length, context.options.valueBytes) {
            do {
                let bytes = try context.connection.integer(
                    "SELECT sum(bytes) / count(*) FROM (SELECT \(sum) AS bytes FROM source.\(table.name) LIMIT 64)")
                return Int(clamping: bytes ?? 0)
            } catch let error as DatabaseError where error.isTooBig {
                return context.options.valueBytes
            }
        }
    }
}
