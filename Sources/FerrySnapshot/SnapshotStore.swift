package import FerryBase
internal import Foundation

/// The snapshots of one store in a folder, which other stores may share.
///
/// A snapshot exists when its manifest does: the manifest is renamed last, after the archive was decoded and compared
/// while it was written. All other files in the folder are unfinished.
package struct SnapshotStore: Sendable {
    package let folder: String
    /// The real path of the store; nil if the folder has the snapshots of this store alone, which may have moved with it.
    private let store: String?
    let files: FileLayer

    package init(folder: String, of store: String? = nil, files: FileLayer) {
        (self.folder, self.store, self.files) = (folder, store, files)
    }

    /// The path of the store from the folder, so that both can move together; nil if the folder is the store's own.
    func place() throws -> String? {
        guard let store else { return nil }
        let (from, to) = (try files.realPath(folder).split(separator: "/"), store.split(separator: "/"))
        let common = zip(from, to).prefix { $0 == $1 }.count
        return (Array(repeating: "..", count: from.count - common) + to[common...]).joined(separator: "/")
    }

    /// The snapshots of the store, newest first; damage that shows without reading archives is in ``Snapshot/problem``.
    ///
    /// One with a damaged manifest may be of any store.
    ///
    /// The order is that of creation, whatever the clock; snapshots without a number come last, by their time.
    ///
    /// - Throws: ``FerryError`` `.fileFailed`; a missing folder holds no snapshots.
    package func list() throws -> [Snapshot] {
        guard try files.exists(folder), let place = try place() else { return try all() }
        let name = FileLayer.name(of: place)
        return try all().filter { snapshot in
            guard let head = snapshot.head else { return true }
            return head.place.map { $0 == place } ?? (head.store == name)
        }
    }

    /// The snapshots of all stores, in the order of ``list()``.
    package func all() throws -> [Snapshot] {
        guard try files.exists(folder) else { return [] }
        var snapshots: [Snapshot] = []
        for entry in try files.list(folder) where Self.isManifest(entry) {
            snapshots.append(try load(String(entry.name.dropLast(SnapshotNames.manifest.count))))
        }
        return snapshots.inOrder {
            ($0.sequence ?? 0, $0.created, $0.name.count, $0.name)
                > ($1.sequence ?? 0, $1.created, $1.name.count, $1.name)
        }
    }

    /// The snapshot with a name or a number, or with its archive or manifest at a path.
    ///
    /// - Throws: ``FerryError`` `.noSnapshot`.
    package func snapshot(_ nameOrPath: String) throws -> Snapshot {
        let name = Snapshot.name(ofArchive: nameOrPath)
        guard try files.exists(folder + "/" + name + SnapshotNames.manifest) else {
            if let number = Int64(name), let numbered = try list().first(where: { $0.sequence == number }) {
                return numbered
            }
            throw FerryError(
                .noSnapshot, "There is no snapshot \(name) in \(folder).",
                remedy: "\(action: .listSnapshots) lists the snapshots.")
        }
        return try load(name)
    }

    /// The snapshot that a run has left at a path, whatever its form is now; nil if it is gone.
    package static func left(at archive: String, files: FileLayer) throws -> Snapshot? {
        let store = SnapshotStore(folder: FileLayer.parent(of: archive), files: files)
        do {
            return try store.snapshot(archive)
        } catch let error as FerryError where error.code == .noSnapshot {
            return nil
        }
    }

    /// The states of unfinished archives, by name.
    package func unfinished() throws -> [ArchiveState] {
        guard try files.exists(folder) else { return [] }
        var states: [ArchiveState] = []
        for entry in try files.list(folder) where entry.name.hasSuffix(SnapshotNames.partialState) {
            let bytes = try files.read(folder + "/" + entry.name)
            let state: ArchiveState
            do {
                state = try JSONDecoder().decode(ArchiveState.self, from: Data(bytes))
            } catch {
                // The file is foreign, or of another version of Ferry: it stays, and the snapshot is begun again.
                continue
            }
            guard state.ferry == 1, state.isPlausible, state.name + SnapshotNames.partialState == entry.name else {
                continue
            }
            states.append(state)
        }
        return states.inOrder { $0.name < $1.name }
    }

    /// Reads a manifest, and checks that the archive exists, and that a clone was not written to.
    func load(_ name: String) throws -> Snapshot {
        var snapshot = Snapshot(folder: folder, name: name)
        do {
            let head = try Manifest.read(snapshot.manifestPath, files: files)
            snapshot.form = try head.archive.known()
            snapshot.head = head
            let found = try files.attributesIfPresent(snapshot.archivePath)
            if found?.size != head.archive.bytes {
                snapshot.problem = ArchiveReader.damaged(
                    snapshot.archivePath, found == nil ? "it is missing" : "its size differs from its manifest")
            } else if let modified = head.archive.modified, found?.modified != modified {
                snapshot.problem = ArchiveReader.damaged(
                    snapshot.archivePath, "it was changed after it was made, or copied without its time")
            }
        } catch let error as FerryError where error.code == .snapshotDamaged || error.code == .unsupported {
            snapshot.problem = error
            // The manifest does not show the form, so the archive's name must.
            let form = try SnapshotForm.allCases.first { try files.exists(folder + "/" + name + $0.ending) }
            snapshot.form = form ?? snapshot.form
        }
        return snapshot
    }

    private static func isManifest(_ entry: FolderEntry) -> Bool {
        !entry.isDirectory && entry.name.hasSuffix(SnapshotNames.manifest)
            && !entry.name.hasSuffix(SnapshotNames.partialState)
    }
}

