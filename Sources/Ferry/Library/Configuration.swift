internal import FerryBase
internal import FerryPlan
internal import FerrySnapshot
public import Foundation

/// How one migration runs.
public struct Configuration: Sendable {
    public enum ChunkSize: Sendable, Hashable {
        /// Exactly so many rows in each chunk.
        case rows(Int)
        /// As many as the machine takes in good time.
        case automatic
    }

    /// What becomes of rows that no rule heals: of an unknown entity, or without a mandatory value.
    public enum Damaged: String, Sendable, Hashable, Codable {
        /// They go along as they are where the migrated store can hold them, else the run is refused.
        case keep
        /// They are left out, with the links to them, and counted.
        case drop
        /// The run is refused, with their counts.
        case refuse
    }

    public enum VerifyMode: String, Sendable, Hashable, Codable { case full, quick, none }

    /// What carries the rows of entity mappings without a policy; the migrated store is the same.
    public enum Executor: String, Sendable, Hashable, CaseIterable {
        /// Statements of SQL.
        case automatic = "auto"
        /// Swift, one row after another.
        case row
        /// Statements of SQL only: a mapping with a policy is refused.
        case set
    }

    /// The version to migrate to, by name; nil means the current version of the models.
    public var target: String?
    /// Which versions the migration passes through.
    public var chain: ChainChoice
    /// Whether a mapping is inferred where no mapping model leads to the next version.
    public var infersMappings: Bool
    /// Whether mapping models that lie beside or in a model bundle, lead along the way and are not given are passed over;
    /// otherwise they are a refusal.
    public var passesOverMappings: Bool
    /// Whether a migration that loses something is refused, but for ``allowedLosses``.
    public var refusesLosses: Bool
    /// Entities, or properties as `Entity.property`, that may be lost nevertheless.
    public var allowedLosses: Set<String>
    /// Whether the target may be older than the store's version; what it does not know is lost then.
    public var allowsDowngrade: Bool
    /// A store of the target version that Core Data made, an empty one will do: its tables, columns, numbers of
    /// entities, indexes and triggers are those of the migrated store.
    public var like: URL?
    /// Which relationship names the table of a many-to-many relationship between an entity and itself:
    /// `Entity.relationship`, or `Entity.relationship=TABLE`.
    public var joinTables: [String]
    /// Where the migrated store is written; nil means in place of the store.
    ///
    /// A store that is of the target version already is copied there.
    public var output: URL?
    public var chunkSize: ChunkSize
    /// How many bytes an automatic chunk writes at most, as far as that can be foreseen.
    ///
    /// A value that is larger than what fits into a chunk is carried alone, in pieces.
    public var chunkBytes: Int
    /// How long an automatic chunk takes at most, as far as that can be foreseen.
    public var chunkTime: Duration
    /// Bytes that the process may hold, 24 MiB at least; caches, queues and the snapshot's level keep to it.
    ///
    /// A value that cannot be carried in pieces, such as a text, costs twice its size of it. Code of your own (migration
    /// policies) and model files above 1 MiB come on top.
    public var memoryLimit: Int
    public var executor: Executor
    public var verify: VerifyMode
    /// How many parts of the verification are made at one time; nil for as many as there are processors.
    ///
    /// A low ``memoryLimit`` allows fewer. What is found does not depend on it.
    public var jobs: Int?
    /// Whether a verified snapshot is taken before anything; never with ``output``, which leaves the store alone.
    public var takesSnapshot: Bool
    /// The folder for the snapshot; nil means `STORE.snapshots`.
    public var snapshotFolder: URL?
    /// How small the archive is made: 1 (quick) to 19 with Zstandard, to 9 in a build without it.
    public var snapshotLevel: Int
    public var damaged: Damaged
    /// Names of objects in the store that are not Core Data's and are to be left out.
    public var dropUnknown: [String]
    /// Whether steps of a chain that need no code are done in one pass; the result is the same either way.
    public var composes: Bool
    /// Drops an unfinished run instead of going on with it.
    public var restart: Bool
    /// Whether a hot journal is rolled back first, by SQLite, after a raw copy of it and the store was put into the
    /// snapshots' folder; else such a store is refused.
    public var recovers: Bool
    /// How long a call works before it stops, to be gone on with by the next one; nil for as long as it takes.
    ///
    /// Each call does at least one unit of work, even one that takes longer.
    public var budget: Duration?
    /// Whether everything is done but the last move, which puts the migrated store in place.
    public var holdsSwap: Bool
    /// Is called before each step, with the store that it begins with, which it may not change.
    ///
    /// For the first step that is the app's own store. With a hook each step is taken by itself, in the run folder.
    public var willMigrate: StageHook?
    /// Is called after each step, with the verified store that it has made, whose rows it may change.
    ///
    /// A store that it has changed is verified again, and the next step begins with it; after the last one it takes the
    /// app's store's place. What the hook throws ends the run with the app's store as before. It is called again only
    /// where the call ended before its return was recorded, and then finds what it found the first time.
    public var didMigrate: StageHook?
    /// The time that `now()` means in expressions, asked once per run; for tests.
    public var now: @Sendable () -> Date
    /// Receives every statement and file operation.
    public var trace: TraceHook?
    /// A store of more bytes than this whose rows are written anew in place leaves WAL mode for that: below, the syncs of
    /// leaving it and coming back take longer than writing everything twice.
    package var largestLoggedStore: Int64 = 1 << 20
    /// Bytes of a new store that at most go into the old one through its `-wal`.
    package var largestLoggedSwap: Int64 = 1 << 30
    /// A store of fewer bytes is not verified while the next step is made: a thread of its own would gain nothing.
    package var leastVerifiedBeside: Int64 = 64 << 20
    /// Whether a store of the target version is copied to the output; not for a rehearsal of a migration in place.
    package var copiesUnchanged = true
    /// A check of the store's pages that takes longer is not made again by the next call, whatever stops this one.
    package var leastMarkedSeconds = 2.0

