package import FerryBase
internal import Foundation

/// The folder with the snapshots of one store.
///
/// A snapshot is there when its manifest is: that is renamed into place last, after the archive has been decoded and
/// compared while it was written. Whatever else is in the folder is unfinished.
package struct SnapshotStore: Sendable {
    package let folder: String
    let files: FileLayer

    package init(folder: String, files: FileLayer) {
        self.folder = folder
        self.files = files
    }

    /// All snapshots, newest first; damage that shows without reading archives is in ``Snapshot/problem``.
    ///
    /// The newest is the one that was made last, which the clock need not say. Those whose manifest does not tell come
    /// last, by their time.
    ///
    /// - Throws: ``FerryError`` `.fileFailed`; a missing folder holds no snapshots.
    package func list() throws -> [Snapshot] {
        guard try files.exists(folder) else { return [] }
        var snapshots: [Snapshot] = []
        for entry in try files.list(folder) where Self.isManifest(entry) {
            snapshots.append(try load(String(entry.name.dropLast(SnapshotNames.manifest.count))))
        }
        return snapshots.sorted {
            ($0.sequence ?? 0, $0.created, $0.name.count, $0.name)
                > ($1.sequence ?? 0, $1.created, $1.name.count, $1.name)
        }
    }

    /// The snapshot of a name, or whose archive or manifest is at a path.
    ///
    /// - Throws: ``FerryError`` `.noSnapshot`.
    package func snapshot(_ nameOrPath: String) throws -> Snapshot {
        var name = FileLayer.name(of: nameOrPath)
        for ending in SnapshotForm.allCases.map(\.ending) + [SnapshotNames.manifest] where name.hasSuffix(ending) {
            name.removeLast(ending.count)
            break
        }
        guard try files.exists(folder + "/" + name + SnapshotNames.manifest) else {
            throw FerryError(
                .noSnapshot, "There is no snapshot \(name) in \(folder).",
                remedy: "\(action: .listSnapshots) shows those that there are.")
        }
        return try load(name)
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
                // Not ours, or of another version of Ferry: it is left alone, and the snapshot is begun anew.
                continue
            }
            guard state.ferry == 1, state.isPlausible, state.name + SnapshotNames.partialState == entry.name else {
                continue
            }
            states.append(state)
        }
        return states.sorted { $0.name < $1.name }
    }

    // MARK: Within the room

    /// Reads a manifest, and looks whether the archive is there.
    func load(_ name: String) throws -> Snapshot {
        var snapshot = Snapshot(folder: folder, name: name)
        do {
            let head = try Manifest.read(snapshot.manifestPath, files: files)
            snapshot.form = try head.archive.known()
            snapshot.head = head
            let found = try files.attributesIfPresent(snapshot.archivePath)?.size
            if found != head.archive.bytes {
                snapshot.problem = ArchiveReader.damaged(
                    snapshot.archivePath, found == nil ? "it is missing" : "it has another size than its manifest says")
            }
        } catch let error as FerryError where error.code == .snapshotDamaged || error.code == .unsupported {
            snapshot.problem = error
            // Nothing says so any more: the file's name does.
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
    /// What pruning did.
    package struct Pruned: Sendable {
        package var removed: [Snapshot]
        package var kept: [Snapshot]
    }

    /// Seconds since a snapshot was made; its manifest may name any time.
    private static func age(of snapshot: Snapshot, at now: Int64) -> Int64 {
        let (age, overflow) = now.subtractingReportingOverflow(snapshot.created)
        return overflow ? (snapshot.created < 0 ? .max : .min) : age
    }

    /// Removes old snapshots.
    ///
    /// One that verifies is always left: if none of those that would be kept does, the newest of the others that does is
    /// kept too. One whose manifest is damaged stays: nothing tells its age.
    ///
    /// - Parameters:
    ///   - keep: How many of the newest whole ones stay whatever their age.
    ///   - minimumAge: Seconds that one must be old to be removed.
    ///   - now: Seconds since 1970.
    ///   - protected: Names of archives, without a folder, that stay.
    ///   - stop: Ends it between two snapshots.
    /// - Returns: Both lists, newest first.
    /// - Throws: ``FerryError`` `.fileFailed`, or the reason of the stop request.
    package func prune(
        keep: Int, minimumAge: Int64, now: Int64, protecting protected: Set<String> = [],
        stop: StopRequest = StopRequest()
    ) throws -> Pruned {
        var kept: [Snapshot] = []
        var candidates: [Snapshot] = []
        var whole = 0
        for snapshot in try list() {
            // A damaged one protects nothing, so it does not count.
            if snapshot.problem == nil { whole += 1 }
            let isAmongNewest = snapshot.problem == nil && whole <= keep
            let isProtected = !snapshot.isDescribed || protected.contains(FileLayer.name(of: snapshot.archivePath))
            if isAmongNewest || isProtected || Self.age(of: snapshot, at: now) < minimumAge {
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
        for snapshot in candidates {
            try stop.check()
            try remove(snapshot)
        }
        return Pruned(removed: candidates, kept: kept)
    }

    /// The manifest first: without it, nothing looks like a snapshot.
    private func remove(_ snapshot: Snapshot) throws {
        try files.removeIfPresent(snapshot.manifestPath)
        try files.syncFolder(folder)
        try files.removeIfPresent(snapshot.archivePath)
        try files.removeTree(snapshot.externalPath)
        try files.syncFolder(folder)
    }
}
