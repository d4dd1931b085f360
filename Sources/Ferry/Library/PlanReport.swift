public import FerryBase

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a migration will do, before anything is touched.
public struct PlanReport: Sendable {
    public var store: URL
    /// Names of the versions from the store's to the target; one name when they are the same.
    public var chain: [String]
    public var steps: [Step]
    /// Source rows of the first step.
    public var rows: Int64
    /// Peak of additional disk space, by the folder that stands for a volume.
    public var peakDiskBytes: [String: Int64]
    /// What cannot be done; empty when the plan can run.
    public var refusals: [FerryError]
    public var warnings: [String]

    public var isUpToDate: Bool { steps.isEmpty && refusals.isEmpty }

    package init(store: URL, chain: [String]) {
        self.store = store
        self.chain = chain
        steps = []
        rows = 0
        peakDiskBytes = [:]
        refusals = []
        warnings = []
    }

    /// From one model version to the next one used.
    public struct Step: Sendable, Hashable {
        public var from: String
        public var to: String
        /// Names of all versions that the step passes in one go, `from` and `to` included.
        public var versions: [String]
        /// Why the step is not one with the step before it; nil for the first one.
        public var isApartBecause: String?
        public var mode: String
        public var mappingModels: [String]
        public var partitions: [[EntityMappingPlan]]
    }

    public struct EntityMappingPlan: Sendable, Hashable {
        public var name: String
        public var source: String
        public var destination: String
        public var executor: String
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
