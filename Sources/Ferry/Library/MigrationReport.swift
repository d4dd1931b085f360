public import FerryBase
public import Foundation

/// What a finished migration did.
public struct MigrationReport: Sendable, Hashable, Codable {
    /// What became of the store; there may be more in a later version.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Outcome: String, Sendable, Hashable, Codable {
        case migrated
        /// The store has the target version already, and so has the output: a copy of it, to the byte.
        case copied
        /// There was nothing to do.
        case upToDate
    }

    /// How the steps ran.
    public enum Mode: String, Sendable, Hashable, Codable {
        /// At least one of them made a new store.
        case copy
        /// All of them changed the store within itself.
        case inPlace
        /// There was nothing to do.
        case nothing = "none"
    }

    public var outcome: Outcome
    /// The store that has the new version now: the store itself, or the output.
    public var store: URL
    public var from: String
    public var to: String
    /// Names of the versions from the store's to the target.
    public var chain: [String]
    /// How the steps ran.
    public var mode: Mode
    public var entityMappings: [EntityMappingReport] = []
    public var unmapped: [Unmapped] = []
    public var healed: [Healed] = []
    /// Damage that the source already had and the migrated store still has.
    public var kept: [Kept] = []
    /// What earlier versions of the model had left in the store.
    public var leftovers: [Leftover] = []
    /// Objects that are not Core Data's and were left out, as was asked.
    public var droppedObjects: [String] = []
    public var externalFiles = ExternalFiles()
    public var chunks = ChunkStatistics()
    /// Whether work of an earlier call was used.
    public var resumed = false
    /// What this call took.
    public var wallTime: Duration = .zero
    /// What earlier calls of a run that was gone on with took; what a killed call had not recorded is not in it.
    public var earlierTime: Duration = .zero
    /// What each phase took, in the order in which they ran, all steps and all calls together.
    ///
    /// Their times add up to ``wallTime`` and ``earlierTime``.
    public var phases: [PhaseTime] = []
    /// Bytes that the process gave to calls that write, and took from calls that read, during this call; nil where the
    /// system does not tell.
    public var bytesWritten: Int64?
    public var bytesRead: Int64?
    /// The most memory that the process ever held.
    public var peakResidentBytes: Int64?
    public var snapshot: URL?
    public var verification = VerificationSummary()
    public var warnings: [FerryWarning] = []
    /// What the store held before and the migrated one does not.
    public var losses: [Loss] = []

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
        /// Whether the numbers are estimates: a step that writes no row of a large store looks at none.
        public var isEstimated: Bool?
    }

    /// Source objects that no entity mapping read.
    public struct Unmapped: Sendable, Hashable, Codable {
        public var step: Int
        public var entity: String
        public var rows: Int64
    }

    /// Damage that the source already had and the destination has not.
    public struct Healed: Sendable, Hashable, Codable {
        public var step: Int
        public var kind: DamageKind
        public var entity: String
        public var rows: Int64
    }

    /// Damage that stays as it was.
    public struct Kept: Sendable, Hashable, Codable {
        public var kind: DamageKind
        public var entity: String
        public var property: String?
        public var rows: Int64
    }

    /// A table, column, index or name that no model explains any more.
    public struct Leftover: Sendable, Hashable, Codable {
        /// What it is; there may be more in a later version.
        public struct Kind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }
            public var description: String { rawValue }

            /// The table of an entity or a relationship that is no more.
            public static let table = Self(rawValue: "table")
            /// The column of a property that is no more.
            public static let column = Self(rawValue: "column")
            /// An index under a name that a new store would not give it.
            public static let index = Self(rawValue: "index")
            /// The name of an entity before it was renamed.
            public static let entityName = Self(rawValue: "entityName")
        }

        public var kind: Kind
        /// `TABLE`, `TABLE.COLUMN`, or the name alone.
        public var name: String
        /// Rows of a table, values in a column; nil for what holds none.
        public var rows: Int64?
        /// Whether the migrated store has it, too.
        public var isKept: Bool
    }

    /// The files beside the store that hold large values.
    public struct ExternalFiles: Sendable, Hashable, Codable {
        /// Files whose values are not in the store any more, or stand in its rows now.
        public var removed: Int64 = 0
        /// Files that no value named before or names now; they are kept.
        public var unreferenced: Int64 = 0

        package init(removed: Int64 = 0, unreferenced: Int64 = 0) {
            self.removed = removed
            self.unreferenced = unreferenced
        }
    }

    public struct ChunkStatistics: Sendable, Hashable, Codable {
        public var count = 0
        /// Over the chunks of this call; nil when it ran none.
        public var median: Duration?
        public var percentile90: Duration?
        public var longest: Duration?
    }

    public struct PhaseTime: Sendable, Hashable, Codable {
        public var phase: Phase
        public var time: Duration
        /// Rows that the phase went over: read (`rows`), compared (`verify`), or written (`relationships`, `indexes`,
        /// `swap`); nil for other phases, and where rows were not counted.
        public var rows: Int64?
        /// Bytes of the store that a snapshot holds, else what the process read and wrote meanwhile; nil where the system
        /// does not tell.
        public var bytes: Int64?
        /// Bytes that the process took from calls that read, and gave to calls that write; nil where the system does not
        /// tell.
        public var bytesRead: Int64?
        public var bytesWritten: Int64?

        public var rowsPerSecond: Double? { rows.map(perSecond) ?? nil }
        public var bytesPerSecond: Double? { bytes.map(perSecond) ?? nil }

        init(_ use: PhaseUse, rows: Int64?, bytes: Int64?) {
            phase = use.phase
            time = .clamped(seconds: use.seconds)
            self.rows = rows
            (bytesRead, bytesWritten) = (use.bytesRead, use.bytesWritten)
            self.bytes = bytes
            if bytes == nil, let read = bytesRead, let written = bytesWritten { self.bytes = read + written }
        }

        private func perSecond(_ count: Int64) -> Double? { time > .zero ? Double(count) / time.inSeconds : nil }
    }
}

/// What verification looked at and found.
public struct VerificationSummary: Sendable, Hashable, Codable {
    public var mode = Configuration.VerifyMode.none
    /// Whether the checks are those made inside the transaction of a migration in place, before COMMIT.
    ///
    /// What the store was before is gone then, so that nothing could be compared with it afterwards.
    public var isBeforeCommit = false
    /// Rows compared; before COMMIT, rows counted.
    public var checked: Int64 = 0
    /// Values that cannot be recomputed: made by a policy in code, or derived by Core Data alone.
    public var notRecomputed: Int64 = 0
    public var differences: [Difference] = []

    /// One kind of difference; the example is a place (table and key), never a value.
    public struct Difference: Sendable, Hashable, Codable {
        public var check: VerificationCheck
        public var entity: String?
        public var count: Int64
        public var example: String?
    }
}

/// The cause of `FerryError.Code.verificationFailed`: everything that differed.
public struct VerificationDifferences: Error, Sendable {
    public var summary: VerificationSummary
}
