internal import FerryBase
internal import FerrySQLite
internal import FerrySnapshot
internal import FerryStore
internal import Foundation

/// Restores a verified snapshot in the place of its store, in whatever state that is.
///
/// Keeps the replaced store by a snapshot, unless one has its content, or by copies of a damaged one's files.
struct Rollback {
    /// The store's real path; the store may be missing.
    let store: String
    let snapshots: StoreSnapshots
    let files: FileLayer
    /// Whether to take a snapshot of the replaced store first, if none has its content.
    var keepsReplaced = true
    var stop = StopRequest()
    var trace: TraceHook?

    /// - Parameter archive: The name or path of the snapshot; nil means the newest that the store does not match.
    /// - Returns: The report.
    /// - Throws: ``FerryError`` `.noSnapshot`; `.badSnapshot` for a damaged one, before any change.
    func run(to archive: String?) throws -> RollbackReport {
        let path = RunFolder.path(beside: store)
        let isFolderLeft = try RunFolder.exists(path, files: files)
        let folder = try RunFolder(path: path, files: files)
        let left = try takeOver(folder)
        if let left, left.isDone, let report = try report(of: left.session, if: archive) {
            try folder.remove()
            return report
        }
        // An interrupted call's choice stays: the newest snapshot may be one that this call took.
        let archive = archive ?? (left?.isDone == false ? left?.session.head.snapshot : nil)
        try folder.clear()
        var sourceGuard: SourceGuard?
        do {
            if let damage = try damageOfStore() {
                return try replaceDamaged(snapshots.choose(archive), damage, folder)
            }
            let opened = try SourceGuard(
                path: store, purpose: .migrating, files: files, sideFiles: left?.session.head.sideFiles,
                vfs: files.vfs(), trace: trace)
            sourceGuard = opened
            guard opened.access == .readWrite else { throw FerryError.notWritable(store) }
            let present = try RunLog(beside: store, files: files).lastRun(thatLeft: opened.fingerprint())
            if let present, present.kind == .rollback, left == nil, isFolderLeft, archive == nil {
                // That call was killed while it removed its folder: this one must not undo its rollback.
                try opened.close()
                try folder.remove()
                return try report(snapshots.choose(present.snapshot), replaced: nil, kept: [])
            }
            let restored = present?.kind == .rollback ? present?.snapshot : nil
            let snapshot = try snapshots.choose(archive, butFor: restored)
            let isKept = try restored != nil && snapshots.list().contains { $0.isArchive(restored) }
            return try replaceStore(snapshot, opened, isKept: isKept, folder)
        } catch {
            // The first error is reported; the next command takes over the folder, and empty side files do no harm.
            do { try sourceGuard?.close() } catch {}
            do { if folder.record?.changesPlace != true { try folder.remove() } } catch {}
            throw FerryError.wrapping(error, on: store)
        }
    }

    // MARK: After a kill

    /// Does the rest of an earlier command's work after its swap.
    ///
    /// - Returns: The run, and whether its swap has happened; nil for a new folder.
    /// - Throws: ``FerryError`` `.runDiffers` when an unfinished migration is there.
    private func takeOver(_ folder: RunFolder) throws -> (session: RunSession, isDone: Bool)? {
        guard let session = try folder.load().map({ RunSession(folder, $0) }) else { return nil }
        if try isDone(session) {
            try session.cleanUp(at: store)
            return (session, true)
        }
        guard session.head.kind == .rollback else {
            throw FerryError(
                .runDiffers, "\(folder.path) contains an unfinished migration.",
                remedy: "Finish it with the same migration, or remove that folder to discard it.")
        }
        return (session, false)
    }

    private func isDone(_ session: RunSession) throws -> Bool {
        do {
            return try session.recover(at: store, trace: trace)
        } catch let error as FerryError where session.head.kind == .rollback && error.isDamage {
            // The call was killed between emptying the file and filling it, or the file was damaged since.
            return false
        }
    }