    public init(
        target: String? = nil, chain: ChainChoice = .automatic, infersMappings: Bool = true,
        passesOverMappings: Bool = false, refusesLosses: Bool = false, allowedLosses: Set<String> = [],
        allowsDowngrade: Bool = false, like: URL? = nil, joinTables: [String] = [], output: URL? = nil,
        chunkSize: ChunkSize = .automatic,
        chunkBytes: Int = 4 << 20, chunkTime: Duration = .milliseconds(500), memoryLimit: Int = 32 << 20,
        executor: Executor = .automatic, verify: VerifyMode = .full, jobs: Int? = nil, takesSnapshot: Bool = true,
        snapshotFolder: URL? = nil, snapshotLevel: Int = 1, damaged: Damaged = .refuse, dropUnknown: [String] = [],
        composes: Bool = true, restart: Bool = false, recovers: Bool = false, budget: Duration? = nil,
        holdsSwap: Bool = false,
        willMigrate: StageHook? = nil, didMigrate: StageHook? = nil,
        now: @escaping @Sendable () -> Date = { Date() }, trace: TraceHook? = nil
    ) {
        self.target = target
        self.chain = chain
        self.infersMappings = infersMappings
        self.passesOverMappings = passesOverMappings
        self.refusesLosses = refusesLosses
        self.allowedLosses = allowedLosses
        self.allowsDowngrade = allowsDowngrade
        self.like = like
        self.joinTables = joinTables
        self.output = output
        self.chunkSize = chunkSize
        self.chunkBytes = chunkBytes
        self.chunkTime = chunkTime
        self.memoryLimit = memoryLimit
        self.executor = executor
        self.verify = verify
        self.jobs = jobs
        self.takesSnapshot = takesSnapshot
        self.snapshotFolder = snapshotFolder
        self.snapshotLevel = snapshotLevel
        self.damaged = damaged
        self.dropUnknown = dropUnknown
        self.composes = composes
        self.restart = restart
        self.recovers = recovers
        self.budget = budget
        self.holdsSwap = holdsSwap
        self.willMigrate = willMigrate
        self.didMigrate = didMigrate
        self.now = now
        self.trace = trace
    }

    var memory: MemoryBudget { MemoryBudget(limit: memoryLimit) }

    /// - Throws: ``FerryError`` `.usage` for a limit that cannot be kept.
    package func checkMemory() throws(FerryError) {
        try MemoryBudget.check(memoryLimit)
        if takesSnapshot, output == nil { try SnapshotMemory.check(level: snapshotLevel, within: memory) }
    }
}

