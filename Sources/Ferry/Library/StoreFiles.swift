public import FerryBase
package import FerrySQLite
internal import FerrySnapshot
internal import FerryStore
public import Foundation

/// Operations on a store that need no models.
public struct StoreFiles: Sendable {
    public let store: URL
    let files: FileLayer

    public init(_ store: URL) { self.init(store, files: FileLayer()) }

    package init(_ store: URL, files: FileLayer) {
        self.store = store
        self.files = files
    }

    /// The state of the run in the store's run folder; for a run with an output, use the output as the store.
    ///
    /// - Throws: ``FerryError`` when the folder cannot be read.
    public func status() throws -> RunStatus {
        let path = try realPath()
        let folder = RunFolder.path(beside: path)
        let isRunning = try files.isLocked(folder + "/lock")
        guard try RunFolder.exists(folder, files: files), let record = try RunFolder.read(folder, files: files) else {
            return isRunning ? RunStatus(state: .running) : try lastRun(of: path)
        }
        var status = RunStatus(state: isRunning ? .running : .interrupted)
        status.phase = record.phase
        status.runID = record.id
        status.isRollback = record.kind == .rollback
        if let migration = record.migration {
            let all = migration.stepCount
            status.steps = all
            if all > 0 { status.fraction = Double(migration.steps.count) / Double(all) }
        }
        if isRunning, let call = try files.decoded(RunControl.Call.self, at: RunControl.callPath(in: folder)) {
            (status.isPaused, status.chunkRows) = (call.isAtRest, call.orders.chunkRows)
            status.rest = call.orders.rest == 0 ? nil : call.orders.rest
        }
        guard let progress = ProgressMeter.read(in: folder, of: record.id) else { return status }
        status.fraction = max(progress.fraction ?? 0, status.fraction ?? 0)
        status.step = progress.step
        // The record is newer if its phase is later.
        if record.phase.order <= progress.phase.order { status.phase = progress.phase }
        guard isRunning else { return status }
        status.subject = progress.subject
        status.rowsPerSecond = progress.rowsPerSecond
        status.timeLeft = progress.etaSeconds.map { .clamped(seconds: $0) }
        return status
    }

    /// The log's entry for the last run that ended.
    private func lastRun(of path: String) throws -> RunStatus {
        guard let last = try RunLog(beside: path, files: files).last else { return RunStatus(state: .none) }
        var status = RunStatus(state: .finished)
        status.fraction = 1
        status.runID = last.id
        status.isRollback = last.kind == .rollback
        status.finished = RunLog.date(last.finished)
        status.version = last.to
        guard last.kind == .rollback, let archive = last.snapshot else { return status }
        status.restored = URL(fileURLWithPath: archive)
        status.version = try SnapshotStore.left(at: archive, files: files)?.version
        return status
    }

    /// Restores a verified snapshot in place of the store, which may be damaged or missing.
    ///
    /// - Parameters:
    ///   - snapshot: Nil for the newest one whose content the store does not already have.
    ///   - folder: The folder of the snapshots; nil means `STORE.snapshots`.
    ///   - keepsReplaced: Whether the replaced store gets a snapshot first, if none has its content.
    ///   - wait: How long the call waits in all for a store that another program uses; nil not to wait.
    ///   - stop: Ends the work early.
    ///   - trace: Receives the statements.
    ///   - onWarning: Receives the warning with which the waiting begins.
    /// - Returns: The restored snapshot, and the copies of the replaced store.
    /// - Throws: ``FerryError`` `.noSnapshot`, `.badSnapshot`, `.storeInUse`, `.storeInUseAtSwap`.
    @discardableResult
    public func rollback(
        to snapshot: URL? = nil, folder: URL? = nil, keepsReplaced: Bool = true, wait: Duration? = nil,
        stop: StopRequest = StopRequest(), trace: TraceHook? = nil,
        onWarning: (@Sendable (FerryWarning) -> Void)? = nil
    ) throws -> RollbackReport {
        let path = try RunPlace.place(store.filePath, files: files)
        var wait = StoreWait(limit: wait, store: path, result: path, stop: stop) { onWarning?($0) }
        return try wait.repeating {
            try rollback(path, to: snapshot, folder, keepsReplaced: keepsReplaced, stop, trace)
        }
    }

