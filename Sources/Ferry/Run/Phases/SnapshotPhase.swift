internal import FerryBase
internal import FerryModel
internal import FerrySnapshot

/// Takes the snapshot for a rollback, unless an earlier call has.
struct SnapshotPhase: MigrationPhase {
    let call: MigrationRun
    let session: MigrationSession
    let store: OpenedStore
    let version: ModelVersion
    /// The counted rows of each entity, for the snapshot's manifest.
    let rows: [String: Int64]

    func run() throws {
        guard call.takesSnapshot else { return }
        let snapshots = StoreSnapshots(
            of: place.store, folder: configuration.snapshotFolder?.filePath, files: files, memory: memory)
        // A snapshot that was moved or damaged since cannot be restored.
        if let known = head.snapshot,
            try snapshots.list().contains(where: { $0.isArchive(known) && $0.problem == nil })
        {
            return
        }
        try stop.check()
        relay.begin(.snapshot)
        head.phase = .snapshot
        try session.save()
        let snapshot = try snapshots.create(
            store, version: call.inputs.catalog.displayName(of: version), rows: rows, level: call.snapshotLevel,
            stop: stop, progress: relay.hook())
        head.snapshot = snapshot.archivePath
        head.snapshotBytes = snapshot.bytes
        try saveWithTimes()
        stop.unitIsDone()
    }
}

extension MigrationPhase {
    /// Checks the run's snapshot before a COMMIT; without it, the next call takes another one.
    func checkSnapshot() throws {
        guard call.takesSnapshot, let archive = head.snapshot else { return }
        do {
            try StoreSnapshots.checkWayBack(archive, of: place.store, files: files, stop: stop)
        } catch let error as FerryError where error.code == .snapshotFailed {
            if var saved = folder.record {
                saved.head.snapshot = nil
                try folder.save(saved)
            }
            throw error
        }
    }
}
