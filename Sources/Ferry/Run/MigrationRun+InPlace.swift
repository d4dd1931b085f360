internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension MigrationRun {
    /// Takes the store itself through all steps in one transaction.
    ///
    /// COMMIT is the only point at which anything changes; a kill before it leaves the old store.
    func runInPlace(
        _ plan: MigrationPlan, _ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        try stop.check()
        if configuration.holdsSwap { throw transactionHeld }
        record.phase = .rows
        try folder.save(record)
        try migrateStore(plan, sourceGuard, &record, folder)
        // The writer is closed by now, so that side files which were not there before can go.
        try sourceGuard.close()
    }

    private func migrateStore(
        _ plan: MigrationPlan, _ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        try noteExternalFiles(sourceGuard, folder)
        let connection = try Connection(
            inPlace: place.store, memory: configuration.memory, vfs: vfs(folder.path), trace: configuration.trace)
        connection.keepWriteAheadLogOnClose()
        // The guard only reads; the writer must have the store before anybody else gets in between, or see that.
        try record.checkSource(sourceGuard.fingerprint())
        try sourceGuard.endTransaction()
        try connection.execute("BEGIN IMMEDIATE")
        try record.checkSource(Fingerprint(store: PageReader(connection).fingerprint(files: files)))
        var options = EngineOptions(
            chunkSize: .automatic, now: record.migration?.now ?? 0, trace: configuration.trace,
            progress: relay.hook(step: 1), stop: stop)
        options.size(by: configuration)
        options.externalFolder = ExternalData.folder(forStore: place.store)
        options.treat(record.migration?.findings ?? Findings(), as: configuration)
        var current = record
        try InPlaceRun.run(plan.steps, on: connection, options: options) { reports in
            addSteps(plan, reports, to: &current)
            try folder.save(current)
        }
        record = current
        releaseUnusedMemory()
        // What a reader keeps from being written back is written back by whoever opens the store next.
        _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        withExtendedLifetime(connection) {}
    }

    /// What a killed transaction left is rolled back by SQLite as soon as anybody reads.
    func giveBackOldStore() throws {
        do {
            let connection = try Connection(path: place.store, mode: .readWrite, trace: configuration.trace)
            connection.keepWriteAheadLogOnClose()
            _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        } catch {
            throw FerryError.wrapping(error, on: place.store)
        }
    }

    /// The record of a run in place that can go on: then only its snapshot was taken.
    ///
    /// - Returns: Nil when the run must begin anew, since store or plan are not those that it began with.
    func continued(
        _ begun: RunRecord, _ plan: MigrationPlan, _ sourceGuard: SourceGuard, _ folder: RunFolder
    ) throws -> RunRecord? {
        var record = begun
        let now = try sourceGuard.fingerprint().with(inputs: inputs.digests)
        // A journal that was rolled back gives the file the bytes that it had, at another time.
        if record.source.store.walFrames == nil { record.source.store.modified = now.store.modified }
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
            record.add(step, index + 1, report, summary)
            record.migration?.steps[index].isFinished = true
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