    private func rollback(
        _ path: String, to snapshot: URL?, _ folder: URL?, keepsReplaced: Bool, _ stop: StopRequest, _ trace: TraceHook?
    ) throws -> RollbackReport {
        try WritePlace.checkStoreName(path)
        let snapshots = StoreSnapshots(of: path, folder: folder?.filePath, files: files)
        try WritePlace(beside: [path], files: files).checkSnapshotFolder(snapshots.snapshots.folder)
        // A rollback may add a snapshot.
        let all = try snapshots.list()
        var report = try Rollback(
            store: path, snapshots: snapshots, files: files, keepsReplaced: keepsReplaced, stop: stop, trace: trace
        ).run(to: snapshot?.filePath)
        if let taken = all.first(where: { $0.archivePath == report.snapshot.filePath }) {
            report.sequence = taken.sequence
            report.reason = StoreSnapshots.reason(for: taken, named: snapshot?.filePath, among: all)
        }
        return report
    }

    /// The snapshots of the store, oldest first, as their manifests describe them.
    public func snapshots(in folder: URL? = nil) throws -> [SnapshotEntry] {
        try snapshotStore(folder).list().map { SnapshotEntry($0) }
    }

    /// Takes a snapshot: a compressed archive, or with `clones` a copy-on-write clone of the store's file.
    ///
    /// - Throws: ``FerryError`` `.storeInUse` while another program writes; `.unsupported` for a clone on a volume
    ///   without copy-on-write files.
    @discardableResult
    public func createSnapshot(
        in folder: URL? = nil, level: Int = 1, clones: Bool = false, stop: StopRequest = StopRequest(),
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) throws -> SnapshotEntry {
        let path = try RunPlace.existing(store.filePath, files: files)
        let snapshots = StoreSnapshots(of: path, folder: folder?.filePath, files: files)
        try WritePlace(beside: [path], files: files).checkSnapshotFolder(snapshots.snapshots.folder)
        let sourceGuard = try SourceGuard(path: path, purpose: .migrating, files: files)
        let snapshot = try sourceGuard.closing {
            let opened = try OpenedStore(sourceGuard)
            return try snapshots.create(
                opened, knownAs: snapshots.version(of: opened), level: clones ? nil : level, stop: stop,
                progress: onProgress)
        }
        return SnapshotEntry(snapshot, verified: true)
    }

    /// Reads archives again and compares them with their manifests; without a name, all archives in the folder.
    public func verifySnapshots(_ snapshot: URL? = nil, in folder: URL? = nil) throws -> [SnapshotEntry] {
        let snapshots = try snapshotStore(folder)
        let named = try snapshot.map { [try snapshots.snapshots.snapshot($0.filePath)] }
        return try (named ?? snapshots.list()).map { snapshot in
            let problem = try snapshots.snapshots.problem(of: snapshot)
            return SnapshotEntry(snapshot, verified: problem == nil, problem: problem)
        }
    }

    /// Writes the store in a snapshot (without a name, the newest) to a path where no file exists.
    ///
    /// - Throws: ``FerryError`` `.outputExists`, `.noSnapshot`, `.badSnapshot`.
    @discardableResult
    public func restoreSnapshot(_ snapshot: URL? = nil, in folder: URL? = nil, to output: URL) throws -> SnapshotEntry {
        let snapshots = try snapshotStore(folder)
        try WritePlace.checkStoreName(output.filePath)
        try WritePlace(beside: [snapshots.store], files: files).check(output.filePath, endings: [])
        let whole = try snapshots.choose(snapshot?.filePath)
        try StoreFileNames(output.filePath).checkNothingIsThere(files: files)
        try snapshots.restore(whole, to: output.filePath, stop: StopRequest())
        let path = store.filePath
        if try files.exists(path) { try files.copyMetadata(from: path, to: output.filePath) }
        return SnapshotEntry(whole, verified: true)
    }

