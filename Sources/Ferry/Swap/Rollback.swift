internal import FerryBase
internal import FerrySQLite
internal import FerrySnapshot
internal import FerryStore
internal import Foundation

/// Puts a verified snapshot back into the place of its store, whatever state that is in.
///
/// What is replaced is kept: by a snapshot, unless nothing was written since the last run ended; as it is, where it is no
/// store any more.
struct Rollback {
    /// The store's real path; nothing may be there.
    let store: String
    let snapshots: StoreSnapshots
    let files: FileLayer
    /// Whether what is replaced is snapshotted first, if anything was written to it.
    var keepsReplaced = true
    var memory = MemoryBudget()
    var stop = StopRequest()
    var trace: TraceHook?

    /// - Parameter archive: The name or path of the snapshot to put back; nil takes the newest that is not there already.
    /// - Returns: What was put back.
    /// - Throws: ``FerryError`` `.noSnapshot`; `.badSnapshot` when it is damaged: nothing was changed then.
    func run(to archive: String?) throws -> RollbackReport {
        let path = RunFolder.path(beside: store)
        let isFolderLeft = try RunFolder.exists(path, files: files)
        let folder = try RunFolder(path: path, files: files)
        let left = try takeOver(folder)
        if let left, left.isDone, let report = try report(of: left.record, if: archive) {
            try folder.remove()
            return report
        }
        // The choice of a call that did not come to its end stays: the newest snapshot may be that call's own.
        let archive = archive ?? (left?.isDone == false ? left?.record.snapshot : nil)
        try folder.clear()
        var sourceGuard: SourceGuard?
        do {
            switch try RollbackPlace(store, files: files) {
            case .nothing: return try putWhereNothingIs(snapshots.choose(archive), folder)
            case .damaged(let damage): return try replaceDamaged(snapshots.choose(archive), damage, folder)
            case .store: break
            }
            let opened = try SourceGuard(
                path: store, purpose: .migrating, files: files, sideFiles: left?.record.sideFiles,
                vfs: files.faults.map { try VFS(temporaryFolder: nil, faults: $0) }, memory: memory, trace: trace)
            sourceGuard = opened
            guard opened.access == .readWrite else { throw RollbackPlace.notWritable(store) }
            let present = try RunLog(beside: store, files: files).lastRun(thatLeft: opened.fingerprint())
            if let present, present.kind == .rollback, left == nil, isFolderLeft, archive == nil {
                // Killed while its folder went: that call is the one that is given again, and not to be undone.
                try opened.close()
                try folder.remove()
                return try report(snapshots.choose(present.snapshot), replaced: nil, kept: [])
            }
            let snapshot = try snapshots.choose(archive, butFor: present?.kind == .rollback ? present?.snapshot : nil)
            return try replaceStore(snapshot, opened, isUnchanged: present != nil, folder)
        } catch {
            // The first error is the one to report. What closing may leave behind are empty side files; what stays in
            // the folder is taken over by the next command.
            do { try sourceGuard?.close() } catch {}
            do { if folder.record?.changesPlace != true { try folder.remove() } } catch {}
            throw FerryError.wrapping(error, on: store)
        }
    }

    // MARK: After a kill

    /// Finishes what an earlier command has left after its swap.
    ///
    /// - Returns: The record that was found, and whether its swap has happened; nil for a new folder.
    /// - Throws: ``FerryError`` `.runDiffers` when an unfinished migration is there.
    private func takeOver(_ folder: RunFolder) throws -> (record: RunRecord, isDone: Bool)? {
        guard var record = try folder.load() else { return nil }
        if try isDone(&record, folder) {
            try CleanUp(store: store, files: files).run(record, in: folder)
            return (record, true)
        }
        guard record.kind == .rollback else {
            throw FerryError(
                .runDiffers, "\(folder.path) holds an unfinished migration.",
                remedy: "Finish it by the same migration, or remove that folder to give it up.")
        }
        return (record, false)
    }

    private func isDone(_ record: inout RunRecord, _ folder: RunFolder) throws -> Bool {
        do {
            return try InterruptedRun(folder: folder, files: files, trace: trace).recover(&record, at: store)
        } catch let error as FerryError where record.kind == .rollback && RollbackPlace.isDamage(error) {
            // Killed between emptying the file and filling it, or damaged since.
            return false
        }
    }

    /// The report of a rollback that a killed command has done, if it is the one that is asked for now.
    private func report(of record: RunRecord, if archive: String?) throws -> RollbackReport? {
        guard record.kind == .rollback, let done = record.snapshot else { return nil }
        let snapshot = try snapshots.choose(archive ?? done)
        guard snapshot.archivePath == done else { return nil }
        return report(snapshot, replaced: nil, kept: record.keptReplaced)
    }

    private func report(_ snapshot: Snapshot, replaced: String?, kept: [String]?) -> RollbackReport {
        RollbackReport(
            store: URL(fileURLWithPath: store), snapshot: URL(fileURLWithPath: snapshot.archivePath),
            version: snapshot.version, replaced: replaced, kept: (kept ?? []).map { URL(fileURLWithPath: $0) })
    }

    // MARK: A store

