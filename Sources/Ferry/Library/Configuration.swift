public import FerryBase
internal import FerryPlan
internal import FerrySnapshot
public import Foundation

/// The settings of one migration.
public struct Configuration: Sendable {
    /// The treatment of a migration that loses values, links or objects of the store.
    public enum Losses: String, Sendable, Hashable, CaseIterable {
        /// Refuses what the store loses or may lose, except for ``Configuration/allowedLosses``.
        case refuse
        /// Migrates, as Core Data does; plan and report tell the losses.
        case allow
    }

    /// The version to migrate to, by name; nil means the current version of the models.
    public var target: String?
    /// The versions that the migration passes through.
    public var chain: ChainChoice = .automatic
    /// Whether Ferry infers a mapping if no mapping model leads to the next version.
    public var infersMappings = true
    /// Whether mapping models beside or in a model bundle, on the chain and not given, are ignored instead of refused.
    public var ignoresMappingsBeside = false
    public var losses: Losses = .refuse
    /// Entities, or properties as `Entity.property`, that may be lost although ``losses`` refuses it.
    public var allowedLosses: Set<String> = []
    /// Whether the target may be older than the store's version; content that the target does not model is lost then.
    public var allowsDowngrade = false
    /// Whether a mapping may compare objects of one entity with all objects of another one more than a billion times.
    public var allowsQuadratic = false
    /// A store of the target version that Core Data made, from which the migrated store gets its tables, columns,
    /// entity numbers, indexes and triggers; an empty one suffices.
    public var like: URL?
    /// The relationship that names the table of a many-to-many relationship between an entity and itself:
    /// `Entity.relationship`, or `Entity.relationship=TABLE`.
    public var joinTables: [String] = []
    /// Whether properties of a store that is mirrored to CloudKit may get another name or type.
    ///
    /// The records of other devices keep the old field: what these write to it no longer arrives.
    public var breaksSync = false
    /// The path of the migrated store; nil means in place of the store.
    ///
    /// A store that has the target version already is copied to this path.
    public var output: URL?
    public var chunkSize: ChunkSize = .automatic
    /// The most bytes that an automatic chunk writes, as far as that can be estimated.
    ///
    /// A value that is larger than a chunk is carried alone, in pieces.
    public var chunkBytes = 4 << 20
    /// The longest time that an automatic chunk takes, as far as that can be estimated.
    public var chunkTime: Duration = .milliseconds(500)
    /// The bytes that the process may hold, at least 24 MiB; caches, queues and the snapshot's level are chosen to fit.
    ///
    /// A value that cannot be carried in pieces, such as a text, takes twice its size of the limit. The app's memory, its
    /// code, your migration policies, and model files above 1 MiB come on top.
    public var memoryLimit = 32 << 20
    public var executor: ExecutorChoice = .automatic
    public var verify: VerifyMode = .full
    /// The number of parts of the verification that run at one time; nil for as many as there are processors.
    ///
    /// A low ``memoryLimit`` allows fewer. The result does not depend on this number.
    public var jobs: Int?
    /// Whether a verified snapshot is taken first; never with ``output``, which leaves the store unchanged.
    public var takesSnapshot = true
    /// Whether the snapshot is a copy-on-write clone of the store's file instead of a compressed archive.
    ///
    /// A clone is made at once and shares its blocks with the store until either changes, but has no hash. It takes a
    /// volume with such files (APFS, Btrfs, XFS); on another one the migration is refused.
    public var clonesSnapshot = false
    /// The folder for the snapshot; nil means `STORE.snapshots`.
    public var snapshotFolder: URL?
    /// The compression level of the archive: 1 (fast) to 19 with Zstandard, to 9 in a build without it.
    public var snapshotLevel = 1
    public var damaged: DamagedRows = .refuse
    /// Names of objects in the store that are not Core Data's and are not to be carried over.
    public var dropUnknown: [String] = []
    /// Whether columns that an unfinished attempt left in the store give their values to the new properties of their names.
    ///
    /// Otherwise these begin empty, and the values are a loss.
    public var adopts = false
    /// Whether steps of a chain that need no code are composed into one; the result is the same either way.
    public var composes = true
    /// Whether an unfinished run is dropped instead of resumed.
    public var restarts = false
    /// Whether missing tables and columns of the store's version are made before the migration, after a snapshot.
    ///
    /// They are empty, or have the model's default values. Otherwise such a store is refused.
    public var repairs = false
    /// Whether the store keeps its version: ``repairs`` and ``dropUnknown`` are all that the call does, after a snapshot
    /// or in a copy.
    public var keepsVersion = false
    /// The time after which a call stops, for the next call to resume; nil for no limit.
    ///
    /// Each call does at least one unit of work, even one that takes longer.
    public var budget: Duration?
    /// How long a call waits in all for a store that another program uses, at the start or at the swap; nil not to wait.
    ///
    /// A spent ``budget`` or a stop request ends the waiting.
    public var waits: Duration?
    /// Whether the call stops before the last step, which puts the migrated store in place.
    public var holdsSwap = false
    /// Called before each step with the step's source store, which the hook must not change.
    ///
    /// For the first step that is the app's own store. With a hook each step runs alone, in the run folder.
    public var willMigrate: StageHook?
    /// Called after each step with the step's verified destination, whose rows the hook may change.
    ///
    /// A store that the hook changed is verified again, and the next step begins with it; after the last step it
    /// replaces the app's store. An error from the hook ends the run with the app's store unchanged. Ferry calls the
    /// hook again only if the call ended before its return was recorded; the store is then as at the first call.
    public var didMigrate: StageHook?
    /// The value of `now()` in expressions, read once per run; for tests.
    public var now: @Sendable () -> Date = { Date() }
    /// Receives every statement and file operation.
    public var trace: TraceHook?
    /// Whether a rehearsal, in a folder of Ferry's own, tries a migration in place; nil for a migration.
    ///
    /// A rehearsal to a new store copies a store of the target version.
    package var rehearsesInPlace: Bool?
    /// The rows of each entity that a rehearsal carries in each step, without verification; nil for all.
    package var sample: Int64?
    package var thresholds = Thresholds()
    /// Whether the process runs nothing but Ferry, so that its memory is Ferry's; an app has memory of its own.
    package var ownsProcess = false

    /// The settings of `ferry migrate`.
    public init() {}

    /// The default settings with changes: `Configuration { $0.target = "App 3" }`.
    ///
    /// - Parameter change: Receives the default settings.
    /// - Throws: The error of `change`.
    public init(_ change: (inout Configuration) throws -> Void) rethrows {
        self.init()
        try change(&self)
    }

    var memory: MemoryBudget { MemoryBudget(limit: memoryLimit) }

    /// - Throws: ``FerryError`` `.usage` for a limit that cannot be kept.
    package func checkMemory() throws(FerryError) {
        try MemoryBudget.check(memoryLimit)
        if takesSnapshot, !clonesSnapshot, output == nil {
            try SnapshotMemory.check(level: snapshotLevel, within: memory)
        }
    }
}
