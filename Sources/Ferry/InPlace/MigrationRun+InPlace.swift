internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify

extension MigrationRun {
    /// Takes the store itself through all steps in one transaction.
    ///
    /// COMMIT is the only point at which anything changes; a kill before it leaves the old store.
    func runInPlace(
        _ planned: Planned, _ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        try stop.check()
        if configuration.holdsSwap {
            // There is no second file: the one transaction is what would change the store.
            throw FerryError(
                .swapHeld,
                "Everything but the migration itself is done: it is one transaction on \(place.store), which is as before.",
                remedy: "\(action: .again) without \(setting: .holdsSwap) to migrate.")
        }
        record.phase = .rows
        try folder.save(record)
        try noteExternalFiles(sourceGuard, folder)
        // The guard only reads; the writer must have the store before any other program gets in between, or see that.
        let seen = try sourceGuard.fingerprint()
        try record.checkSource(seen)
        if try seen.store.usesWriteAheadLog && planned.writesRows
            && writesMuch(planned.plan.steps, on: sourceGuard.connection, planned.statements)
        {
            // Both want to be the only one.
            let isAlone = try sourceGuard.takeExclusively()
            sourceGuard.release()
            if !isAlone {
                let warning = FerryWarning(
                    .openElsewhere,
                    "\(place.store) is open in another program, so all that is written goes through its -wal: twice to the disk, "
                        + "with 2 KiB of memory for each MiB.",
                    about: .init(path: place.store))
                record.migration?.findings.warnings.append(warning)
                relay.send(.warning(warning))
            }
            try migrateStore(planned, leavesLog: isAlone, &record, folder)
            // As a guard that stayed open would at its end.
            if !isAlone {
                try SourceGuard(path: place.store, purpose: .reading, files: files, sideFiles: record.sideFiles).close()
            }
        } else {
            try sourceGuard.endTransaction()
            try migrateStore(planned, leavesLog: false, &record, folder)
            // The writer is closed by now, so that side files which were not there before can go.
            try sourceGuard.close()
        }
    }

    /// Whether steps write more than a few pages of a store that is not small.
    func writesMuch(
        _ steps: [StepPlan], on connection: Connection, _ statements: StatementsInPlace?
    ) throws -> Bool {
        guard try connection.contentBytes() > configuration.largestLoggedStore else { return false }
        // What several steps, or a step for several, do is not worth planning twice.
        guard steps.count == 1, steps[0].parts.isEmpty, let statements else { return true }
        return try !statements.plan().touched.isEmpty
    }

    private func migrateStore(
        _ planned: Planned, leavesLog: Bool, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        let plan = planned.plan
        let connection = try Connection(
            inPlace: place.store, memory: configuration.memory, vfs: files.vfs(folder.path),
            trace: configuration.trace)
        connection.keepWriteAheadLogOnClose()
        guard let migration = record.migration else { preconditionFailure("a step is that of a migration") }
        let options = engineOptions(migration, step: 1)
        let journal = JournalSwitch(connection: connection, folder: folder)
        if leavesLog {
            try journal.leaveLog(&record)
            try connection.execute("BEGIN EXCLUSIVE")
        } else {
            try connection.execute("BEGIN IMMEDIATE")
            try record.checkSource(Fingerprint(store: PageReader(connection).fingerprint(files: files)))
        }
        var current = record
        do {
            try InPlaceRun.run(
                plan.steps, on: connection, options: options, checks: options.checksInPlace,
                found: planned.statements?.whole
            ) { reports in
                relay.begin(.swap)
                addSteps(plan, reports, to: &current)
                noteTimes(&current)
                try folder.save(current)
                try connection.checkPlace()
            }
            try connection.checkPlace()
        } catch {
            // The first error is the one to report; what cannot be given back now is given back by the next call.
            do { if leavesLog { try journal.giveBack(&record, wasRolledBack: false) } } catch {}
            throw error
        }
        record = current
        configuration.memory.releaseUnused(before: try connection.contentBytes())
        if leavesLog {
            try journal.returnToLog()
        } else {
            // What a reader keeps from being written back is written back when the store is opened next.
            _ = try connection.checkpoint("TRUNCATE")
        }
        withExtendedLifetime(connection) {}
    }