    private func replaceStore(
        _ snapshot: Snapshot, _ sourceGuard: SourceGuard, isUnchanged: Bool, _ folder: RunFolder
    ) throws -> RollbackReport {
        let opened = try OpenedStore(sourceGuard)
        let replaced = try RunLog(beside: store, files: files).version(with: opened.metadata.hashes)
        var record = try begin(RunRecord(.rollback, in: folder, on: sourceGuard), snapshot, folder)
        // First: a snapshot that is damaged ends it here.
        let destination = try restore(snapshot, folder)
        if keepsReplaced, !isUnchanged {
            // From here on the newest snapshot is another one: the choice must be found again.
            record.keptReplaced = []
            try folder.save(record)
            let kept = try snapshots.create(opened, knownAs: replaced, level: 1, stop: stop, progress: nil)
            record.keptReplaced = [kept.archivePath]
            try folder.save(record)
        }
        try Swap(
            sourceGuard: sourceGuard, destination: destination, folder: folder, files: files, memory: memory,
            stop: stop,
            trace: trace
        ).run(&record)
        return try finish(snapshot, replaced: replaced, record, folder)
    }

    private func begin(_ new: RunRecord, _ snapshot: Snapshot, _ folder: RunFolder) throws -> RunRecord {
        var record = new
        record.phase = .snapshot
        record.snapshot = snapshot.archivePath
        try folder.save(record)
        return record
    }

    /// Restores the snapshot beside the store and reads it as a store before it replaces one.
    private func restore(_ snapshot: Snapshot, _ folder: RunFolder) throws -> String {
        let restored = folder.path + "/restored"
        try files.createDirectory(restored)
        let destination = restored + "/destination.sqlite"
        try snapshots.restore(snapshot, to: destination, stop: stop)
        let check = try SourceGuard(path: destination, purpose: .reading, files: files)
        do {
            _ = try OpenedStore(check)
            try check.close()
        } catch {
            check.release()
            throw error
        }
        try stop.check()
        return destination
    }

    private func finish(
        _ snapshot: Snapshot, replaced: String?, _ record: RunRecord, _ folder: RunFolder
    ) throws -> RollbackReport {
        var report = report(snapshot, replaced: replaced, kept: record.keptReplaced)
        report.warnings = CleanUp(store: store, files: files).finish(record, in: folder).warnings
        return report
    }

    // MARK: No store, or one that SQLite cannot read

    private func putWhereNothingIs(_ snapshot: Snapshot, _ folder: RunFolder) throws -> RollbackReport {
        var record = try begin(RunRecord(rollbackOf: store, in: folder, files: files), snapshot, folder)
        let destination = try restore(snapshot, folder)
        let remains = DamagedStore(store: StoreFileNames(store), files: files)
        record.keptReplaced = try remains.keepSideFiles(in: snapshots.folder)
        let external = ExternalFiles(store: store, files: files)
        try external.add(from: ExternalData.folder(forStore: destination))
        try removeEmptyJournals(of: destination, files: files)
        record.phase = .swap
        record.swap = .place(SwapIntent.Place(ofStore: try files.attributes(destination)))
        try folder.save(record)
        try remains.removeSideFiles()
        try files.renameToFree(destination, to: store)
        try files.syncFolder(FileLayer.parent(of: store))
        return try finish(snapshot, replaced: nil, record, folder)
    }

    private func replaceDamaged(
        _ snapshot: Snapshot, _ damage: FerryError, _ folder: RunFolder
    ) throws -> RollbackReport {
        var record = try begin(RunRecord(rollbackOf: store, in: folder, files: files), snapshot, folder)
        let destination = try restore(snapshot, folder)
        let external = ExternalFiles(store: store, files: files)
        try external.add(from: ExternalData.folder(forStore: destination))
        let source = try Connection(path: destination, mode: .readOnly, trace: trace)
        try source.execute("BEGIN; SELECT count(*) FROM sqlite_master")
        record.phase = .swap
        record.swap = .overwrite(
            SwapIntent.Overwrite(
                schemaVersion: nil, hashes: try StoreMetadata.read(from: source).hashes.mapValues(\.hexadecimal)))
        let damaged = DamagedStore(store: StoreFileNames(store), files: files, trace: trace)
        try damaged.replace(of: damage, with: source, keepingIn: snapshots.folder, stop: stop) { kept in
            record.keptReplaced = kept
            try folder.save(record)
        }
        return try finish(snapshot, replaced: nil, record, folder)
    }
}

/// What stands at the path of a store that is to be replaced.
enum RollbackPlace {
    case store
    /// A file that SQLite, or Core Data, cannot read; why not.
    case damaged(FerryError)
    case nothing

    init(_ store: String, files: FileLayer) throws {
        guard let attributes = try files.attributesIfPresent(store) else {
            self = .nothing
            return
        }
        guard attributes.isRegularFile else { throw FerryError.notADatabase(store, "not a regular file") }
        do {
            let reader = try SourceGuard(path: store, purpose: .reading, files: files)
            do {
                _ = try OpenedStore(reader)
                try reader.close()
            } catch {
                reader.release()
                throw error
            }
            self = .store
        } catch let error as FerryError where Self.isDamage(error) {
            self = .damaged(error)
        }
    }

    /// Whether an error says that the file itself cannot be read as a store, by any program.
    static func isDamage(_ error: FerryError) -> Bool {
        if [.notADatabase, .notACoreDataStore, .hotJournal, .badArchive].contains(error.code) {
            return true
        }
        return (error.cause as? DatabaseError).map { $0.isCorrupt || $0.isNotADatabase } ?? false
    }

    static func notWritable(_ store: String) -> FerryError {
        FerryError(.storeReadOnly, "\(store), or its folder, cannot be written.", remedy: "Make both writable.")
    }
}
