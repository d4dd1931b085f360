public import FerryBase
public import Foundation

/// Which model version a store has.
public struct Identification: Sendable, Hashable, Codable {
    public var store: URL
    /// `Z_UUID`.
    public var uuid: String
    /// The name of the matching version, or nil when no known version has the store's hashes.
    public var version: String?
    /// The model file that matched; nil for the model cached in the store.
    public var model: URL?
    /// The version with the fewest differing entities, where none matches.
    public var nearest: Nearest?
    public var frameworkVersion: Int?

    public struct Nearest: Sendable, Hashable, Codable {
        public var version: String
        public var differs: [String]
    }
}

/// Of a run in a store's run folder, or of the last one that ended.
public struct RunStatus: Sendable, Hashable, Codable {
    /// Where a run stands; there may be more in a later version.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum State: String, Sendable, Hashable, Codable {
        /// There is no run, and the log has none.
        case none
        case running
        /// Stopped or killed; the same call goes on.
        case interrupted
        /// There is no run; the last one has ended.
        case finished
    }

    public var state: State
    public var phase: Phase?
    /// The entity mapping, table or index at work.
    public var subject: String?
    /// The step at work, counted from 1, and how many there are.
    public var step: Int?
    public var steps: Int?
    /// Work done, from 0 to 1, as far as known.
    public var fraction: Double?
    public var rowsPerSecond: Double?
    /// The time to the end of the call at the speed so far.
    public var timeLeft: Duration?
    public var runID: String?
    /// When the last run ended.
    public var finished: Date?
}

/// A snapshot of a store, as its manifest describes it.
public struct SnapshotEntry: Sendable, Codable {
    /// The archive.
    public var url: URL
    /// Which one it is of those in its folder, in the order in which they were made, from 1; nil for those of earlier
    /// versions of Ferry, which come before.
    public var sequence: Int64?
    public var created: Date
    public var version: String?
    /// Bytes of the database, and of the archive.
    public var bytes: Int64
    public var compressedBytes: Int64
    /// Whether the archive was read again and found whole; nil when this call did not look.
    public var verified: Bool?
    public var problem: FerryError?
}

/// What pruning did to the snapshots of a store; both lists newest first.
public struct PruneReport: Sendable, Codable {
    public var removed: [SnapshotEntry]
    public var kept: [SnapshotEntry]
}

/// What a rollback did.
public struct RollbackReport: Sendable, Hashable, Codable {
    public var store: URL
    public var snapshot: URL
    /// The version that the snapshot brought back, as its manifest names it.
    public var version: String?
    /// The version that was replaced, or nil when it could not be read.
    public var replaced: String?
    /// What was replaced: a snapshot of it, or copies of the files of a damaged store; empty when nothing had been
    /// written since the last run on the store.
    public var kept: [URL] = []
    /// What could not be done behind the swap; the next command on the store does it.
    public var warnings: [FerryWarning] = []
    /// The snapshot's number in its folder; nil for those of earlier versions of Ferry.
    public var sequence: Int64?
    /// Why this snapshot was taken, in words.
    public var reason: String?
}
