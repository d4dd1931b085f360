public import FerryBase
internal import FerryPlan
public import Foundation

/// The plan of a migration, made before any change.
public struct PlanReport: Sendable, Codable {
    public var store: URL
    /// Names of the versions from the store's to the target; one name if both are the same.
    public var chain: [String]
    public var steps: [Step] = []
    /// Source rows of the first step.
    public var rows: Int64 = 0
    /// The peak of additional disk space, keyed by a folder on each volume.
    public var peakDiskBytes: [String: Int64] = [:]
    /// The transaction on the store, of a step in place or of the swap; nil if there is none, or the plan is refused.
    public var longestUnit: LongestUnit?
    /// The snapshot that the migration takes first; nil if it takes none, and in plans of earlier versions.
    public var snapshot: Snapshot?
    /// An estimate of the time of the whole migration on this machine; nil if there is nothing to do, or the plan is
    /// refused.
    public var estimatedTime: Duration?
    /// The reasons why the plan cannot run; empty if it can.
    public var refusals: [FerryError] = []
    public var warnings: [FerryWarning] = []
    /// The reason for each part of the chain, version by version.
    public var links: [Link] = []
    /// The rejected alternatives of the chain, and the order of the versions.
    public var notes: [String] = []
    /// Content of the store's rows that the migrated store does not have; the first of the warnings say the same.
    public var losses: [Loss] = []
    /// The properties of the store whose values a function of the mapping models computes anew.
    public var transformed: [Transformation]?

    /// What a migration scans before it changes anything, and this plan has not: a migration may still refuse by it.
    ///
    /// Nil in plans of earlier versions.
    public var notScanned: [String]?

    /// What neither this plan nor a migration checks beforehand: the run may fail by it, and the store stays unchanged.
    ///
    /// Empty in a plan without scans; nil in plans of earlier versions.
    public var notChecked: [String]?

    /// The store whose tables, columns, entity numbers, indexes and triggers the migrated store gets: that of
    /// ``Configuration/like``, or one among the models; nil if they follow from the model alone.
    public var layoutStore: URL?
    /// Whether the store's version is the model that the store itself holds, as no model of it was given.
    ///
    /// Nil in plans of earlier versions.
    public var isOwnModel: Bool?

    public var isUpToDate: Bool { steps.isEmpty && refusals.isEmpty }

    /// From one model version to the next one used.
    public struct Step: Sendable, Hashable, Codable {
        /// The execution of the step; a later version may add more.
        #if hasAttribute(nonexhaustive)
            @nonexhaustive
        #endif
        public enum Mode: String, Sendable, Hashable, Codable {
            /// The step makes a new store.
            case copy
            /// The step changes a store itself.
            case inPlace
            /// There is nothing to do.
            case nothing = "none"
            /// The step cannot run.
            case refused
        }

        public var from: String
        public var to: String
        /// Names of all versions that the step passes at once, `from` and `to` included.
        public var versions: [String]
        /// The reason why the step is not composed with the step before it; nil for the first step.
        public var isApartBecause: String?
        public var mode: Mode
        /// The reason for the mode.
        public var reason: String
        public var mappingModels: [String]
        public var partitions: [[EntityMappingPlan]]
        /// The most bytes beside the new store: associations, lookups, sorting, and the lookups of verification.
        public var scratchBytes: Int64 = 0
        /// The treatment of each table; nil for a step that cannot run, and in plans of earlier versions.
        public var tables: [Table]?
    }

    public typealias Table = PlannedTable
    public typealias Link = ChainLink

    /// What a snapshot takes, estimated from samples of the store.
    public struct Snapshot: Sendable, Hashable, Codable {
        public var isClone: Bool
        /// Bytes on disk: those of the archive; a clone takes none at first.
        public var bytes: Int64
        public var seconds: Double
        /// Whether the volume is of a kind on which ``Configuration/Snapshots/Form/clone`` takes neither time nor space.
        public var mayBeCloned: Bool
    }

    /// The one transaction on the store, which cannot be divided: a budget can be overrun by its time.
    public struct LongestUnit: Sendable, Hashable, Codable {
        /// The kind of work; a later version may add more.
        public struct Kind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }
            public var description: String { rawValue }

            /// The transaction of a step in place.
            public static let transaction = Self(rawValue: "transaction")
            /// The transaction that writes a new store into the old one.
            public static let swap = Self(rawValue: "swap")
        }

        public var kind: Kind
        /// The name of the store.
        public var name: String
        /// Counted from 1.
        public var step: Int
        /// An estimate if the store is large.
        public var rows: Int64
        /// An estimate for this machine, from the rows and bytes that the unit reads and writes.
        public var time: Duration { .clamped(seconds: seconds) }
        package var seconds: Double
    }

    public struct EntityMappingPlan: Sendable, Hashable, Codable {
        public var name: String
        public var source: String
        public var destination: String
        public var executor: RowExecutor
        public var reason: String
        /// Nil if only the run can count them.
        public var rows: Int64?
        public var isEstimated: Bool
    }
}

/// The cause of a refused run's error: all refusals, the thrown one first.
public struct PlanRefusals: Error, Sendable {
    public var refusals: [FerryError]
}

