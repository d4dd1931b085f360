public import FerryBase
public import Foundation

/// The results of a finished migration.
public struct MigrationReport: Sendable, Hashable, Codable {
    /// The result for the store; a later version may add more.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Outcome: String, Sendable, Hashable, Codable {
        case migrated
        /// The store had the target version already; the output is an exact copy of it.
        case copied
        /// The store had the target version already.
        case upToDate
    }

    /// The execution of the steps.
    public enum Mode: String, Sendable, Hashable, Codable {
        /// At least one step made a new store.
        case copy
        /// All steps changed the store itself.
        case inPlace
        /// No step was needed.
        case nothing = "none"
    }

    public var outcome: Outcome
    /// The store with the new version: the store itself, or the output.
    public var store: URL
    public var from: String
    public var to: String
    /// Names of the versions from the store's to the target.
    public var chain: [String]
    public var mode: Mode
    public var entityMappings: [EntityMappingReport] = []
    public var unmapped: [Unmapped] = []
    public var healed: [Healed] = []
    /// Damage that the source already had and the migrated store still has.
    public var kept: [Kept] = []
    /// Objects that earlier versions of the model left in the store.
    public var leftovers: [Leftover] = []
    /// Objects that are not Core Data's and were left out on request.
    public var droppedObjects: [String] = []
    public var externalFiles = ExternalFiles()
    public var chunks = ChunkStatistics()
    /// Whether this call used the work of an earlier one.
    public var resumed = false
    /// The duration of this call.
    public var wallTime: Duration = .zero
    /// The duration of earlier calls of the same run; time that a killed call had not recorded is missing.
    public var earlierTime: Duration = .zero
    /// The use of each phase, in the order in which they ran, over all steps and calls.
    ///
    /// Their times add up to the sum of ``wallTime`` and ``earlierTime``.
    public var phases: [PhaseTime] = []
    /// Bytes of the process's write and read calls during this call; nil if the system does not report them.
    public var bytesWritten: Int64?
    public var bytesRead: Int64?
    /// The most memory that the process has held.
    public var peakResidentBytes: Int64?
    /// The estimates before the first write of this call; nil if there was nothing to do.
    public var estimates: Estimates?
    /// The longest time of this call between two points at which a stop keeps all work; nil if there was nothing to do.
    public var longestUnit: Duration?
    /// The most bytes of the run's files beside the store, without the temporary files in which SQLite sorts; nil if
    /// there was nothing to do.
    public var peakDiskBytes: Int64?
    public var snapshot: URL?
    public var verification = VerificationSummary()
    public var warnings: [FerryWarning] = []
    /// Content of the source that the migrated store does not have.
    public var losses: [Loss] = []
    /// The properties of the store whose values were computed anew; nil in records of earlier tools.
    public var transformed: [Transformation]?
    /// The store whose tables, columns, entity numbers, indexes and triggers the migrated store has: that of
    /// ``Configuration/like``, or one among the models; nil if they follow from the model alone.
    public var layoutStore: URL?
    /// The tables, and columns as `TABLE.COLUMN`, that ``Configuration/Repairs/missingParts`` made before the migration;
    /// nil in reports of earlier versions.
    public var repaired: [String]?

    /// What a call was expected to take.
    public struct Estimates: Sendable, Hashable, Codable {
        /// The time of the whole call.
        public var wallTime: Duration
        /// The same, when a tenth of the work was done; nil if the call was too short for an estimate.
        public var wallTimeAfterTenth: Duration?
        /// The transaction on the store; nil if there is none.
        public var longestUnit: Duration?
        public var peakDiskBytes: Int64

        init?(_ plan: PlanReport) {
            guard let time = plan.estimatedTime else { return nil }
            (wallTime, longestUnit) = (time, plan.longestUnit?.time)
            peakDiskBytes = plan.peakDiskBytes.values.reduce(0, +)
        }
    }

    /// Counts of one entity mapping: `read + created = written + dropped + merged`.
    public struct EntityMappingReport: Sendable, Hashable, Codable {
        /// The step, from 1.
        public var step: Int
        public var name: String
        public var source: String?
        public var destination: String?
        public var executor: RowExecutor
        public var read: Int64
        public var created: Int64
        public var written: Int64
        public var dropped: Int64
        public var merged: Int64
        /// Whether the numbers are estimates: a step that writes no row of a large store reads none.
        public var isEstimated: Bool?
    }

    /// Source objects that no entity mapping read.
    public struct Unmapped: Sendable, Hashable, Codable {
        public var step: Int
        public var entity: String
        public var rows: Int64
    }

    /// Damage that the source had and the destination does not have.
    public struct Healed: Sendable, Hashable, Codable {
        public var step: Int
        public var kind: DamageKind
        public var entity: String
        public var rows: Int64
    }

    public typealias Kept = StoreDamage

    /// A table, column, index or name that no model explains.
    public struct Leftover: Sendable, Hashable, Codable {
        /// The kind of leftover; a later version may add more.
        public struct Kind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }
            public var description: String { rawValue }

            /// The table of a removed entity or relationship.
            public static let table = Self(rawValue: "table")
            /// The column of a removed property.
            public static let column = Self(rawValue: "column")
            /// An index with another name than it has in a new store.
            public static let index = Self(rawValue: "index")
            /// The former name of a renamed entity.
            public static let entityName = Self(rawValue: "entityName")
        }

        public var kind: Kind
        /// `TABLE`, `TABLE.COLUMN`, or the name alone.
        public var name: String
        /// Rows of a table, or values in a column; nil for other kinds.
        public var rows: Int64?
        /// Whether the migrated store has the leftover too.
        public var isKept: Bool
    }

    /// The files beside the store that hold large values.
    public struct ExternalFiles: Sendable, Hashable, Codable {
        /// Files whose values were deleted, or are stored in rows now.
        public var removed: Int64 = 0
        /// Files that no value named before or after the migration; they are kept.
        public var unreferenced: Int64 = 0

        package init(removed: Int64 = 0, unreferenced: Int64 = 0) {
            self.removed = removed
            self.unreferenced = unreferenced
        }
    }

    public struct ChunkStatistics: Sendable, Hashable, Codable {
        public var count = 0
        /// Over the chunks of this call; nil if there were none.
        public var median: Duration?
        public var percentile90: Duration?
        public var longest: Duration?
    }

    public struct PhaseTime: Sendable, Hashable, Codable {
        public var phase: Phase
        public var time: Duration
        /// Rows of the phase: read (`rows`), compared (`verify`), or written (`relationships`, `indexes`, `swap`); nil
        /// for other phases, and if rows were not counted.
        public var rows: Int64?
        /// Bytes of the store in a snapshot, else those that the process read and wrote; nil if the system counts none.
        public var bytes: Int64?
        /// Bytes of the process's read and write calls; nil if the system does not report them.
        public var bytesRead: Int64?
        public var bytesWritten: Int64?
        /// The most bytes that the process had held when the phase ended; nil if the system does not report them.
        public var peakResidentBytes: Int64?

        public var rowsPerSecond: Double? { rows.map(perSecond) ?? nil }
        public var bytesPerSecond: Double? { bytes.map(perSecond) ?? nil }

        init(_ use: PhaseUse, rows: Int64?, bytes: Int64?) {
            phase = use.phase
            time = .clamped(seconds: use.seconds)
            self.rows = rows
            (bytesRead, bytesWritten) = (use.bytesRead, use.bytesWritten)
            peakResidentBytes = use.peakMemory
            self.bytes = bytes
            if bytes == nil, let read = bytesRead, let written = bytesWritten { self.bytes = read + written }
        }

        private func perSecond(_ count: Int64) -> Double? { time > .zero ? Double(count) / time.inSeconds : nil }
    }
}

/// The cause of `FerryError.Code.verificationFailed`: all differences.
public struct VerificationDifferences: Error, Sendable {
    public var summary: VerificationSummary
}
