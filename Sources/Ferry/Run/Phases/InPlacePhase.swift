internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify

/// Runs the one step on the store itself in one transaction; a kill before COMMIT leaves the old store.
struct InPlacePhase: MigrationPhase {
    let call: MigrationRun
    let session: MigrationSession
    let planned: Planned
    let sourceGuard: SourceGuard

    func run() throws {
        try stop.check()
        if configuration.holdsSwap {
            // There is no second file, so the migration itself would change the store.
            throw FerryError(
                .swapHeld,
                "Everything is prepared. The migration itself is one transaction on \(place.store), which is unchanged.",
                remedy: "\(action: .again) without \(setting: .holdsSwap) to migrate.")
        }
        head.phase = .rows
        try session.save()
        try noteExternalFiles(sourceGuard)
        // Another program may write before the writer has locked the store; the fingerprint shows that.
        let seen = try sourceGuard.fingerprint()
        try head.checkSource(seen)
        // Damaged pages that stay cannot pass.
        let isSound = !migration.findings.warnings.contains { $0.code == .damagedPages }
        let isVerified = isSound && call.verifiesBeforeCommit(planned)
        if isVerified {
            // That of an earlier call, which a power cut can have left incomplete, is made again.
            try files.removeIfPresent(source)
            try PageCopy(folder: folder.path, destination: source, files: files, isResumed: false)
                .run(ofStepAfter: nil, sourceGuard, call.engineOptions(migration, step: 1))
        }
        if try seen.store.usesWriteAheadLog && planned.writesRows
            && call.writesMuch(planned.plan.steps[0], on: sourceGuard.connection, planned.inPlace)
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
                migration.findings.warnings.append(warning)
                relay.send(.warning(warning))
            }
            try migrateStore(leavesLog: isAlone, isVerified: isVerified)
            // Cleans up like a guard that stayed open.
            if !isAlone {
                try SourceGuard(path: place.store, purpose: .reading, files: files, sideFiles: head.sideFiles).close()
            }
        } else {
            try sourceGuard.endTransaction()
            try migrateStore(leavesLog: false, isVerified: isVerified)
            // The writer is closed by now, so that side files which were not there before can go.
            try sourceGuard.close()
        }
    }

    /// The copy of the store with which the result is compared before COMMIT.
    private var source: String { folder.path + "/source.sqlite" }

    private func migrateStore(leavesLog: Bool, isVerified: Bool) throws {
        let step = planned.plan.steps[0]
        let connection = try Connection(
            inPlace: place.store, memory: memory, vfs: files.vfs(folder.path),
            trace: configuration.trace)
        connection.keepWriteAheadLogOnClose()
        let options = call.engineOptions(migration, step: 1)
        if isVerified { try Verification.attach(source: source, workFolder: folder.path, to: connection) }
        let journal = JournalSwitch(connection: connection, session: session)
        var dataVersion: Int64?
        if leavesLog {
            try journal.leaveLog()
            try connection.execute("BEGIN EXCLUSIVE")
        } else {
            try connection.execute("BEGIN IMMEDIATE")
            dataVersion = try connection.integer("PRAGMA data_version")
            try head.checkSource(Fingerprint(store: PageReader(connection).fingerprint(files: files)))
        }
        let before = (head, migration)
        do {
            var run = StepRun(
                step, in: .store(connection, isVerified ? nil : options.checksInPlace), options: options)
            run.found = planned.inPlace?.found
            _ = try run.run { report in
                addStep(step, report)
                if isVerified {
                    try StepVerification(call: call, session: session)
                        .verify(step, before: connection, report.kept, options)
                }
                relay.begin(.swap)
                // Whoever is told of the phase may stop before it.
                try stop.check()
                try saveWithTimes()
                try checkSnapshot()
                try connection.checkPlace()
            }
            try connection.checkPlace()
        } catch {
            // The transaction is rolled back: the steps are not done.
            (head, migration) = before
            // The first error is reported; the next call restores the rest.
            do { if leavesLog { try journal.restoreLog(wasRolledBack: false) } } catch {}
            throw error
        }
        memory.releaseUnused(before: try connection.contentBytes())
        if leavesLog {
            try journal.returnToLog()
            head.ended = try journal.lockExclusively().store.withoutLog
        } else {
            // A page that a reader keeps from being written back is written back when the store is next opened.
            _ = try connection.checkpoint("TRUNCATE")
            head.ended = try fingerprint(of: connection, since: dataVersion)
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

    private func addStep(_ step: StepPlan, _ report: StepReport) {
        var summary = VerificationSummary(mode: configuration.verify)
        summary.isBeforeCommit = true
        summary.checked = report.counts.filter { $0.isEstimated != true }.map(\.written).reduce(0, +)
        migration.steps = []
        migration.add(step, 1, report)
        migration.steps[0].verification = summary
        migration.steps[0].isFinished = true
    }
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
