public import FerryBase
internal import FerryPlan
public import Foundation

/// What a migration will do, before anything is touched.
public struct PlanReport: Sendable, Codable {
    public var store: URL
    /// Names of the versions from the store's to the target; one name when they are the same.
    public var chain: [String]
    public var steps: [Step] = []
    /// Source rows of the first step.
    public var rows: Int64 = 0
    /// Peak of additional disk space, by the folder that stands for a volume.
    public var peakDiskBytes: [String: Int64] = [:]
    /// What cannot be divided and takes longest; nil when there is nothing to do, or something stands in the way.
    public var longestUnit: LongestUnit?
    /// What cannot be done; empty when the plan can run.
    public var refusals: [FerryError] = []
    public var warnings: [FerryWarning] = []
    /// Why the chain is the one that it is, version by version.
    public var links: [Link] = []
    /// What the chain was preferred over, and what the order of versions is.
    public var notes: [String] = []
    /// What the store's rows hold and nothing holds afterwards; the first of the warnings say the same.
    public var losses: [Loss] = []

    public var isUpToDate: Bool { steps.isEmpty && refusals.isEmpty }

    /// From one model version to the next one used.
    public struct Step: Sendable, Hashable, Codable {
        /// How the step is to run; there may be more in a later version.
        #if hasAttribute(nonexhaustive)
            @nonexhaustive
        #endif
        public enum Mode: String, Sendable, Hashable, Codable {
            /// It makes a new store.
            case copy
            /// It changes a store within itself.
            case inPlace
            /// Nothing is to be done.
            case nothing = "none"
            /// It cannot be taken.
            case refused
        }

        public var from: String
        public var to: String
        /// Names of all versions that the step passes in one go, `from` and `to` included.
        public var versions: [String]
        /// Why the step is not one with the step before it; nil for the first one.
        public var isApartBecause: String?
        public var mode: Mode
        /// Why in this mode.
        public var reason: String
        public var mappingModels: [String]
        public var partitions: [[EntityMappingPlan]]
        /// Bytes beside the new store, at most: associations, lookups, what is sorted and what verification looks up.
        public var scratchBytes: Int64 = 0
    }

    /// One version to the next.
    public struct Link: Sendable, Hashable, Codable {
        public var from: String
        public var to: String
        public var isInferred: Bool
        public var reason: String
    }

    /// A piece of work that is done at once or not at all: a budget can be overrun by as much.
    public struct LongestUnit: Sendable, Hashable, Codable {
        /// What it is; there may be more in a later version.
        public struct Kind: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }
            public var description: String { rawValue }

            /// The transaction of a step in place.
            public static let transaction = Self(rawValue: "transaction")
            public static let index = Self(rawValue: "index")
            /// The table of a many-to-many relationship.
            public static let joinTable = Self(rawValue: "joinTable")
            public static let chunk = Self(rawValue: "chunk")
        }

        public var kind: Kind
        /// The store, the index, the table or the entity mapping.
        public var name: String
        /// Counted from 1.
        public var step: Int
        /// Estimated where the store is large.
        public var rows: Int64
        /// By a rule of thumb; only its order of magnitude counts.
        public var time: Duration { .clamped(seconds: seconds) }
        package var seconds: Double
    }

    public struct EntityMappingPlan: Sendable, Hashable, Codable {
        public var name: String
        public var source: String
        public var destination: String
        public var executor: RowExecutor
        public var reason: String
        /// Nil where only the run can know.
        public var rows: Int64?
        public var isEstimated: Bool
    }
}

/// The cause of a refused run's error: all refusals, the thrown one first.
public struct PlanRefusals: Error, Sendable {
    public var refusals: [FerryError]
}

/// Something that a store's rows hold and that a migration does not take along.
public struct Loss: Sendable, Hashable, Codable {
    public var entity: String
    /// Nil when whole objects go.
    public var property: String?
    /// The version that the losing step leads to.
    public var version: String
    /// The place of that step in the chain of versions, from 1.
    public var step: Int
    /// Objects that lose it; nil where that is not known beforehand.
    public var rows: Int64?
    public var isEstimated: Bool
    /// Why it goes.
    public var because: String
    /// What and how much, as a sentence.
    public var text: String
    /// Whether only a filter leaves objects out: then the run counts them.
    var isByFilter: Bool
    /// ``isOrder``; absent in records of earlier tools.
    var isOfOrder: Bool?

    /// `Entity.property`, or the entity's name: what ``Configuration/allowedLosses`` takes.
    public var name: String { property.map { "\(entity).\($0)" } ?? entity }

    /// Whether a relationship keeps its objects, and only their order goes.
    public var isOrder: Bool { isOfOrder ?? false }
    /// Whether ``rows`` counts values, of which an object may lose several; else it counts objects.
    package var isCountedInValues: Bool { property != nil && !isOrder }

    init(_ loss: ChainLoss) {
        entity = loss.entity
        property = loss.property
        version = loss.version
        step = loss.step
        rows = loss.count.number
        isEstimated = loss.count.isEstimated
        because = loss.because
        text = loss.sentence
        isByFilter = loss.cause == .filtered
        isOfOrder = loss.isOfOrder ? true : nil
    }

    /// The same with what the run counted, where one entity mapping alone carries the entity.
    func counted(by mappings: [MigrationReport.EntityMappingReport]) -> Loss {
        let own = mappings.filter { $0.source == entity && $0.step == step }
        guard isByFilter, own.count == 1, own[0].isEstimated != true else { return self }
        var loss = self
        loss.rows = own[0].dropped
        loss.isEstimated = false
        return loss
    }
}

/// The statements that a step of a migration will run, in their order.
///
/// What only rows ask for (a value that is too large for its chunk, a row that is damaged, what a migration policy does
/// by itself) is not among them.
public struct PlannedStatements: Sendable, Hashable, Codable {
    /// Counted from 1.
    public var step: Int
    public var from: String
    public var to: String
    /// Whether they run on the store itself, in one transaction; else `main` is the new store, `source` the old one, and
    /// `scratch` holds associations and lookups.
    public var isInPlace: Bool
    public var groups: [Group]

    /// Statements that serve one purpose.
    public struct Group: Sendable, Hashable, Codable {
        /// Nil for what makes the tables of a new store.
        public var phase: Phase?
        /// Why a step in place runs them.
        public var reason: String?
        public var statements: [Statement]
    }

    public struct Statement: Sendable, Hashable, Codable {
        public var sql: String
        /// Named parameters that the models and mapping models give a value; chunks give `:low`, `:high` and `:last`.
        public var parameters: [Parameter]
    }

    public struct Parameter: Sendable, Hashable, Codable {
        public var name: String
        /// As SQL writes it.
        public var value: String
    }
}
