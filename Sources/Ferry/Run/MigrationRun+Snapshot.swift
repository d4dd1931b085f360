internal import FerryBase
internal import FerryModel
internal import FerrySnapshot

extension MigrationRun {
    /// Takes the snapshot that the way back needs, unless an earlier call has.
    func takeSnapshot(
        _ store: OpenedStore, _ version: ModelVersion, rows: [String: Int64], _ record: inout RunRecord,
        _ folder: RunFolder
    ) throws {
        guard takesSnapshot else { return }
        let snapshots = StoreSnapshots(of: place.store, folder: configuration.snapshotFolder?.filePath, files: files)
        // One that was moved away or damaged since is no way back.
        if let known = record.snapshot,
            try snapshots.list().contains(where: { $0.archivePath == known && $0.problem == nil })
        {
            return
        }
        try stop.check()
        relay.begin(.snapshot)
        record.phase = .snapshot
        try folder.save(record)
        let snapshot = try snapshots.create(
            store, version: inputs.catalog.displayName(of: version), rows: rows, level: configuration.snapshotLevel,
            stop: stop, progress: relay.hook())
        record.snapshot = snapshot.archivePath
        record.snapshotBytes = snapshot.bytes
        noteTimes(&record)
        try folder.save(record)
        stop.unitIsDone()
    }
}
