internal import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
package import FerryStore

/// The input of the checks of a step in place, inside the transaction and before its statements.
package struct InPlaceWork {
    package let step: ResolvedStep
    /// Tables of the new version whose rows the statements write.
    package let tables: Set<String>
    /// Other tables whose rows they write.
    package let tablesBeside: Set<String>
    /// The store, as the main database.
    package let connection: Connection
    /// The damage of the store; nil if no scan ran.
    package let damage: [StoreDamage]?
    /// Whether no other step of the transaction comes before.
    package let isFirst: Bool
}

/// Migrates a store within its own file, inside one transaction.
///
/// After a kill, SQLite's journal restores the old version; there is no other copy. Every check of the result runs
/// before COMMIT, through the same connection. The caller provides the checks: the engine does not check itself.
package struct InPlaceRun {
    /// Reads the old version and returns a check of the new version, which throws if the result is wrong.
    ///
    /// The check takes the mappings' counts, and change counts of single-entity tables that one statement writes.
    package typealias Checks =
        (InPlaceWork) throws -> ([EntityMappingCounts], _ counted: [String: Int64]) throws -> Void

    private let step: StepPlan
    /// The store, as the main database, inside a transaction that may write.
    private let connection: Connection
    private let options: EngineOptions
    private let checks: Checks?
    /// Whether this is the first step, on the user's store with its damage and other objects.
    private let isFirst: Bool
    /// The program that ``InPlacePlanning`` found for the same step and schema, if any.
    let found: StepProgram?
    /// Counts the lists of statements of the transaction.
    private let lists: Lists

    private final class Lists {
        var begun = 0
        var last: UInt64 = 0
    }

    /// The time between two reports during one statement.
    private static let tickNanoseconds: UInt64 = 200_000_000

    /// Runs steps one after another in one transaction and commits it.
    ///
    /// - Parameters:
    ///   - steps: The steps from the store's version on.
    ///   - connection: The store; a transaction that is open already becomes the one that is committed.
    ///   - options: The settings of the run.
    ///   - checks: Checks each step; nil if its result is verified later.
    ///   - found: The program of the first step, if the schema has not changed since.
    ///   - beforeCommit: Receives the reports after all steps and checks.
    /// - Returns: A report for each step.
    /// - Throws: ``FerryError``, after a rollback that leaves the store as before.
    @discardableResult
    package static func run(
        _ steps: [StepPlan], on connection: Connection, options: EngineOptions, checks: Checks? = nil,
        found: StepProgram? = nil, beforeCommit: ([StepReport]) throws -> Void = { _ in }
    ) throws -> [StepReport] {
        let reports = try connection.abandoning(on: options.stop) {
            do {
                if !connection.isInTransaction { try connection.execute("BEGIN IMMEDIATE") }
                var reports: [StepReport] = []
                let lists = Lists()
                for (index, step) in steps.enumerated() {
                    var step = step
                    // Counts of the plan include rows that are dropped here.
                    if options.damaged == .drop { step.sourceRows = nil }
                    let run = InPlaceRun(
                        step: step, connection: connection, options: options, checks: checks, isFirst: index == 0,
                        found: index == 0 ? found : nil, lists: lists)
                    // SQLite holds a rewritten row whole in memory; no row may take all of it.
                    reports.append(try connection.with(.length, options.wholeValueBytes) { try run.run() })
                }
                try options.stop.check()
                try beforeCommit(reports)
                try connection.execute("COMMIT")
                connection.keep([])
                return reports
            } catch {
                // SQLite may have rolled back by itself (disk full, I/O error); the first error is the one to report.
                do { if connection.isInTransaction { try connection.execute("ROLLBACK") } } catch {}
                connection.keep([])
                let failed = (error as? DatabaseError).map { FerryError(inPlace: $0, on: connection.path) }
                guard let refusal = failed ?? (error as? FerryError) else { throw error }
                switch refusal.code {
                case .valueTooLarge: throw try located(refusal, steps, connection, options)
                case .rowFailed: throw refusal.at(failedRow(steps, connection, options))
                default: throw refusal
                }
            }
        }
        options.stop.unitIsDone()
        return reports
    }

    /// Adds the object that a statement cannot rewrite; the store is as before.
    private static func located(
        _ error: FerryError, _ steps: [StepPlan], _ connection: Connection, _ options: EngineOptions
    ) throws -> FerryError {
        guard let step = steps.first else { return error }
        let layout = try StoreLayout.actual(for: step.resolved.source.model, on: connection)
        let search = LargeValueSearch(layout: layout, connection: connection, schema: "main")
        let whole = options.wholeValueBytes
        // If no value alone is too large, several values of one row are.
        return try search.refusal(above: whole, options, cause: error.cause)
            ?? search.refusal(above: whole / 2, options, cause: error.cause) ?? error
    }

    /// The object with a value that the first step cannot convert; nil if the failure has another cause.
    private static func failedRow(
        _ steps: [StepPlan], _ connection: Connection, _ options: EngineOptions
    ) -> FailedRowSearch.Row? {
        guard let step = steps.first else { return nil }
        do {
            let planned = try InPlacePlanning(step, on: connection, dropping: options.dropping)
            for values in try planned.program().moves.computations {
                let search = FailedRowSearch(
                    values: values, connection: connection, longestValue: options.wholeValueBytes, now: options.now)
                if let row = try search.first() { return row }
            }
        } catch {}  // The first failure is the one to report.
        return nil
    }

    private func run() throws -> StepReport {
        var report = StepReport()
        options.progress?(ProgressUpdate(phase: .rows))
        if isFirst, !options.dropping.isEmpty { try dropObjects() }
        let planned = try InPlacePlanning(step, on: connection)
        let (source, destination) = (planned.source, planned.destination)
        let program = try found ?? planned.program()
        let moves = program.moves
        let count = program.statements.count + 2
        var place = ProgressUpdate.StatementPlace(list: lists.begun, index: 0, count: count)
        lists.begun += 1
        tell(nil, at: place)
        try options.registerFunctions(forStore: connection.path, on: connection)
        let dropped = try repairRows(planned, program, &report)
        // Repairs write to any table, before the statements.
        let repairs = isFirst && !source.entityColumnRepairs(options.sourceDamage).isEmpty
        if !repairs, !isFirst || options.damaged != .drop { report.kept = moves.keptTables }
        connection.keep(report.kept)
        let leftovers = try Leftover.all(in: source, on: connection)
        var counts = try InPlaceCounts(step, of: source, moves, on: connection, dropsRows: !dropped.isEmpty)
        let check = try checks?(
            InPlaceWork(
                step: step.resolved, tables: moves.touched, tablesBeside: moves.touchedBeside, connection: connection,
                damage: options.sourceDamage, isFirst: isFirst))
        for changes in moves.droppedHistory {
            let rows = try connection.integer(changes.sql) ?? 0
            if rows > 0 { report.healed.append((.droppedHistory, changes.entity, rows)) }
        }
        connection.allowSchemaWrites()
        // The memory of planning and of the first checks is not needed beside caches and sorters; what writes no rows
        // has a small cache.
        let bytes = try connection.contentBytes()
        let writesRows = program.operations.contains { $0.statement?.countedEntity != nil }
        options.memory.releaseUnused(before: writesRows ? bytes : 0)
        var written: [String: Int64] = [:]
        // Beside a kept part the rows of other tables are still to be written, so that its closing comes later.
        for operation in program.operations where step.keptPart == nil || !operation.isClosing {
            guard let statement = operation.statement else {
                try writeVersion()
                continue
            }
            place.index += 1
            guard let entity = statement.countedEntity else {
                try execute(statement, at: place)
                continue
            }
            try connection.withCache(options.memory.workingCaches) {
                try execute(statement, at: place)
                written[entity] = connection.changes
            }
            // The next index is sorted beside the memory that this statement's cache has left.
            options.memory.releaseUnused(before: bytes)
        }
        place.index += 1
        // The checks do not need the memory of planning and statements.
        options.memory.releaseUnused(before: bytes)
        if step.keptPart == nil { tell(nil, at: place, phase: .verify) }
        try check?(counts.ofMappings(), written)
        counts.dropped = dropped
        (report.counts, report.unmapped) = (counts.ofMappings(), counts.unmapped())
        report.leftBehind = moves.leftBehind(of: leftovers, in: try StoreCatalog(connection), destination)
        return report
    }

    // MARK: Damage and the app's objects

    private func dropObjects() throws {
        let source = try StoreLayout.actual(for: step.resolved.source.model, on: connection)
        let destination = try StoreLayout.canonical(
            for: step.resolved.destination.model, foundTriggers: .of(source))
        let appObjects = try AppObjects(
            of: source, into: destination, on: connection, dropping: options.dropping, inPlace: true)
        if let refusal = appObjects.refusals.first { throw refusal }
        try appObjects.drop(on: connection)
    }

    /// Repairs entity columns, drops or refuses rows that no rule repairs, and returns dropped rows by source entity.
    private func repairRows(
        _ planned: InPlacePlanning, _ program: StepProgram, _ report: inout StepReport
    ) throws -> [String: Int64] {
        if isFirst {
            try connection.withoutTriggers {
                for repair in planned.source.entityColumnRepairs(options.sourceDamage) {
                    try connection.execute(repair)
                }
            }
        }
        if isFirst, options.damaged == .drop { return try removeDamagedRows(planned.source, &report) }
        let mayHaveUnknownEntities = options.sourceDamage?.contains { $0.kind == .unknownEntity } != false
        if mayHaveUnknownEntities, let refusal = try planned.refusalToKeepUnknownEntities(by: program) { throw refusal }
        return [:]
    }

    private func removeDamagedRows(_ source: StoreLayout, _ report: inout StepReport) throws -> [String: Int64] {
        var dropped: [String: Int64] = [:]
        try connection.withoutTriggers {
            for damaged in UnhealedRows.all(of: step.resolved, in: source) {
                let rows = try connection.integer(damaged.count) ?? 0
                guard rows > 0 else { continue }
                for statement in damaged.statements { try connection.execute(statement) }
                report.healed.append((damaged.kind, damaged.entity, rows))
                if damaged.kind == .missingValue { dropped[damaged.entity] = rows }
            }
            // Derived values, which disabled triggers have not updated.
            for value in report.healed.isEmpty ? [] : source.derivedValues {
                let update = try connection.prepare(value.update)
                try update.bind(KeyRange.all)
                try update.run()
            }
        }
        return dropped
    }

    // MARK: Statements

    private func tell(
        _ subject: String?, at place: ProgressUpdate.StatementPlace, phase: Phase = .rows
    ) {
        guard let progress = options.progress else { return }
        var update = ProgressUpdate(phase: phase, subject: subject)
        update.statement = place
        lists.last = Clock.nanoseconds()
        progress(update)
    }

    private func execute(_ planned: ProgramStatement, at place: ProgressUpdate.StatementPlace) throws {
        try options.stop.check()
        tell(planned.reason, at: place)
        do {
            // A long statement has no progress of its own; the reports keep the time left current.
            try connection.ticking {
                guard Clock.nanoseconds(since: lists.last) >= Self.tickNanoseconds else { return }
                tell(planned.reason, at: place)
            } _: {
                try connection.run(planned, now: options.now)
            }
        } catch let error as DatabaseError {
            // Errors of our functions and of constraints get a message in terms of the model.
            let cause = connection.takeFunctionError()
            if error.isInterrupted { throw error }
            if let cause = cause as? FerryError { throw cause }
            guard error.isConstraint else { throw error }
            throw FerryError.duplicates(
                "The rows break a uniqueness constraint of the new version: \(error.message).", cause: error)
        }
    }

    private func writeVersion() throws {
        let resolved = step.resolved
        // The archive of a model takes code and memory that nothing else does.
        options.memory.releaseUnused(before: 0)
        let metadata = try StoreMetadata.read(from: connection).restamped(for: resolved.destination)
        try metadata.write(to: connection)
        if try ModelCache.hasModel(connection) { try ModelCache.write(resolved.destination.model, on: connection) }
        options.memory.releaseUnused(before: 0)
        try StaleStatistics.remove(on: connection)
    }
}

extension FerryError {
    /// Wraps an SQLite error after the rollback.
    fileprivate init(inPlace error: DatabaseError, on path: String) {
        if error.isBusy {
            self.init(
                .storeInUseAtSwap, "\(path) is open in another program, so it was not changed.",
                remedy: "Close the app and \(action: .again).", cause: error)
            return
        }
        self.init(database: error, whileDoing: "migrating in place")
        if !error.isInterrupted, !error.isTooBig, !error.isOutOfMemory {
            remedy = "The store is unchanged; \(action: .again)."
        }
    }
}