/// Which versions a migration passes through.
public enum ChainChoice: Sendable {
    /// Along mapping models; where none leads on, from each version to the next one in version order by inference.
    case automatic
    /// Through these versions, by name and in this order, from the store's own on.
    ///
    /// Without a target of its own the migration leads to the last of them.
    case versions([String])
    /// Through those that the closure names, which is called for each version of the chain; nil leaves the rest of the
    /// way to Ferry.
    ///
    /// It is asked when a plan is made, so once by a call that plans and again by each call that runs or goes on, and
    /// must answer the same each time.
    case next(@Sendable (VersionQuestion) throws -> String?)
}

/// What is asked for each version of a chain.
public struct VersionQuestion: Sendable, Hashable {
    /// The version that the chain has come to.
    public var version: String
    /// The version that the migration leads to.
    public var target: String
    /// Versions to which a mapping model leads from here, and the next one in version order; others may be named too.
    public var candidates: [String]
}

extension Configuration {
    /// The same for the planner.
    var route: ChainRoute {
        let choice: ChainRoute.Choice =
            switch chain {
            case .automatic: .search
            case .versions(let names): .list(names, origin: "the list of versions")
            case .next(let next):
                .ask { question in
                    try next(
                        VersionQuestion(
                            version: question.version, target: question.target, candidates: question.candidates))
                }
            }
        return ChainRoute(choice: choice, infers: infersMappings, allowsDowngrade: allowsDowngrade)
    }
}

/// A step of a migration as ``Configuration/willMigrate`` and ``Configuration/didMigrate`` see it.
public struct MigrationStage: Sendable, Hashable {
    /// The step, from 1, and how many there are.
    public var number: Int
    public var count: Int
    /// The version that the step begins with, and the one that it leads to.
    public var from: String
    public var to: String
    /// The store as it is now, of version ``from`` before the step and of version ``to`` after it.
    ///
    /// Open it with SQLite or Core Data, and close it before the hook returns. Values that Core Data keeps in files of
    /// their own are beside the app's store, and not beside this one.
    public var store: URL

    /// A stage as a test of a hook needs one; a migration makes its own.
    public init(number: Int, count: Int, from: String, to: String, store: URL) {
        (self.number, self.count) = (number, count)
        (self.from, self.to) = (from, to)
        self.store = store
    }
}

extension Configuration {
    /// Looks at a store before or after a step, on the migration's thread; what it throws ends the run.
    public typealias StageHook = @Sendable (MigrationStage) throws -> Void

    /// Whether steps are told apart for hooks.
    var hasStages: Bool { willMigrate != nil || didMigrate != nil }
}

/// What carries the rows of an entity mapping; there may be more in a later version.
public struct RowExecutor: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// Statements of SQL.
    public static let set = Self(rawValue: "set")
    /// Swift, one row after another.
    public static let row = Self(rawValue: "row")
}

/// What was wrong with a store before it was migrated; there may be more kinds in a later version.
public struct DamageKind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// A key that leads to no object, or to one of another entity than is declared.
    public static let danglingKey = Self(rawValue: "danglingKey")
    /// A one-to-one relationship whose other side does not lead back.
    public static let oneSidedInverse = Self(rawValue: "oneSidedInverse")
    /// The number of an entity beside a key that is not the one of the object to which the key leads.
    public static let wrongEntity = Self(rawValue: "wrongEntity")
    /// No position in an ordered relationship.
    public static let missingOrder = Self(rawValue: "missingOrder")
    /// No value in a mandatory attribute.
    public static let missingValue = Self(rawValue: "missingValue")
    /// An object of an entity that is none of its table.
    ///
    /// `Z_ENT`
    public static let unknownEntity = Self(rawValue: "unknownEntity")
    /// A highest key that is below the highest one in use.
    ///
    /// `Z_MAX`
    public static let lowMaximumKey = Self(rawValue: "lowMaximumKey")
    /// A value that names an external file which is not there.
    public static let missingFile = Self(rawValue: "missingFile")
    /// Persistent history of entities that have no heir.
    public static let droppedHistory = Self(rawValue: "droppedHistory")
}
