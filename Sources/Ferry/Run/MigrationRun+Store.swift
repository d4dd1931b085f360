internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify

extension MigrationRun {
    /// Runs the one step on the store itself in one transaction; a kill before COMMIT leaves the old store.
    func runInStore(_ planned: Planned, _ session: RunSession, _ sourceGuard: SourceGuard) throws {
        try stop.check()
        session.head.phase = .rows
        session.head.swap = .overwrite(SwapIntent.Overwrite(to: planned.plan.steps[0].resolved.destination.hashes))
        try session.save()
        try noteExternalFiles(sourceGuard, session)
        try sourceGuard.endTransaction()
        try migrateStore(planned, session)
        // The writer is closed by now, so that side files which were not there before can go.
        try sourceGuard.close()
    }

    private func migrateStore(_ planned: Planned, _ session: RunSession) throws {
        let step = planned.plan.steps[0]
        let connection = try Connection(
            inPlace: place.store, memory: memory, vfs: files.vfs(session.folder.path),
            trace: configuration.trace)
        connection.keepWriteAheadLogOnClose()
        let journal = JournalSwitch(connection: connection, session: session)
        // Another program may write before the writer has locked the store; the fingerprint shows that.
        let dataVersion = try begin(in: journal)
        let before = session.head
        do {
            var run = StepRun(
                step, in: .store(connection), options: engineOptions(session.migration, step: 1))
            run.found = planned.inPlace?.found
            _ = try run.run { report in
                add(step, report, to: session)
                try verify(run, 1, report, session)
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
            session.head = before
            // The first error is reported; the next call restores the rest.
            do { try journal.restore(isDone: false) } catch {}
            throw error
        }
        memory.releaseUnused(before: try connection.contentBytes())
        try journal.restore(isDone: true)
        session.head.ended = try fingerprint(of: connection, since: dataVersion)
        withExtendedLifetime(connection) {}
    }

    /// Begins the transaction, with the store as it is before as `source`, and returns the data version.
    ///
    /// A store with a rollback journal is in WAL mode for the transaction: only beside a `-wal` can its old rows be read.
    private func begin(in journal: JournalSwitch) throws -> Int64? {
        let (connection, head) = (journal.connection, journal.session.head)
        func locked() throws -> DatabaseFingerprint {
            try connection.execute("BEGIN IMMEDIATE")
            return try PageReader(connection).fingerprint(files: files)
        }
        let entersLog = !head.source.store.usesWriteAheadLog
        if entersLog {
            try head.checkSource(Fingerprint(store: locked()))
            try connection.execute("ROLLBACK")
            try journal.setMode("WAL")
        }
        try Verification.attach(workFolder: journal.session.folder.path, to: connection)
        let now = try locked()
        if !entersLog {
            try head.checkSource(Fingerprint(store: now))
        } else if now.walFrames != nil || !now.isNext(afterJournalModeOf: head.source.store) {
            throw head.sourceChanged("another program wrote to it")
        }
        return try connection.integer("PRAGMA data_version")
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
        let isSame = try connection.integer("PRAGMA data_version") == dataVersion
        let fingerprint = try isSame ? PageReader(connection).fingerprint(files: files) : nil
        try connection.execute("ROLLBACK")
        return fingerprint
    }

    private func add(_ step: StepPlan, _ report: StepReport, to session: RunSession) {
        session.migration.steps = []
        session.migration.add(step, 1, report)
        session.migration.steps[0].isFinished = true
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