    /// The record of a run in place that can go on: then only its snapshot was taken.
    ///
    /// Nil when the run must begin anew, since store or plan are not those that it began with.
    func continued(
        _ begun: RunRecord, _ plan: MigrationPlan, _ sourceGuard: SourceGuard, _ folder: RunFolder
    ) throws -> RunRecord? {
        var record = begun
        let now = try sourceGuard.fingerprint().with(inputs: inputs.digests)
        // A journal that was rolled back gives the file the bytes that it had, at another time. Whoever writes by one
        // counts the change in the header, which is compared; whoever writes by a -wal may leave no other trace.
        if !record.source.store.usesWriteAheadLog {
            (record.source.store.modified, record.source.store.changed) = (now.store.modified, now.store.changed)
        }
        do {
            try checkSame(record, plan, now)
        } catch let error as FerryError where [.runDiffers, .sourceChanged].contains(error.code) {
            try folder.clear()
            return nil
        }
        try folder.save(record)
        return record
    }

    private func addSteps(_ plan: MigrationPlan, _ reports: [StepReport], to record: inout RunRecord) {
        record.migration?.steps = []
        for (index, (step, report)) in zip(plan.steps, reports).enumerated() {
            var summary = VerificationSummary(mode: configuration.verify)
            summary.isBeforeCommit = true
            summary.checked = report.counts.filter { $0.isEstimated != true }.map(\.written).reduce(0, +)
            record.add(step, index + 1, report)
            record.migration?.steps[index].verification = summary
            record.migration?.steps[index].isFinished = true
        }
    }
}

extension EngineOptions {
    /// Verification's checks, inside the transaction of a step in place.
    var checksInPlace: InPlaceRun.Checks {
        { [progress, stop] work in
            let verification = try VerificationInPlace(
                of: work.step, writing: work.tables, on: work.connection, damage: work.damage, progress: progress,
                stop: stop)
            return { counts, counted in try verification.check(counts, counted: counted) }
        }
    }
}

extension Connection {
    /// Opens a file that is migrated within itself.
    convenience init(inPlace path: String, memory: MemoryBudget, vfs: VFS?, trace: TraceHook?) throws {
        try self.init(path: path, mode: .readWrite, vfs: vfs, trace: trace)
        try syncFully()
        // The store's own journal may be one that is deleted at the commit: then its folder is synced too, before
        // anything that only the old store needs is taken away.
        try execute("PRAGMA synchronous = EXTRA")
        // What is overwritten anyway is overwritten by nothing, else free pages keep their bytes, as in Core Data.
        try execute("PRAGMA secure_delete = FAST; PRAGMA temp_store = FILE")
        try shareCaches(memory.workingCaches, among: ["main": 5, "temp": 1])
    }
}

extension RunRecord {
    /// Whether the run changes the store itself and has not been seen to have done so.
    var isUnfinishedInPlace: Bool {
        migration.map { $0.isInPlace && $0.options.output == nil } ?? false
    }

    /// Whether a store that has a version's hashes has them by this run.
    func isCommitted(to version: String) -> Bool {
        guard let migration, isUnfinishedInPlace else { return false }
        return migration.steps.count == migration.stepCount && migration.to == version
    }
}

/// The statements of the step that begins at the store, found once: of a step that stands for many versions that takes
/// longest of all that a plan looks up.
///
/// It keeps no connection open: only where something is looked up it asks for one.
final class StatementsInPlace {
    private let planning: () throws -> InPlacePlanning
    private var found: Result<(statements: InPlacePlan, isWhole: Bool), any Error>?

    /// No other connection may change the schema of the store meanwhile.
    init(_ step: StepPlan, dropping: Set<String>, on connection: @escaping () throws -> Connection) {
        planning = { try InPlacePlanning(step, on: connection(), dropping: dropping) }
    }

    /// - Throws: ``FerryError`` when the store holds what cannot go through the step.
    func plan() throws -> InPlacePlan {
        let result = found ?? Result { try planning().find() }
        found = result
        return try result.get().statements
    }

    /// What was found, if the run takes it as it is; nil where nothing was looked for.
    var whole: InPlacePlan? {
        guard case .success(let found)? = found, found.isWhole else { return nil }
        return found.statements
    }

    /// Why rows of no known entity cannot stay where they are; nil when they can, or when there are none.
    func refusalToKeepUnknownEntities() throws -> FerryError? {
        try planning().refusalToKeepUnknownEntities(by: plan())
    }
}
