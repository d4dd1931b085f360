package import FerryBase
internal import FerrySQLite
internal import Foundation

/// Snapshots that are copy-on-write clones of the store's file: made at once, without space, and without a hash.
extension SnapshotStore {
    /// Clones a store, which nothing may change meanwhile, with the content of its `-wal`.
    ///
    /// - Throws: ``FerryError`` `.unsupported` where the volume has no copy-on-write files, or the snapshots are on
    ///   another one; `.snapshotFailed`; the reason of the stop request. A failed call leaves no snapshot.
    package func clone(
        _ store: ClonedFile, description: SnapshotDescription, stop: StopRequest = StopRequest()
    ) throws -> Snapshot {
        try reporting {
            try stop.check()
            try files.createDirectory(folder, mode: 0o755)
            try files.syncFolder(FileLayer.parent(of: folder))
            try removeUnfinishedClones()
            let name = try freeName(description)
            let partial = folder + "/" + name + SnapshotForm.clone.partialEnding
            do {
                guard try store.clone(to: partial) else { throw cannotClone(store.path) }
                try takeLog(of: store.path, into: partial)
                try files.syncFile(partial)
                let attributes = try files.attributes(partial)
                let archive = Manifest.Head.Archive(
                    file: name + SnapshotForm.clone.ending, form: SnapshotForm.clone.rawValue, bytes: attributes.size,
                    modified: attributes.modified)
                try finish(
                    name, .clone, archive, .init(bytes: attributes.size), created: description.created, description,
                    stop)
            } catch {
                // The first error is reported.
                do { try removeUnfinishedClones() } catch {}
                throw error
            }
            return try load(name)
        }
    }

    /// Writes the frames of a store's `-wal` into its clone.
    private func takeLog(of store: String, into clone: String) throws {
        guard let log = try files.attributesIfPresent(store + "-wal"), log.size > 0 else { return }
        // SQLite has no locks on this file.
        try files.copy(store + "-wal", to: clone + "-wal")
        do {
            let vfs = try files.faults.map { try VFS(temporaryFolder: nil, faults: $0) }
            let connection = try Connection(path: clone, mode: .readWrite, vfs: vfs)
            guard try connection.checkpoint("TRUNCATE") else {
                throw FerryError(
                    .snapshotFailed, "The -wal of \(store) could not be taken into its clone.",
                    remedy: "\(action: .again).")
            }
        }
        for side in ["-wal", "-shm"] { try files.removeIfPresent(clone + side) }
    }

    private func cannotClone(_ store: String) -> FerryError {
        FerryError(
            .unsupported,
            "\(store) cannot be cloned into \(folder): that takes one volume with copy-on-write files, such as APFS, "
                + "Btrfs or XFS.",
            remedy: "Take a compressed snapshot: leave out \(setting: .snapshotForm).")
    }

    /// Removes what killed calls have left.
    private func removeUnfinishedClones() throws {
        let endings = ["", "-wal", "-shm", "-journal"].map { SnapshotForm.clone.partialEnding + $0 }
        let mark = try mark()
        let own = try files.list(folder).filter { mark.isEmpty || $0.name.contains(mark) }
        for entry in own where !entry.isDirectory && endings.contains(where: entry.name.hasSuffix) {
            try files.removeIfPresent(folder + "/" + entry.name)
        }
        // The clone had its name already, but not its manifest.
        for entry in own where entry.name.hasSuffix(SnapshotNames.partialManifest) {
            let path = folder + "/" + entry.name.dropLast(SnapshotNames.partialManifest.count)
            guard try !files.exists(path + SnapshotNames.manifest), try !files.exists(path + SnapshotNames.partialState)
            else { continue }
            try files.removeIfPresent(path + SnapshotForm.clone.ending)
            try files.removeTree(path + SnapshotNames.external)
            try files.removeIfPresent(path + SnapshotNames.partialManifest)
        }
    }

    /// - Throws: ``FerryError`` `.snapshotDamaged` when SQLite finds damaged pages, or the reason of the stop request.
    func checkPages(of snapshot: Snapshot, stop: StopRequest) throws {
        if let problem = try load(snapshot.name).problem { throw problem }
        let found: String?
        do {
            let connection = try Connection(path: snapshot.archivePath, mode: .immutable)
            try connection.execute("BEGIN")
            found = try connection.abandoning(on: stop) { try connection.damagedPages().first }
        } catch let error as DatabaseError where error.isCorrupt || error.isNotADatabase {
            found = error.message
        }
        try stop.check()
        if let found { throw ArchiveReader.damaged(snapshot.archivePath, found) }
    }
}
