public import FerryBase
internal import FerryPlan
internal import FerrySnapshot
public import Foundation

/// The settings of one migration.
public struct Configuration: Sendable {
    /// The version to migrate to, by name; nil means the current version of the models.
    public var target: String?
    /// The versions that the migration passes through.
    public var chain: ChainChoice = .automatic
    /// Whether Ferry infers a mapping if no mapping model leads to the next version.
    public var infersMappings = true
    /// Whether mapping models beside or in a model bundle, on the chain and not given, are ignored instead of refused.
    public var ignoresMappingsBeside = false
    public var losses = Losses.refuse
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
    public var chunks = Chunks()
    public var limits = Limits()
    public var snapshots = Snapshots()
    public var executor: ExecutorChoice = .automatic
    public var verification: VerifyMode = .full
    public var repairs = Repairs()
    public var damaged: DamagedRows = .refuse
    /// Whether an unfinished run is dropped instead of resumed.
    public var restart = false
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
    /// Whether steps of a chain that need no code are composed into one; the result is the same either way.
    package var composition = true
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

    var memory: MemoryBudget { MemoryBudget(limit: limits.memory) }

    /// - Throws: ``FerryError`` `.usage` for a limit that cannot be kept.
    package func checkMemory() throws(FerryError) {
        try MemoryBudget.check(limits.memory)
        if snapshots.form == .archive, output == nil {
            try SnapshotMemory.check(level: snapshots.level, within: memory)
        }
    }
}
