internal import FerryBase
internal import FerryMapping
package import FerrySQLite
internal import Foundation

/// What `run.json` holds: which run this is, what must not change under it, and how far it has come.
///
/// Where it and the databases of the run differ, the databases win: it says which step is at work, never which rows.
package struct RunRecord: Codable, Sendable {
    /// The version of this file's form and of the unfinished databases beside it.
    ///
    /// 2: the keys of new objects are counted where rows refer to them, so that a run that another form began would not
    /// be gone on with as it was begun.
    static let format = 2

    package enum Kind: String, Codable, Sendable { case migration, rollback }

    package var ferry = RunRecord.format
    package var kind: Kind
    /// The tool that wrote it, with its version.
    package var tool: String
    package var id: String
    package var folder: Place
    package var store: String
    /// What the store and the inputs looked like when the run began.
    package var source: Fingerprint
    /// What the store looks like once the swap has written its `-wal` back; see ``Swap``.
    package var checkpointed: Fingerprint?
    /// What a store in WAL mode looks like while it has a rollback journal for its one transaction; see
    /// ``JournalSwitch``.
    package var rollbackMode: DatabaseFingerprint?
    /// The side files that were there before Ferry came.
    package var sideFiles: SideFiles
    package var phase: Phase
    /// The archive that was taken or is put back.
    package var snapshot: String?
    /// The content of the snapshot that this run took.
    var snapshotBytes: Int64?
    package var swap: SwapIntent?
    /// What the swap has made of the store, seen before any other program could open it.
    var ended: DatabaseFingerprint?
    /// What the output looked like when the run let it go.
    var output: FileState?
    /// What a rollback has kept of what it replaces: a snapshot, or copies of files.
    var keptReplaced: [String]?
    /// What each phase has taken in all calls, as far as it was recorded, in the order of the phases.
    package var phases: [PhaseUse] = []
    /// Nil for a rollback.
    package var migration: Migration?

    private init(
        _ kind: Kind, of store: String, in folder: RunFolder, _ source: Fingerprint, _ sideFiles: SideFiles
    ) throws {
        self.kind = kind
        tool = FerryVersion.tool
        id = UUID().uuidString
        self.folder = try folder.place
        self.store = store
        self.source = source
        self.sideFiles = sideFiles
        phase = .preflight
    }

    /// Begins a run on the store as it is now; `inputs` are digests of the models and mapping models, by path.
    package init(
        _ kind: Kind, in folder: RunFolder, on sourceGuard: SourceGuard, inputs: [String: String] = [:],
        migration: Migration? = nil
    ) throws {
        let source = try sourceGuard.fingerprint().with(inputs: inputs)
        try self.init(kind, of: sourceGuard.store.main, in: folder, source, sourceGuard.sideFiles)
        self.migration = migration
    }

    /// Begins a rollback where no store is, or one that cannot be read.
    init(rollbackOf store: String, in folder: RunFolder, files: FileLayer) throws {
        let source = Fingerprint(store: DatabaseFingerprint(unread: try files.attributesIfPresent(store)))
        let sideFiles = try SideFiles(of: StoreFileNames(store), files: files)
        try self.init(.rollback, of: store, in: folder, source, sideFiles)
    }

    /// Whether the run has begun to change what stands at its place, or kept what it is about to replace: then its
    /// folder must be found by the next command.
    var changesPlace: Bool { swap != nil || keptReplaced != nil }

    /// What only a migration has.
    package struct Migration: Codable, Sendable {
        var options: Options
        /// Names of the versions from the store's to the target.
        var chain: [String]
        /// The versions that each step passes; absent in records of earlier tools, which took one step from each to the next.
        var passes: [[String]]?
        /// `now()` of every expression, in seconds since 2001-01-01 UTC.
        var now: Double
        /// Whether no step is a copy; without an output the store itself is changed then, in one transaction.
        var isInPlace = false
        /// Whether steps that could be taken in place are copies; absent in records of earlier tools.
        var copiesInferred: Bool?
        /// The steps that are made, in order, of which the last may be verified while the next one is at work.
        ///
        /// Those of a store that is changed itself are recorded before COMMIT.
        var steps: [StepRecord] = []
        /// The step, counted from 1, whose source was last seen to hold what the step requires.
        var checkedStep: Int?
        /// The last step, counted from 1, before which the app's hook has returned.
        var begunStep: Int?
        /// Rows of each entity as preflight counted them; absent in records of earlier tools.
        var rows: [String: Int64]?
        /// What preflight has found.
        var findings = Findings()
        /// The mapping models that the steps go by, by name, with their SHA-256; absent in records of earlier tools.
        var mappingModels: [String: String]?

        /// Whether a run can have written it, as far as the number of its steps goes.
        var isPlausible: Bool {
            !chain.isEmpty && steps.count <= stepCount && (checkedStep.map { (0...stepCount).contains($0) } ?? true)
        }

        var from: String { chain[0] }
        var to: String { chain[chain.count - 1] }
        /// How many steps there are to do.
        var stepCount: Int { passes?.count ?? chain.count - 1 }
    }

    /// What a call must ask for again to go on with the run.
    package struct Options: Codable, Hashable, Sendable {
        var target: String
        var output: String?
        var verify = Configuration.VerifyMode.full
        var takesSnapshot = true
        var damaged = Configuration.Damaged.refuse
        var dropUnknown: [String] = []
        /// The SHA-256 of what is known of the new store's schema; absent where all of it follows from the model.
        var schema: String?
        /// What was said of the names of join tables; absent where nothing was.
        var joinTables: [String]?
        /// Whether the app's hooks look between steps; absent where they do not.
        var hasStages: Bool?
    }

    /// The run folder's own identity: journals in it name each other by absolute path.
    package struct Place: Codable, Hashable, Sendable {
        package var path: String
        var device: UInt64
        var inode: UInt64
    }

    /// A step whose destination is made.
    struct StepRecord: Codable, Sendable {
        /// Whether the destination is all in its main file, and free of Ferry's own tables.
        var isFinished: Bool
        /// Whether the app's hook behind the step has returned.
        var isSeen: Bool?
        /// The finished destination; absent for a store that is changed itself, and in records of earlier tools.
        var destination: FileState?
        var entityMappings: [MigrationReport.EntityMappingReport]
        var unmapped: [MigrationReport.Unmapped]
        var healed: [MigrationReport.Healed]
        /// What earlier versions had left and the step did not take along.
        var leftBehind: [String]
        var chunks: Int
        /// What its policies decided; absent where none did, and in records of earlier tools.
        var policies: PolicyEvidence?
        /// Absent until it is verified.
        ///
        /// An earlier tool has no such step, and refuses the record.
        var verification: VerificationSummary?
    }
}

extension RunRecord.Migration {
    /// The record of a copy by default options, as a test begins one.
    package init(to target: String, chain: [String]) {
        self.init(options: RunRecord.Options(target: target), chain: chain, now: 0)
    }
}
