internal import FerryBase

/// What `run.json` holds: which run this is, what must not change under it, and how far it has come.
///
/// Where it and the databases of the run differ, the databases win: it says which step is at work, never which rows.
struct RunRecord: Codable, Sendable {
    /// The only version of this file's form so far.
    static let format = 1

    enum Kind: String, Codable, Sendable { case migration, rollback }

    var ferry = RunRecord.format
    var kind: Kind
    /// The tool that wrote it, with its version.
    var tool: String
    var id: String
    var folder: Place
    var store: String
    /// What the store and the inputs looked like when the run began.
    var source: Fingerprint
    /// What the store looks like once the swap has written its `-wal` back; see ``Swap``.
    var checkpointed: Fingerprint?
    /// The side files that were there before Ferry came.
    var sideFiles: SideFiles
    var phase: Phase
    /// The archive that was taken or is put back.
    var snapshot: String?
    var swap: SwapIntent?
    /// Seconds spent per phase by all calls, in the order in which the phases first ran.
    var phases: [PhaseSeconds] = []
    /// Nil for a rollback.
    var migration: Migration?

    /// What only a migration has.
    struct Migration: Codable, Sendable {
        var options: Options
        var from: String
        var to: String
        var chain: [String]
        /// `now()` of every expression, in seconds since 2001-01-01 UTC.
        var now: Double
        /// The steps that are verified, in order; the next one is at work.
        var steps: [StepRecord] = []
    }

    /// What a call must ask for again to go on with the run.
    struct Options: Codable, Hashable, Sendable {
        var target: String
        var output: String?
        var verify: Configuration.VerifyMode
        var takesSnapshot: Bool
    }

    /// The run folder's own identity: journals in it name each other by absolute path.
    struct Place: Codable, Hashable, Sendable {
        var path: String
        var device: UInt64
        var inode: UInt64
    }

    /// A verified step.
    struct StepRecord: Codable, Sendable {
        /// Whether the destination is free of Ferry's own tables.
        var isFinished: Bool
        var entityMappings: [MigrationReport.EntityMappingReport]
        var unmapped: [MigrationReport.Unmapped]
        var healed: [MigrationReport.Healed]
        var chunks: Int
        var verification: VerificationSummary
    }

    struct PhaseSeconds: Codable, Sendable {
        var phase: Phase
        var seconds: Double
    }

    mutating func spend(_ seconds: Double, in phase: Phase) {
        if let index = phases.firstIndex(where: { $0.phase == phase }) {
            phases[index].seconds += seconds
        } else {
            phases.append(PhaseSeconds(phase: phase, seconds: seconds))
        }
    }
}

/// Written before a swap: tells the next command whether the rename has happened.
struct SwapIntent: Codable, Hashable, Sendable {
    /// The file that goes into the store's place; a rename keeps its device and inode.
    var device: UInt64
    var inode: UInt64
}
