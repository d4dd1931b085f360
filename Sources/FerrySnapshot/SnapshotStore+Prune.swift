package import FerryBase

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
        if !candidates.isEmpty, try !kept.contains(where: { try verifies($0, stop) }),
            let last = try candidates.firstIndex(where: { try verifies($0, stop) })
        {
            kept.append(candidates.remove(at: last))
        }
        for snapshot in candidates {
            try stop.check()
            try remove(snapshot)
        }
        return Pruned(removed: candidates, kept: kept)
    }

    private func verifies(_ snapshot: Snapshot, _ stop: StopRequest) throws -> Bool {
        guard snapshot.problem == nil else { return false }
        do {
            try verify(snapshot, stop: stop)
            return true
        } catch let error as FerryError where error.code == .snapshotDamaged {
            return false
        }
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
