internal import FerryBase
internal import FerrySQLite
internal import FerrySnapshot
internal import FerryStore

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// Puts a verified snapshot back into the place of its store.
struct Rollback {
    /// The store's real path.
    let store: String
    let snapshots: StoreSnapshots
    let files: FileLayer
    var stop = StopRequest()
    var trace: TraceHook?

    /// - Parameter archive: The name or path of the snapshot to put back; nil takes the newest.
    /// - Returns: What was put back.
    /// - Throws: ``FerryError`` `.noSnapshot`; `.badSnapshot` when it is damaged: nothing was changed then.
    func run(to archive: String?) throws -> RollbackReport {
        let folder = try RunFolder(path: RunFolder.path(beside: store), files: files)
        let left = try takeOver(folder)
        if let left, left.isDone, let report = try report(of: left.record, if: archive) {
            try folder.remove()
            return report
        }
        try folder.clear()
        var sourceGuard: SourceGuard?
        do {
            let snapshot = try snapshots.choose(archive)
            let opened = try SourceGuard(
                path: store, purpose: .migrating, files: files, sideFiles: left?.record.sideFiles,
                vfs: try files.faults.map { try VFS(temporaryFolder: nil, faults: $0) }, trace: trace)
            sourceGuard = opened
            guard opened.access == .readWrite else {
                throw FerryError(
                    .storeReadOnly, "\(store), or its folder, cannot be written.", remedy: "Make both writable.")
            }
            return try putBack(snapshot, opened, folder)
        } catch {
            // The first error is the one to report. What closing may leave behind are empty side files; what stays in
            // the folder is taken over by the next command.
            do { try sourceGuard?.close() } catch {}
            do { if folder.record?.swap == nil { try folder.remove() } } catch {}
            throw FerryError.wrapping(error, on: store)
        }
    }

    /// Finishes what an earlier command has left after its swap.
    ///
    /// - Returns: The record that was found, and whether its swap has happened; nil for a new folder.
    /// - Throws: ``FerryError`` `.runDiffers` when an unfinished migration is there.
    private func takeOver(_ folder: RunFolder) throws -> (record: RunRecord, isDone: Bool)? {
        guard let record = try folder.load() else { return nil }
        if try SwapIntent.isDone(record, at: store, files: files) {
            try CleanUp(store: store, files: files).run(record, in: folder)
            return (record, true)
        }
        guard record.kind == .rollback else {
            throw FerryError(
                .runDiffers, "\(folder.path) holds an unfinished migration.",
                remedy: "Finish it with the same migrate command, or remove that folder to give it up.")
        }
        return (record, false)
    }

    /// The report of a rollback that a killed command has done, if it is the one that is asked for now.
    private func report(of record: RunRecord, if archive: String?) throws -> RollbackReport? {
        guard record.kind == .rollback, let done = record.snapshot else { return nil }
        let snapshot = try snapshots.choose(archive)
        guard snapshot.archivePath == done else { return nil }
        return RollbackReport(
            store: URL(fileURLWithPath: store), snapshot: URL(fileURLWithPath: done), version: snapshot.version,
            replaced: nil)
    }

    private func putBack(
        _ snapshot: Snapshot, _ sourceGuard: SourceGuard, _ folder: RunFolder
    ) throws -> RollbackReport {
        let replaced = try replacedVersion(sourceGuard)
        var record = try RunRecord(.rollback, in: folder, on: sourceGuard)
        record.phase = .snapshot
        record.snapshot = snapshot.archivePath
        try folder.save(record)
        let restored = folder.path + "/restored"
        try files.createDirectory(restored)
        let destination = restored + "/destination.sqlite"
        try snapshots.restore(snapshot, to: destination, stop: stop)
        // The name stands in the version that comes back: read it as a store before it replaces one.
        let check = try SourceGuard(path: destination, purpose: .reading, files: files)
        do {
            _ = try OpenedStore(check)
            try check.close()
        } catch {
            check.release()
            throw error
        }
        try stop.check()
        try keepReplaced(folder)
        try RecordedSwap(
            sourceGuard: sourceGuard, destination: destination, folder: folder, files: files, trace: trace
        ).run(&record)
        try CleanUp(store: store, files: files).run(record, in: folder)
        try folder.remove()
        return RollbackReport(
            store: URL(fileURLWithPath: store), snapshot: URL(fileURLWithPath: snapshot.archivePath),
            version: snapshot.version, replaced: replaced)
    }

    /// Gives the store that is replaced a second name in the run folder, which goes when the rollback has succeeded.
    ///
    /// The name is of the same file, so the swap's checkpoint completes it too. Volumes without links keep the store
    /// up to the rename only.
    private func keepReplaced(_ folder: RunFolder) throws {
        do {
            try files.link(store, to: folder.path + "/replaced.sqlite")
        } catch {
            guard error.systemError?.isDenied == true else { throw error }
        }
    }

    /// The version that the last logged run made, if the store is still of that version.
    private func replacedVersion(_ sourceGuard: SourceGuard) throws -> String? {
        let hashes = try OpenedStore(sourceGuard).metadata.hashes
        return try RunLog(beside: store, files: files).version(with: hashes)
    }
}
