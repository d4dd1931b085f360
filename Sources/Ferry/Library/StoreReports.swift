public import FerryBase
public import Foundation

/// The model version of a store.
public struct Identification: Sendable, Hashable, Codable {
    public var store: URL
    /// `Z_UUID`.
    public var uuid: String
    /// The name of the matching version; nil if no known version has the store's hashes.
    public var version: String?
    /// The model file that matched; nil for the model cached in the store.
    public var model: URL?
    /// The version with the fewest differing entities, if none matches.
    public var nearest: Nearest?
    public var frameworkVersion: Int?

    public struct Nearest: Sendable, Hashable, Codable {
        public var version: String
        public var differs: [String]
    }
}

/// The status of a run in a store's run folder, or of the last run that ended.
public struct RunStatus: Sendable, Hashable, Codable {
    /// The state of a run; a later version may add more.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum State: String, Sendable, Hashable, Codable {
        /// There is no run, and the log names none.
        case none
        case running
        /// The run was stopped or killed; the same call resumes it.
        case interrupted
        /// There is no run folder; the last run has ended.
        case finished
    }

    public var state: State
    public var phase: Phase?
    /// The entity mapping, table or index at work.
    public var subject: String?
    /// The current step, counted from 1, and the number of steps.
    public var step: Int?
    public var steps: Int?
    /// The completed share of the work, from 0 to 1, if known.
    public var fraction: Double?
    public var rowsPerSecond: Double?
    /// The estimated time to the end of the call at the speed so far.
    public var timeLeft: Duration?
    public var runID: String?
    /// Whether the run is a rollback; nil if there is no run, or not known.
    public var isRollback: Bool?
    /// Whether an operator has paused a running migration, and the work has come to a halt.
    public var isPaused: Bool?
    /// The share of the time in which a running migration rests, as an operator has ordered.
    public var rest: Double?
    /// The rows of a chunk that an operator has ordered.
    public var chunkRows: Int?
    /// The end of the last run.
    public var finished: Date?
    /// The version that the last run has left, if known.
    public var version: String?
    /// The snapshot that the last run has restored; nil if that was a migration.
    public var restored: URL?
}

/// A snapshot of a store, as its manifest describes it.
public struct SnapshotEntry: Sendable, Codable {
    /// The archive.
    public var url: URL
    /// The snapshot's number in its folder, in the order of creation, from 1; nil for older ones, of earlier versions.
    public var sequence: Int64?
    public var created: Date
    public var version: String?
    /// Bytes of the database, and of the archive.
    public var bytes: Int64
    public var compressedBytes: Int64
    /// Whether the archive is a clone: the database as a file that shares its blocks with the store.
    public var isClone: Bool
    /// Whether the archive was read again and found whole; nil if this call did not read it.
    public var verified: Bool?
    public var problem: FerryError?
}

/// The snapshots of a store after pruning; both lists begin with the newest.
public struct PruneReport: Sendable, Codable {
    public var removed: [SnapshotEntry]
    public var kept: [SnapshotEntry]
}

/// The results of a rollback.
public struct RollbackReport: Sendable, Hashable, Codable {
    public var store: URL
    public var snapshot: URL
    /// The version of the restored store, as the snapshot's manifest names it.
    public var version: String?
    /// The version of the replaced store; nil if it could not be read.
    public var replaced: String?
    /// The copies of the replaced store: a snapshot, or copies of the files of a damaged store; empty if a snapshot has
    /// its content already.
    public var kept: [URL] = []
    /// Work after the swap that failed; the next command on the store does it.
    public var warnings: [FerryWarning] = []
    /// The snapshot's number in its folder; nil for snapshots of earlier versions of Ferry.
    public var sequence: Int64?
    /// The reason for the snapshot, in words.
    public var reason: String?
}
