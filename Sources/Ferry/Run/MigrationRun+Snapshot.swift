internal import FerryBase
internal import FerryModel
internal import FerrySnapshot

extension MigrationRun {
    var takesSnapshot: Bool { configuration.snapshots.form != .none && place.output == nil }
    var snapshotFolder: String { configuration.snapshots.folder?.filePath ?? StoreSnapshots.folder(of: place.store) }
    /// The level of compression; nil for a clone.
    var snapshotLevel: Int? { configuration.snapshots.form == .clone ? nil : configuration.snapshots.level }

    /// Takes the snapshot for a rollback, unless an earlier call has.
    ///
    /// `rows` are the counted rows of each entity, for the snapshot's manifest.
    func takeSnapshot(
        of store: OpenedStore, _ version: ModelVersion, rows: [String: Int64], in session: RunSession
    ) throws {
        guard takesSnapshot else { return }
        let snapshots = StoreSnapshots(
            of: place.store, folder: configuration.snapshots.folder?.filePath, files: files, memory: memory)
        // A snapshot that was moved or damaged since cannot be restored.
        if let known = session.head.snapshot,
            try snapshots.list().contains(where: { $0.isArchive(known) && $0.problem == nil })
        {
            return
        }
        try stop.check()
        relay.begin(.snapshot)
        session.head.phase = .snapshot
        try session.save()
        let snapshot = try snapshots.create(
            store, version: inputs.catalog.displayName(of: version), rows: rows, level: snapshotLevel,
            stop: stop, progress: relay.hook())
        session.head.snapshot = snapshot.archivePath
        session.head.snapshotBytes = snapshot.bytes
        try saveWithTimes(session)
        stop.unitIsDone()
    }

    /// Checks the run's snapshot before a COMMIT; without it, the next call takes another one.
    func checkSnapshot(of session: RunSession) throws {
        guard takesSnapshot, let archive = session.head.snapshot else { return }
        do {
            try StoreSnapshots.checkWayBack(archive, of: place.store, files: files, stop: stop)
        } catch let error as FerryError where error.code == .snapshotFailed {
            if var saved = session.folder.record {
                saved.snapshot = nil
                try session.folder.save(saved)
            }
            throw error
        }
    }
}
