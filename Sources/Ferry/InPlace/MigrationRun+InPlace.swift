internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify

extension MigrationRun {
    /// Runs all steps on the store itself in one transaction; a kill before COMMIT leaves the old store.
    func runInPlace(
        _ planned: Planned, _ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        try stop.check()
        if configuration.holdsSwap {
            // There is no second file, so the migration itself would change the store.
            throw FerryError(
                .swapHeld,
                "Everything is prepared. The migration itself is one transaction on \(place.store), which is unchanged.",
                remedy: "\(action: .again) without \(setting: .holdsSwap) to migrate.")
        }
        record.phase = .rows
        try folder.save(record)
        try noteExternalFiles(sourceGuard, folder)
        // Another program may write before the writer has locked the store; the fingerprint shows that.
        let seen = try sourceGuard.fingerprint()
        try record.checkSource(seen)
        // Damaged pages that stay cannot pass.
        let isSound = record.migration?.findings.warnings.contains { $0.code == .damagedPages } != true
        let isVerified = isSound && verifiesBeforeCommit(planned)
        let usesLog = seen.store.usesWriteAheadLog && planned.writesRows
        let writesMuch =
            try usesLog && writesMuch(planned.plan.steps, on: sourceGuard.connection, planned.statements)
        if usesLog && (isVerified || writesMuch) {
            // The guard and the writer both need exclusive access.
            let isAlone = try sourceGuard.takeExclusively()
            sourceGuard.release()
            // Only a rollback journal shows the old store beside the new one. What is inferred is checked in part then.
            if !isAlone, isVerified, !planned.plan.steps[0].isInferred { throw JournalSwitch.inUse(place.store) }
            if !isAlone, writesMuch {
                let warning = FerryWarning(
                    .openElsewhere,
                    "\(place.store) is open in another program, so every change goes through its -wal: it is written twice and needs "
                        + "2 KiB of memory per MiB.",
                    about: .init(path: place.store))
                record.migration?.findings.warnings.append(warning)
                relay.send(.warning(warning))
            }
            try migrateStore(planned, leavesLog: isAlone, isVerified: isVerified && isAlone, &record, folder)
            // Cleans up like a guard that stayed open.
            if !isAlone {
                try SourceGuard(path: place.store, purpose: .reading, files: files, sideFiles: record.sideFiles).close()
            }
        } else {
            try sourceGuard.endTransaction()
            try migrateStore(planned, leavesLog: false, isVerified: isVerified, &record, folder)
            // The writer is closed by now, so that side files which were not there before can go.
            try sourceGuard.close()
        }
    }

    /// Whether steps write more than a few pages of a store that is not small.
    func writesMuch(
        _ steps: [StepPlan], on connection: Connection, _ statements: StatementsInPlace?
    ) throws -> Bool {
        guard try connection.contentBytes() > configuration.largestLoggedStore else { return false }
        // Planning several steps, or a step through several versions, twice is not worth its time.
        guard steps.count == 1, steps[0].parts.isEmpty, let statements else { return true }
        return try !statements.plan().touched.isEmpty
    }

    private func migrateStore(
        _ planned: Planned, leavesLog: Bool, isVerified: Bool, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        let plan = planned.plan
        let connection = try Connection(
            inPlace: place.store, memory: memory, vfs: files.vfs(folder.path),
            trace: configuration.trace)
        connection.keepWriteAheadLogOnClose()
        guard let migration = record.migration else { preconditionFailure("a step is that of a migration") }
        let options = engineOptions(migration, step: 1)
        let journal = JournalSwitch(connection: connection, folder: folder)
        var others: OtherCommits?
        if leavesLog {
            try journal.leaveLog(&record)
            try connection.execute("BEGIN EXCLUSIVE")
        } else {
            try connection.execute("BEGIN IMMEDIATE")
            others = try OtherCommits(seenBy: connection)
            try record.checkSource(Fingerprint(store: PageReader(connection).fingerprint(files: files)))
        }
        let freed = try FreedPages(before: connection)
        var current = record
        do {
            try InPlaceRun.run(
                plan.steps, on: connection, options: options, checks: options.checksInPlace,
                found: planned.statements?.whole,
                beforeCommit: { reports in
                    addSteps(plan, reports, to: &current)
                    if isVerified { return }
                    relay.begin(.swap)
                    // Whoever is told of the phase may stop before it.
                    try stop.check()
                    try save(&current, folder, connection)
                },
                commit: { connection in
                    guard isVerified else { return try connection.execute("COMMIT") }
                    try connection.commit {
                        do { try verifyBeforeCommit(plan.steps[0], options, &current, folder) } catch {
                            // It reads the file by its path, where another one may be by now.
                            try connection.checkPlace()
                            throw error
                        }
                        relay.begin(.swap)
                        try stop.check()
                        try save(&current, folder, connection)
                    }
                })
            try connection.checkPlace()
        } catch {
            // The first error is reported; the next call restores the rest.
            do { if leavesLog { try journal.restoreLog(&record, wasRolledBack: false) } } catch {}
            throw error
        }
        record = current
        memory.releaseUnused(before: try connection.contentBytes())
        record.freed = try freed.giveBack(on: connection, stop: stop)
        if leavesLog {
            try journal.returnToLog()
            record.ended = try journal.lockExclusively().store.withoutLog
        } else {
            // A page that a reader keeps from being written back is written back when the store is next opened.
            _ = try connection.checkpoint("TRUNCATE")
            record.ended = try others?.fingerprintIfNone(on: connection, files: files)
        }
        withExtendedLifetime(connection) {}
    }