extension SnapshotStore {
    /// Removes old snapshots.
    ///
    /// One snapshot that verifies always stays: if none of the kept ones does, the newest of the others that does is
    /// kept too. A snapshot with a damaged manifest stays, since its age is unknown.
    ///
    /// - Parameters:
    ///   - retention: The snapshots that stay.
    ///   - now: Seconds since 1970.
    ///   - protected: Names of archives, without a folder, whose snapshots stay.
    ///   - isTrial: Whether all snapshots stay, and the result says what would be removed.
    ///   - stop: Ends the work between two snapshots.
    /// - Returns: Both lists, newest first.
    /// - Throws: ``FerryError`` `.fileFailed`, or the reason of the stop request.
    package func prune(
        _ retention: Retention, now: Int64, protecting protected: Set<String> = [], isTrial: Bool = false,
        stop: StopRequest = StopRequest()
    ) throws -> (removed: [Snapshot], kept: [Snapshot]) {
        var kept: [Snapshot] = []
        var candidates: [Snapshot] = []
        // Compressing gives a clone another archive.
        let names = Set(protected.map(Snapshot.name(ofArchive:)))
        var selection = retention
        for snapshot in try list() {
            // A damaged snapshot cannot be restored, so it does not count.
            let isSelected = snapshot.problem == nil && selection.takes(createdAt: snapshot.created)
            let isProtected = !snapshot.isDescribed || names.contains(snapshot.name)
            // The manifest may contain any time.
            let isYoung = snapshot.created > now - retention.minimumAge
            if isSelected || isProtected || isYoung {
                kept.append(snapshot)
            } else {
                candidates.append(snapshot)
            }
        }
        let isWhole = { (snapshot: Snapshot) in
            try snapshot.problem == nil && problem(of: snapshot, stop: stop) == nil
        }
        if !candidates.isEmpty, try !kept.contains(where: isWhole),
            let last = try candidates.firstIndex(where: isWhole)
        {
            kept.append(candidates.remove(at: last))
        }
        for snapshot in candidates where !isTrial {
            try stop.check()
            try remove(snapshot)
        }
        return (candidates, kept)
    }

    /// Removes the manifest first: without it, no file looks like a snapshot.
    private func remove(_ snapshot: Snapshot) throws {
        try files.removeIfPresent(snapshot.manifestPath)
        try files.syncFolder(folder)
        for form in SnapshotForm.allCases { try files.removeIfPresent(snapshot.path(as: form)) }
        try files.removeTree(snapshot.externalPath)
        try files.syncFolder(folder)
    }
}
