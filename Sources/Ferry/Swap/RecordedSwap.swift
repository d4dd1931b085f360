package import FerryBase
internal import FerrySQLite
internal import FerryStore

/// A swap whose every stage is in the run's record before it begins, so that the next command can go on from a kill.
package struct RecordedSwap {
    let sourceGuard: SourceGuard
    let destination: String
    let folder: RunFolder
    let files: FileLayer
    let trace: TraceHook?

    package init(
        sourceGuard: SourceGuard, destination: String, folder: RunFolder, files: FileLayer, trace: TraceHook? = nil
    ) {
        self.sourceGuard = sourceGuard
        self.destination = destination
        self.folder = folder
        self.files = files
        self.trace = trace
    }

    /// Runs the swap; the record is saved with the intent before anything of the store changes.
    ///
    /// - Parameter record: The run; afterwards as it was saved last.
    /// - Throws: ``FerryError`` `.sourceChanged`, `.storeInUseAtSwap`.
    package func run(_ record: inout RunRecord) throws {
        var current = record
        current.phase = .swap
        defer { record = current }
        try ExternalFiles(store: sourceGuard.store.main, files: files)
            .noteNames(on: sourceGuard.connection, workFolder: folder.path)
        try Swap(
            sourceGuard: sourceGuard, destination: destination,
            newExternalFiles: ExternalData.folder(forStore: destination), files: files,
            vfs: try files.faults.map { try VFS(temporaryFolder: nil, faults: $0) }, trace: trace,
            checkSource: { try current.checkSource($0) },
            save: { intent, checkpointed in
                current.swap = intent
                current.checkpointed = checkpointed ?? current.checkpointed
                try folder.save(current)
            }
        ).run()
    }
}

extension RunRecord {
    /// - Throws: ``FerryError`` `.sourceChanged` when another program has written to the store since the run began.
    func checkSource(_ now: Fingerprint) throws {
        // The models and mapping models are compared when a run is taken up.
        guard case .storeChanged(let what) = comparison(with: now.with(inputs: source.inputs)) else { return }
        throw FerryError(
            .sourceChanged, "\(store) was changed since the run began: \(what).",
            remedy: "Begin anew: migrate with --restart, or rollback again.")
    }
}

extension Fingerprint {
    package func with(inputs: [String: String]) -> Fingerprint { Fingerprint(store: store, inputs: inputs) }
}