    /// Whether all values are compared with those of the old store before COMMIT; the transaction of several steps shows
    /// only the store before the first one and after the last.
    func verifiesBeforeCommit(_ planned: Planned) -> Bool {
        configuration.verify == .full && planned.writesRows && planned.plan.steps.count == 1
    }

    /// Saves the record with the steps, as the last thing before COMMIT.
    private func save(_ record: inout RunRecord, _ folder: RunFolder, _ connection: Connection) throws {
        noteTimes(&record)
        try folder.save(record)
        try checkSnapshot(record, folder)
        try connection.checkPlace()
    }

    /// The record of a run in place of which only the snapshot was taken; nil if the store or the plan has changed.
    func continued(
        _ begun: RunRecord, _ plan: MigrationPlan, _ sourceGuard: SourceGuard, _ folder: RunFolder
    ) throws -> RunRecord? {
        var record = begun
        let now = try sourceGuard.fingerprint().with(inputs: inputs.digests)
        // A rolled back journal restores the file's bytes with another time. A writer with a rollback journal counts
        // its change in the header, which is compared; a writer with a -wal may leave no other trace.
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
    var checksInPlace: InPlaceRun.Checks {
        { [progress, stop, toldLinks] work in
            let verification = try VerificationInPlace(
                of: work.step, writing: work.tables, on: work.connection, damage: work.damage,
                told: ToldLinks.of(work.step, reported: work.isFirst ? toldLinks : nil), progress: progress, stop: stop)
            return { counts, counted in try verification.check(counts, counted: counted) }
        }
    }
}

extension Connection {
    convenience init(inPlace path: String, memory: MemoryBudget, vfs: VFS?, trace: TraceHook?) throws {
        try self.init(path: path, mode: .readWrite, vfs: vfs, trace: trace)
        try syncFully()
        // EXTRA also syncs the folder of a deleted journal, before files that only the old store needs are deleted.
        try execute("PRAGMA synchronous = EXTRA")
        // SQLite overwrites deleted content with zeros only in pages that it writes anyway, as in Core Data.
        try execute("PRAGMA secure_delete = FAST; PRAGMA temp_store = FILE")
        try shareCaches(memory.workingCaches, among: ["main": 5, "temp": 1])
    }
}

extension RunRecord {
    /// Whether the run changes the store itself and its end is not recorded.
    var isUnfinishedInPlace: Bool {
        migration.map { $0.isInPlace && $0.runsInFolder != true && $0.options.output == nil } ?? false
    }

    /// Whether this run gave a store the hashes of a version.
    func isCommitted(to version: String) -> Bool {
        guard let migration, isUnfinishedInPlace else { return false }
        return migration.steps.count == migration.stepCount && migration.to == version
    }
}

/// The statements of the step that begins at the store, found once, since they are the slowest part of a plan through
/// many versions; opens a connection only to find them.
final class StatementsInPlace {
    private var step: StepPlan
    private let dropping: Set<String>
    private let connection: () throws -> Connection
    private var found: Result<(statements: InPlacePlan, isWhole: Bool), any Error>?

    /// Requires that no other connection changes the store's schema meanwhile.
    init(_ step: StepPlan, dropping: Set<String>, on connection: @escaping () throws -> Connection) {
        (self.step, self.dropping, self.connection) = (step, dropping, connection)
    }

    private func planning() throws -> InPlacePlanning {
        try InPlacePlanning(step, on: connection(), dropping: dropping)
    }

    /// - Throws: ``FerryError`` when the store holds objects that cannot go through the step.
    func plan() throws -> InPlacePlan {
        let result = found ?? Result { try planning().find() }
        found = result
        // The parts of a step through many versions hold some MiB.
        if whole != nil { step.parts = [] }
        return try result.get().statements
    }

    /// The statements found, if the run uses them unchanged; nil if none were planned.
    var whole: InPlacePlan? {
        guard case .success(let found)? = found, found.isWhole else { return nil }
        return found.statements
    }

    /// The reason why rows of unknown entities cannot stay in their table; nil if they can, or if there are none.
    func refusalToKeepUnknownEntities() throws -> FerryError? {
        try planning().refusalToKeepUnknownEntities(by: plan())
    }
}
