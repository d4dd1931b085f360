internal import FerryBase
internal import FerryMapping
internal import FerryPlan
package import FerrySQLite
internal import Foundation

/// The content of `run.json`: the identity of a run, the inputs that must not change, and the run's progress.
///
/// If it differs from the databases of the run, these are right: it names the current step, but no rows.
package struct RunRecord: Codable, Sendable {
    /// The version of this file's form and of the unfinished databases beside it.
    ///
    /// 4: obstacles, losses and transformed values are always present.
    static let format = 4

    package enum Kind: String, Codable, Sendable { case migration, rollback }

    package var ferry = RunRecord.format
    var kind = Kind.rollback
    /// The tool that wrote the record, with its version.
    package var tool: String
    package var id: String
    package var folder: Place
    package var store: String
    /// The fingerprint of the store and the inputs at the beginning of the run.
    package var source: Fingerprint
    /// The store's fingerprint after the swap has written its `-wal` back; see ``Swap``.
    package var checkpointed: Fingerprint?
    /// The fingerprint of a store in WAL mode before ``JournalSwitch`` gives it a rollback journal for one transaction.
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
    /// Nil for a rollback.
    var migration: Migration? { didSet { kind = migration == nil ? .rollback : .migration } }

    /// Begins a run on a store, of which the source may not have been read.
    init(of store: String, in folder: RunFolder, _ source: Fingerprint, _ sideFiles: SideFiles) throws {
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
            remedy: kind == .migration ? "Start over with \(on: .restart)." : "Repeat the rollback.")
    }

    /// Whether the run has changed the file at its path or kept a copy of it: the next command must find its folder.
    var changesPlace: Bool { kept != nil || swap != nil }

    /// The part of the record that only a migration has.
    package struct Migration: Codable, Sendable {
        var options: Options
        /// Names of the versions from the store's to the target.
        var chain: [String]
        /// The versions that each step passes.
        var passes: [[String]]
        /// `now()` of every expression, in seconds since 2001-01-01 UTC.
        var now: Double
        /// Whether no step is a copy.
        var isInPlace = false
        /// Whether steps in place change a file of the run folder.
        ///
        /// Else, without an output, one transaction changes the store itself.
        var runsInFolder = false
        /// Why steps that could run in place are copies, by the executor, and by what only the store showed.
        var copying = Planner.Copying()
        var obstacles = Planner.Copying()
        /// The completed steps, the last perhaps unverified; those on the store itself are recorded before COMMIT.
        var steps: [StepRecord] = []
        /// The last step, counted from 1, whose source passed the check of its rows.
        var checkedStep: Int?
        /// The last step, counted from 1, before which the app's hook has returned.
        var begunStep: Int?
        /// The rows of each entity as preflight counted them.
        var rows: [String: Int64] = [:]
        var findings = Findings()
        /// The SHA-256 of each mapping model of the steps, by name.
        var mappingModels: [String: String] = [:]
        /// The store whose layout the new store gets; absent if the model gives it.
        ///
        /// A resumed run compares the layout itself, so the store may have been moved.
        var layoutStore: String?

        /// Whether a run can have written the record, judged by the number of its steps.
        var isPlausible: Bool {
            !chain.isEmpty && steps.count <= stepCount && (checkedStep.map { (0...stepCount).contains($0) } ?? true)
        }

        var from: String { chain[0] }
        var to: String { chain[chain.count - 1] }
        var stepCount: Int { passes.count }
        /// Whether all work before the commit is recorded, so that the store can be the new one.
        var isComplete: Bool { steps.count == stepCount }
        /// Whether the run is one transaction on the store itself.
        var isOnStore: Bool { isInPlace && !runsInFolder && options.output == nil }
    }

    /// The options that a call must repeat to resume the run.
    package struct Options: Codable, Hashable, Sendable {
        var target: String
        var output: String?
        var verify = VerifyMode.full
        var takesSnapshot = true
        var damaged = DamagedRows.refuse
        var dropUnknown: [String] = []
        /// The SHA-256 of the known schema of the new store; absent if the whole schema follows from the model.
        var schema: String?
        /// The names of join tables from the setting; absent if it was not used.
        var joinTables: [String]?
        /// Whether the run takes over what an unfinished attempt left; absent if it does not.
        var adopts: Bool?
        /// Whether the app has hooks; absent if it has none.
        var hasStages: Bool?
    }

    /// The identity of the run folder: journals in it name each other by absolute path.
    package struct Place: Codable, Hashable, Sendable {
        package var path: String
        var device: UInt64
        var inode: UInt64
    }

    /// A step whose destination is complete.
    struct StepRecord: Codable, Sendable {
        /// Whether the whole destination is in its main file, without Ferry's own tables.
        var isFinished: Bool
        /// Whether the app's hook after the step has returned.
        var isSeen: Bool?
        /// The finished destination's state; absent for a run on the store itself.
        var destination: FileState?
        var entityMappings: [MigrationReport.EntityMappingReport]
        var unmapped: [MigrationReport.Unmapped]
        var healed: [MigrationReport.Healed]
        /// Objects of earlier versions that the step did not carry over.
        var leftBehind: [String]
        var chunks: Int
        /// Absent until the step is verified.
        var verification: VerificationSummary?
    }
}
