internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

/// Carries all rows of a step: partition after partition, mapping after mapping, chunk after chunk.
struct RowsPhase {
    let context: StepContext
    let policies: PolicyRun

    static func unit(of mapping: ResolvedEntityMapping) -> String { "rows:\(mapping.position)" }

    func run(report: inout StepReport) throws {
        for partition in context.step.partitions {
            for plan in partition.entityMappings {
                try policies.begin(plan.mapping)
                try carry(plan, report: &report)
                try policies.endInstanceCreation(plan.mapping)
            }
        }
    }

    private func carry(_ plan: EntityMappingPlan, report: inout StepReport) throws {
        let mapping = plan.mapping
        let unit = Self.unit(of: mapping)
        var entry = try context.progress.entry(unit)
        if entry.isDone { return }
        let ranges = try KeyRanges(of: mapping, in: context)
        let executor = try executor(of: plan)
        var sizer = ChunkSizer(context.options.chunkSize)
        var low = entry.chunks == 0 ? KeyRanges.beginning : entry.mark
        while !entry.isDone {
            try context.options.stop.check()
            let start = Clock.nanoseconds()
            let range = try ranges.next(after: low, rows: sizer.rows)
            try context.unit(writesScratch: range != nil && executor.writesScratch) {
                if let range {
                    let outcome = try placed(in: mapping) { try executor.carry(range) }
                    entry.mark = range.high
                    entry.chunks += 1
                    entry.read += outcome.read
                    entry.written += outcome.written
                    entry.merged += outcome.merged
                    entry.dropped += outcome.dropped
                    entry.created += outcome.created
                    try policies.recordCreated(by: mapping, isFirstPass: true)
                    precondition(
                        outcome.dropped >= 0, "A chunk of \(mapping.name) wrote more rows than it read.")
                }
                entry.isDone = range?.isLast ?? true
                try context.progress.save(entry, for: unit)
            }
            guard let range else { return }
            low = range.high
            let nanoseconds = Clock.nanoseconds() - start
            sizer.chunkTook(nanoseconds)
            report.chunkTimes.add(nanoseconds)
            context.options.progress?(
                ProgressUpdate(
                    phase: .rows, subject: mapping.name, done: entry.read,
                    // Elements of an iteration are counted as they come.
                    total: plan.isEstimated || mapping.iteration != nil ? nil : plan.rows))
        }
    }

    private func executor(of plan: EntityMappingPlan) throws -> any MappingExecutor {
        if let executor = try policies.executor(of: plan.mapping) { return executor }
        return switch plan.executor {
        case .set: try SetExecutor(plan.mapping, in: context)
        case .row: try RowExecutor(plan.mapping, in: context)
        }
    }

    /// Runs the body; a failing function of ours says in which entity mapping it failed.
    private func placed<Result>(in mapping: ResolvedEntityMapping, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            guard let cause = context.connection.takeFunctionError() as? FerryError else { throw error }
            throw placed(cause, in: mapping, cause: error)
        } catch let error as FerryError where error.code == .rowFailed {
            throw placed(error, in: mapping, cause: error.cause)
        }
    }

    private func placed(
        _ error: FerryError, in mapping: ResolvedEntityMapping, cause: (any Error)?
    ) -> FerryError {
        var error = error
        error.place.entityMapping = mapping.name
        error.place.entity = mapping.source
        error.message = "Entity mapping \(mapping.name): \(error.message)"
        error.cause = cause
        return error
    }
}
