internal import FerryBase
package import FerrySQLite
internal import Foundation

/// The part of a record that every run has.
package struct RunHead: Codable, Sendable {
    package var ferry = RunRecord.format
    /// The tool that wrote the record, with its version.
    package var tool: String
    package var id: String
    package var folder: RunRecord.Place
    package var store: String
    /// The fingerprint of the store and the inputs at the beginning of the run.
    package var source: Fingerprint
    /// The store's fingerprint after the swap has written its `-wal` back; see ``Swap``.
    package var checkpointed: Fingerprint?
    /// The fingerprint of a store in WAL mode while ``JournalSwitch`` gives it a rollback journal for one transaction.
    package var rollbackMode: DatabaseFingerprint?
    /// The side files that existed before the run.
    package var sideFiles: SideFiles
    package var phase: Phase
    /// The archive that the run took or restores.
    package var snapshot: String?
    var snapshotBytes: Int64?
    package var swap: SwapIntent?
    /// The copies of the store that a rollback replaces: a snapshot, or copies of files.
    var kept: [String]?
    /// The store's fingerprint at the end of the run; nil if another program can have written before it was taken.
    var ended: DatabaseFingerprint?
    /// The state of the output at the end of the run.
    var output: FileState?
    /// The recorded use of each phase over all calls, in the order of the phases.
    package var phases: [PhaseUse] = []

    private init(
        of store: String, in folder: RunFolder, _ source: Fingerprint, _ sideFiles: SideFiles
    ) throws {
        tool = FerryVersion.tool
        id = UUID().uuidString
        self.folder = try folder.place
        self.store = store
        self.source = source
        self.sideFiles = sideFiles
        phase = .preflight
    }

    /// Begins a run on the store in its present state; `inputs` are digests of the models and mapping models, by path.
    package init(in folder: RunFolder, on sourceGuard: SourceGuard, inputs: [String: String] = [:]) throws {
        let source = try sourceGuard.fingerprint().with(inputs: inputs)
        try self.init(of: sourceGuard.store.main, in: folder, source, sourceGuard.sideFiles)
    }

    /// Begins a rollback of a store that is missing or cannot be read.
    init(rollbackOf store: String, in folder: RunFolder, files: FileLayer) throws {
        let source = Fingerprint(store: DatabaseFingerprint(unread: try files.attributesIfPresent(store)))
        let sideFiles = try SideFiles(of: StoreFileNames(store), files: files)
        try self.init(of: store, in: folder, source, sideFiles)
    }

    /// Compares the store with its state when the run began, or with its state after the run's own checkpoint.
    package func comparison(with now: Fingerprint) -> Fingerprint.Comparison {
        if let checkpointed, checkpointed.with(inputs: source.inputs).compare(with: now) == .same { return .same }
        return source.compare(with: now)
    }

    /// - Throws: ``FerryError`` `.sourceChanged` when another program has written to the store since the run began.
    func checkSource(_ now: Fingerprint) throws {
        // Resuming a run compares the models and mapping models.
        guard case .storeChanged(let what) = comparison(with: now.with(inputs: source.inputs)) else { return }
        throw sourceChanged(what)
    }

    func sourceChanged(_ what: String) -> FerryError {
        FerryError(
            .sourceChanged, "\(store) has changed since the run began: \(what).",
            remedy: "Start over with \(on: .restart), or repeat the rollback.")
    }
}