    /// The report of a killed command's complete rollback, if it restored the requested snapshot.
    private func report(of session: RunSession, if archive: String?) throws -> RollbackReport? {
        guard session.head.kind == .rollback, let done = session.head.snapshot else { return nil }
        let snapshot = try snapshots.choose(archive ?? done)
        guard snapshot.isArchive(done) else { return nil }
        return report(snapshot, replaced: nil, kept: session.head.kept)
    }

    private func report(_ snapshot: Snapshot, replaced: String?, kept: [String]?) -> RollbackReport {
        RollbackReport(
            store: URL(fileURLWithPath: store), snapshot: URL(fileURLWithPath: snapshot.archivePath),
            version: snapshot.version, replaced: replaced, kept: (kept ?? []).map { URL(fileURLWithPath: $0) })
    }

    // MARK: A store

    private func replaceStore(
        _ snapshot: Snapshot, _ sourceGuard: SourceGuard, isKept: Bool, _ folder: RunFolder
    ) throws -> RollbackReport {
        let opened = try OpenedStore(sourceGuard)
        let replaced = try snapshots.version(of: opened)
        let session = try begin(RunRecord(in: folder, on: sourceGuard), snapshot, folder)
        // First, because a damaged snapshot ends the rollback here.
        let destination = try restore(snapshot, folder)
        if keepsReplaced, !isKept {
            // The new snapshot will be the newest one, so the record must hold the choice.
            session.head.kept = []
            try session.save()
            let taken = try snapshots.create(opened, knownAs: replaced, level: 1, stop: stop, progress: nil)
            session.head.kept = [taken.archivePath]
            try session.save()
        }
        let swap = Swap(
            sourceGuard: sourceGuard, destination: destination, session: session, mayBeDamaged: true, stop: stop,
            trace: trace,
            checkSnapshot: {
                try session.head.kept?.forEach {
                    try StoreSnapshots.checkWayBack($0, of: store, files: files, stop: stop)
                }
            })
        var warnings: [FerryWarning] = []
        do {
            try swap.run()
        } catch {
            warnings = [try session.recover(from: error, at: store, releasing: sourceGuard, trace: trace)]
        }
        var report = finish(snapshot, replaced: replaced, session)
        report.warnings = warnings + report.warnings
        return report
    }

    private func begin(_ head: RunRecord, _ snapshot: Snapshot, _ folder: RunFolder) throws -> RunSession {
        let session = RunSession(folder, head)
        session.head.phase = .snapshot
        session.head.snapshot = snapshot.archivePath
        try session.save()
        return session
    }

    /// Restores the snapshot beside the store, and opens it as a store before it replaces one.
    private func restore(_ snapshot: Snapshot, _ folder: RunFolder) throws -> String {
        let restored = folder.path + "/restored"
        try files.createDirectory(restored)
        let destination = restored + "/destination.sqlite"
        try snapshots.restore(snapshot, to: destination, stop: stop)
        try OpenedStore.reading(destination, files: files) { _ in }
        try stop.check()
        return destination
    }

    private func finish(_ snapshot: Snapshot, replaced: String?, _ session: RunSession) -> RollbackReport {
        var report = report(snapshot, replaced: replaced, kept: session.head.kept)
        report.warnings = session.finish(at: store).warnings
        return report
    }

    // MARK: No store that can be read

    /// The reason why there is no store that can be read; nil for a store.
    private func damageOfStore() throws -> FerryError? {
        if let attributes = try files.attributesIfPresent(store), !attributes.isRegularFile {
            throw FerryError.notADatabase(store, "a pipe, a socket or a device")
        }
        do {
            try OpenedStore.reading(store, files: files) { _ in }
            return nil
        } catch let error as FerryError where error.isDamage {
            return error
        }
    }

    private func replaceDamaged(
        _ snapshot: Snapshot, _ damage: FerryError, _ folder: RunFolder
    ) throws -> RollbackReport {
        let unread = Fingerprint(store: DatabaseFingerprint(unread: try files.attributesIfPresent(store)))
        let sideFiles = try SideFiles(of: StoreFileNames(store), files: files)
        let session = try begin(RunRecord(of: store, in: folder, unread, sideFiles), snapshot, folder)
        let destination = try restore(snapshot, folder)
        try ExternalFiles(store: store, files: files).add(from: ExternalData.folder(forStore: destination))
        try fill(session, damage, with: destination)
        return finish(snapshot, replaced: nil, session)
    }

