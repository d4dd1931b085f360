internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify

extension MigrationRun {
    /// Runs the one step on the store itself in one transaction; a kill before COMMIT leaves the old store.
    func runInStore(_ planned: Planned, _ session: MigrationSession, _ sourceGuard: SourceGuard) throws {
        try stop.check()
        if configuration.holdsSwap {
            // There is no second file, so the migration itself would change the store.
            throw FerryError(
                .swapHeld,
                "Everything is prepared. The migration itself is one transaction on \(place.store), which is unchanged.",
                remedy: "\(action: .again) without \(setting: .holdsSwap) to migrate.")
        }
        session.head.phase = .rows
        try session.save()
        try noteExternalFiles(sourceGuard, session)
        // Another program may write before the writer has locked the store; the fingerprint shows that.
        let seen = try sourceGuard.fingerprint()
        try session.head.checkSource(seen)
        // Damaged pages that stay cannot pass.
        let isSound = !session.migration.findings.warnings.contains { $0.code == .damagedPages }
        let isVerified = isSound && verifiesBeforeCommit(planned)
        if isVerified {
            // That of an earlier call, which a power cut can have left incomplete, is made again.
            try files.removeIfPresent(session.source)
            try PageCopy(folder: session.folder.path, destination: session.source, files: files, isResumed: false)
                .run(ofStepAfter: nil, sourceGuard, engineOptions(session.migration, step: 1))
        }
        if try seen.store.usesWriteAheadLog && planned.writesRows
            && writesMuch(planned.plan.steps[0], on: sourceGuard.connection, planned.inPlace)
        {
            // The guard and the writer both need exclusive access.
            let isAlone = try sourceGuard.takeExclusively()
            sourceGuard.release()
            if !isAlone {
                let warning = FerryWarning(
                    .openElsewhere,
                    "\(place.store) is open in another program, so every change goes through its -wal: it is written twice and needs "
                        + "2 KiB of memory per MiB.",
                    about: .init(path: place.store))
                session.migration.findings.warnings.append(warning)
                relay.send(.warning(warning))
            }
            try migrateStore(planned, session, leavesLog: isAlone, isVerified: isVerified)
            // Cleans up like a guard that stayed open.
            if !isAlone {
                try SourceGuard(path: place.store, purpose: .reading, files: files, sideFiles: session.head.sideFiles)
                    .close()
            }
        } else {
            try sourceGuard.endTransaction()
            try migrateStore(planned, session, leavesLog: false, isVerified: isVerified)
            // The writer is closed by now, so that side files which were not there before can go.
            try sourceGuard.close()
        }
    }

    private func migrateStore(
        _ planned: Planned, _ session: MigrationSession, leavesLog: Bool, isVerified: Bool
    ) throws {
        let step = planned.plan.steps[0]
        let connection = try Connection(
            inPlace: place.store, memory: memory, vfs: files.vfs(session.folder.path),
            trace: configuration.trace)
        connection.keepWriteAheadLogOnClose()
        let options = engineOptions(session.migration, step: 1)
        if isVerified {
            try Verification.attach(source: session.source, workFolder: session.folder.path, to: connection)
        }
        let journal = JournalSwitch(connection: connection, session: session)
        var dataVersion: Int64?
        if leavesLog {
            try journal.leaveLog()
            try connection.execute("BEGIN EXCLUSIVE")
        } else {
            try connection.execute("BEGIN IMMEDIATE")
            dataVersion = try connection.integer("PRAGMA data_version")
            try session.head.checkSource(Fingerprint(store: PageReader(connection).fingerprint(files: files)))
        }
        let before = (session.head, session.migration)
        do {
            var run = StepRun(
                step, in: .store(connection, isVerified ? nil : options.checksInPlace), options: options)
            run.found = planned.inPlace?.found
            _ = try run.run { report in
                add(step, report, to: session)
                if isVerified {
                    try verify(step, before: connection, report.kept, options, session)
                }
                relay.begin(.swap)
                // Whoever is told of the phase may stop before it.
                try stop.check()
                try saveWithTimes(session)
                try checkSnapshot(of: session)
                try connection.checkPlace()
            }
            try connection.checkPlace()
        } catch {
            // The transaction is rolled back: the steps are not done.
            (session.head, session.migration) = before
            // The first error is reported; the next call restores the rest.
            do { if leavesLog { try journal.restoreLog(wasRolledBack: false) } } catch {}
            throw error
        }
        memory.releaseUnused(before: try connection.contentBytes())
        if leavesLog {
            try journal.returnToLog()
            session.head.ended = try journal.lockExclusively().store.withoutLog
        } else {
            // A page that a reader keeps from being written back is written back when the store is next opened.
            _ = try connection.checkpoint("TRUNCATE")
            session.head.ended = try fingerprint(of: connection, since: dataVersion)
        }
        withExtendedLifetime(connection) {}
    }

    /// The store's fingerprint; nil if another connection has committed since the data version, or is writing now.
    ///
    /// After COMMIT another program may write before the store's state can be recorded, and its writes must not pass for
    /// those of the run.
    private func fingerprint(of connection: Connection, since dataVersion: Int64?) throws -> DatabaseFingerprint? {
        do {
            try connection.execute("BEGIN IMMEDIATE")
        } catch {
            guard error.isBusy else { throw error }
            return nil
        }
        // Only commits of other connections change the number, whatever the journal mode.
        let isSame = try connection.integer("PRAGMA data_version") == dataVersion
        let fingerprint = try isSame ? PageReader(connection).fingerprint(files: files) : nil
        try connection.execute("ROLLBACK")
        return fingerprint
    }

    private func add(_ step: StepPlan, _ report: StepReport, to session: MigrationSession) {
        var summary = VerificationSummary(mode: configuration.verification)
        summary.isBeforeCommit = true
        summary.checked = report.counts.filter { $0.isEstimated != true }.map(\.written).reduce(0, +)
        session.migration.steps = []
        session.migration.add(step, 1, report)
        session.migration.steps[0].verification = summary
        session.migration.steps[0].isFinished = true
    }
}

extension MigrationSession {
    /// The copy of the store with which the result is compared before COMMIT.
    fileprivate var source: String { folder.path + "/source.sqlite" }
}

extension EngineOptions {
    var checksInPlace: StoreChecks {
        { [progress, stop, toldLosses] store in
            let verification = try VerificationInPlace(
                of: store.step, writing: store.tables, on: store.connection, damage: store.damage,
                told: ToldLoss.of(store.step, reported: toldLosses), progress: progress, stop: stop)
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