    /// Deletes snapshots that are old and not among the newest; unreadable ones stay.
    ///
    /// Ferry keeps the last snapshot that verifies, the one that the log names for a rollback, and an unfinished run's.
    ///
    /// - Parameters:
    ///   - folder: The folder of the snapshots; nil means `STORE.snapshots`.
    ///   - keep: The number of newest whole snapshots that stay whatever their age.
    ///   - minimumAge: The age below which a snapshot stays.
    ///   - daily: The number of last days with snapshots of which the newest one stays; days are those of UTC.
    ///   - weekly: The same for weeks, which begin on Monday.
    ///   - isTrial: Whether nothing is deleted, and the report says what would be.
    ///   - stop: Ends the work between two snapshots.
    /// - Returns: The deleted and the kept snapshots.
    /// - Throws: ``FerryError`` `.runActive` while a run on the store is active, `.badLog` when the log does not show
    ///   the snapshot for a rollback, `.fileFailed`.
    @discardableResult
    public func pruneSnapshots(
        in folder: URL? = nil, keep: Int, minimumAge: Duration, daily: Int = 0, weekly: Int = 0, isTrial: Bool = false,
        stop: StopRequest = StopRequest()
    ) throws -> PruneReport {
        let snapshots = try snapshotStore(folder)
        let runFolder = RunFolder.path(beside: snapshots.store)
        // Held to the end, so that no other call takes up the unfinished run meanwhile.
        let lockFile = runFolder + "/lock"
        let lock = try files.exists(lockFile) ? files.lock(lockFile) : nil
        if lock == nil, try files.exists(lockFile) {
            throw FerryError(
                .runActive, "A migration of \(snapshots.store) is running and may need any of its snapshots.",
                remedy: "Wait for it to end, or stop it.")
        }
        let unfinished = try RunFolder.read(runFolder, files: files)?.snapshot
        let wayBack = try RunLog(beside: snapshots.store, files: files).wayBack()
        let pruned = try snapshots.snapshots.prune(
            Retention(newest: keep, minimumAge: minimumAge.components.seconds, daily: daily, weekly: weekly),
            now: Int64(Date().timeIntervalSince1970),
            // The store may have been moved, so only names count.
            protecting: Set([unfinished, wayBack].compactMap { $0.map { FileLayer.name(of: $0) } }), isTrial: isTrial,
            stop: stop)
        withExtendedLifetime(lock) {}
        return PruneReport(
            removed: pruned.removed.map { SnapshotEntry($0) }, kept: pruned.kept.map { SnapshotEntry($0) })
    }

    /// The snapshots of the store, which itself may be missing.
    private func snapshotStore(_ folder: URL?) throws -> StoreSnapshots {
        StoreSnapshots(of: try realPath(), folder: folder?.filePath, files: files)
    }

    /// The path without links; the store may be missing, even with its folder.
    func realPath() throws -> String {
        let path = store.filePath
        return try files.exists(FileLayer.parent(of: path)) ? RunPlace.place(path, files: files) : path
    }
}

extension StoreFiles {
    /// Calls a body with a connection that sees one state of the store, including content that is only in its `-wal`.
    ///
    /// The store and its side files stay unchanged, and other programs may read and write meanwhile.
    ///
    /// - Throws: ``FerryError`` `.notFound`, `.notADatabase`, `.notACoreDataStore`, `.hotJournal`; the body's errors.
    package func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        let path = try RunPlace.existing(store.filePath, files: files)
        let reader = try SourceGuard(path: path, purpose: .reading, files: files)
        return try reader.closing { try body(reader.connection) }
    }
}