    /// Fills the file of a store that cannot be read, or is missing, under SQLite's own lock; it stays the same file.
    private func fill(_ session: RunSession, _ damage: FerryError, with destination: String) throws {
        // The transaction keeps writers out of the destination.
        let source = try Connection(path: destination, mode: .readOnly, trace: trace)
        try source.execute("BEGIN")
        try source.readSchema()
        let connection = try lockDamaged(damage, mode: files.attributes(destination).mode)
        try stop.check()
        session.head.phase = .swap
        session.head.swap = .overwrite(try SwapIntent.Overwrite(ofSchema: nil, by: source))
        session.head.kept = try keepFiles(of: connection)
        try session.save()
        let names = StoreFileNames(store)
        try names.removeSides(files: files)
        try files.syncFolder(FileLayer.parent(of: store))
        // SQLite treats a file without bytes as a database without tables.
        try connection.emptyFile()
        try connection.execute("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = EXTRA")
        try connection.overwrite(with: source) { _ in }
        try connection.checkPlace()
        try files.removeIfPresent(names.journal)
    }

    /// Locks the main file, made with the mode if it is missing, as long as the connection is open.
    ///
    /// `damage` is the reason why SQLite cannot read the store.
    ///
    /// - Throws: ``FerryError`` `.storeInUse` when another program has the file locked.
    private func lockDamaged(_ damage: FerryError, mode: UInt32) throws -> Connection {
        if try !files.exists(store) {
            var file = try files.create(store, mode: mode)
            try file.close()
        }
        let connection = try Connection(recovering: store, files: files, trace: trace)
        guard !connection.isReadOnly else { throw FerryError.notWritable(store) }
        // The lock that a transaction of this connection takes continues after it.
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        guard try connection.lockFile() else { throw FerryError.storeInUse(store) }
        // A journal that is gone now was that of an active writer.
        let journal = StoreFileNames(store).journal
        if damage.code == .hotJournal, try (files.attributesIfPresent(journal)?.size ?? 0) == 0 {
            throw FerryError.storeInUse(store)
        }
        return connection
    }

    /// Copies the files that are not empty into the snapshots' folder.
    ///
    /// The main file is read over the connection's own descriptor: closing another one on it would end its lock.
    private func keepFiles(of connection: Connection) throws -> [String] {
        let folder = snapshots.snapshots.folder
        try files.createDirectory(folder)
        let stamp = "\(folder)/\(Snapshot.stamp(Int64(Date().timeIntervalSince1970)))-replaced"
        let name = try files.freePath(stamp, endings: [".sqlite", ".sqlite-wal", ".sqlite-journal"]) + ".sqlite"
        var kept: [String] = []
        for ending in ["", "-wal", "-journal"] {
            guard let file = try files.attributesIfPresent(store + ending), file.size > 0 else { continue }
            kept.append(name + ending)
            guard ending.isEmpty else {
                try files.copy(store + ending, to: name + ending)
                continue
            }
            var output = try files.create(name, mode: file.mode)
            while case let bytes = try connection.rawBytes(count: 256 << 10, at: output.offset), !bytes.isEmpty {
                try output.write(bytes)
            }
            try output.sync()
            try output.close()
        }
        if !kept.isEmpty { try files.syncFolder(folder) }
        return kept
    }
}

extension FerryError {
    /// Whether no program can read the file as a store.
    var isDamage: Bool {
        if [.notFound, .notADatabase, .notACoreDataStore, .hotJournal, .badArchive].contains(code) { return true }
        return (cause as? DatabaseError).map { $0.isCorrupt || $0.isNotADatabase } ?? false
    }

    static func notWritable(_ store: String, remedy: Remedy = "Make both writable.") -> FerryError {
        FerryError(.storeReadOnly, "\(store) or its folder is not writable.", remedy: remedy)
    }
}