/// A property whose values a migration computes anew, by functions that ``Loss`` does not count.
public struct Transformation: Sendable, Hashable, Codable {
    public var entity: String
    public var property: String
    /// The number of its values; nil if a large table was not counted.
    public var values: Int64?
}

/// Content of a store's rows that a migration does not carry over.
public struct Loss: Sendable, Hashable, Codable {
    public var entity: String
    /// Nil if whole objects are lost.
    public var property: String?
    /// The destination version of the step with the loss.
    public var version: String
    /// The place of that step in the chain of versions, from 1.
    public var step: Int
    /// The number of objects that lose it; nil in records of earlier tools that did not know it.
    public var rows: Int64?
    public var isEstimated: Bool
    /// Whether ``rows`` is the most that can be lost, of which only the run tells how many are.
    public var isAtMost: Bool { isUpperBound ?? false }
    /// ``isAtMost``; absent in records of earlier tools.
    var isUpperBound: Bool?
    /// The place of the pass over the rows that loses it, if only that pass shows the number.
    var pass: Int?
    /// The reason for the loss.
    public var because: String
    /// The lost content and its amount, as a sentence.
    public var text: String
    /// Whether only a filter leaves objects out; the run then counts them.
    var isByFilter: Bool
    /// The entity mappings that leave objects out; absent in records of earlier tools.
    var filters: [String]?
    /// Whether only the run shows which objects become one; absent in records of earlier tools.
    var isByMerging: Bool?
    /// ``isOrder``; absent in records of earlier tools.
    var isOfOrder: Bool?

    /// `Entity.property`, or the entity's name, as in ``Configuration/Losses/exceptions``.
    public var name: String { property.map { "\(entity).\($0)" } ?? entity }

    /// Whether a relationship keeps its objects and loses only their order.
    public var isOrder: Bool { isOfOrder ?? false }
    /// Whether ``rows`` counts values, of which one object may lose several; otherwise it counts objects.
    package var isCountedInValues: Bool { property != nil && !isOrder }

    init(_ loss: ChainLoss) {
        entity = loss.entity
        property = loss.property
        version = loss.version
        step = loss.step
        rows = loss.count.number
        isEstimated = loss.count.isEstimated
        isUpperBound = loss.count.isUpperBound ? true : nil
        pass = loss.count.isUpperBound ? loss.pass : nil
        because = loss.because
        text = loss.sentence
        isByFilter = loss.isByFilter
        if case .filtered(let mappings) = loss.cause { filters = mappings }
        isByMerging = loss.merging?.isOwn == true && loss.count.isUpperBound ? true : nil
        isOfOrder = loss.isOfOrder ? true : nil
    }

    /// The loss with an exact number.
    func counted(_ rows: Int64) -> Loss {
        var loss = self
        (loss.rows, loss.isEstimated, loss.isUpperBound) = (rows, false, nil)
        loss.text =
            "\(isOrder ? "The order of " : "")\(name) is lost, \(isOrder ? "of " : "")"
            + "\(rows.counting(isCountedInValues ? "value" : "object")): \(because)."
        return loss
    }

    /// The loss with the run's count, if only one entity mapping carries the entity.
    ///
    /// The objects of a later pass are not those of the store.
    func counted(by mappings: [MigrationReport.EntityMappingReport]) -> Loss {
        guard isAtMost, pass == 1 else { return self }
        let own = mappings.filter { $0.source == entity && $0.step == 1 }
        if isByMerging == true, !own.isEmpty, own.allSatisfy({ $0.merged == 0 && $0.isEstimated != true }) {
            return counted(0)
        }
        // Other mappings may read the same objects for a part of them.
        let filtering = own.filter { filters?.contains($0.name) == true }
        guard isByFilter, let dropping = (filtering.isEmpty ? own : filtering).first,
            (filtering.isEmpty ? own : filtering).count == 1, dropping.isEstimated != true
        else { return self }
        return counted(dropping.dropped)
    }
}

/// The statements that a step of a migration will run, in their order.
///
/// Statements that only certain rows need (a value that is too large for its chunk, a damaged row), and those that a
/// migration policy runs itself, are missing.
public struct PlannedStatements: Sendable, Hashable, Codable {
    /// Counted from 1.
    public var step: Int
    public var from: String
    public var to: String
    /// Whether the statements run on the store itself, in one transaction; otherwise `main` is the new store, `source`
    /// the old one, and `scratch` holds associations and lookups.
    public var isInPlace: Bool
    public var groups: [Group]

    /// Statements with one purpose.
    public struct Group: Sendable, Hashable, Codable {
        /// Nil for the statements that create the tables of a new store.
        public var phase: Phase?
        /// The reason why a step in place runs them.
        public var reason: String?
        public var statements: [Statement]
    }

    public struct Statement: Sendable, Hashable, Codable {
        /// How a statement runs.
        public enum Form: String, Sendable, Hashable, Codable {
            /// In one unit.
            case once
            /// In chunks, between the keys `:low` and `:high`.
            case chunks
            /// It reads rows for Swift, or writes a row that comes from there.
            case rows
        }

        public var sql: String
        public var form: Form
        /// Named parameters with a value from the models and mapping models; chunks set `:low`, `:high` and `:last`.
        public var parameters: [Parameter]
    }

    public struct Parameter: Sendable, Hashable, Codable {
        public var name: String
        /// The value as an SQL literal.
        public var value: String
    }
}
