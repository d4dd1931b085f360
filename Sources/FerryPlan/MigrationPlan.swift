package import FerryBase
package import FerryMapping
internal import FerryModel
internal import FerryStore

/// The plan of a migration: steps, refusals, warnings and losses.
package struct MigrationPlan: Sendable {
    /// Names of the versions from the store's to the target.
    package var chain: [String]
    package var steps: [StepPlan]
    /// The reasons why the plan cannot run.
    package var refusals: [FerryError]
    package var warnings: [FerryWarning] = []
    /// The reason for each part of the chain.
    package var links: [ChainLink] = []
    /// Notes on the order of the versions and on rejected chains.
    package var notes: [String] = []
    package var losses: [ChainLoss] = []
    /// The properties of the store whose values are computed anew.
    package var transformed: [StoredProperty] = []
    /// Places in the chain, from 0, of the steps that cannot be planned and are missing in ``steps``.
    package var refusedSteps: [Int] = []
    /// The step that reads the store; nil if there is none, or it is refused, so that later steps read unknown stores.
    package var firstStep: StepPlan? { refusedSteps.contains(0) ? nil : steps.first }

    /// All warnings, the losses first.
    package var allWarnings: [FerryWarning] {
        losses.map {
            FerryWarning(.loss, $0.sentence, about: .init(entity: $0.entity, property: $0.property))
        } + warnings
    }

    package init(chain: [String], steps: [StepPlan], refusals: [FerryError] = []) {
        self.chain = chain
        self.steps = steps
        self.refusals = refusals
    }

    /// The reason why steps in place run on a file of the run folder even if none is a copy; nil if they need not.
    package var runsInFolderBecause: String?

    /// Whether the store has anything that no model explains, so that the new stores of all steps begin as their sources.
    package var keepsSurroundings = false {
        didSet { if keepsSurroundings { keepSurroundings() } }
    }

    /// Lets copy steps fill all tables.
    package mutating func fillAllTables(because reason: String) {
        for index in steps.indices where steps[index].keptPart?.isEmpty == false {
            (steps[index].keptPart, steps[index].fillsAllBecause) = (nil, reason)
        }
        if keepsSurroundings { keepSurroundings() }
    }

    private mutating func keepSurroundings() {
        for index in steps.indices where !steps[index].keepsTables {
            steps[index].keptPart = KeptPart(ofNoTableOf: steps[index].resolved)
        }
    }

    /// Whether no step is a copy.
    package var isInPlace: Bool { !steps.isEmpty && steps.allSatisfy { $0.mode == .inPlace } }

    /// Whether one transaction can take the store itself through all steps.
    package var mayChangeStore: Bool { isInPlace && runsInFolderBecause == nil }
}

/// The reason why a step needs a copy, or why two steps cannot be composed; in words that follow "because".
package struct StepObstacle: Error {
    package let reason: String

    init(_ reason: String) { self.reason = reason }
}

package struct StepPlan: Sendable {
    package enum Mode: String, Sendable { case inPlace, copy }

    /// Beside a copy, a step in place runs in the run folder, never on the store.
    package var mode: Mode { needsCopyBecause == nil ? .inPlace : .copy }
    /// The reason why a step is a copy; nil for steps in place.
    package var needsCopyBecause: String?
    package var resolved: ResolvedStep
    /// The tables of a copy step that stay where they are; nil if all are filled.
    package var keptPart: KeptPart?
    /// The reason why a copy step fills tables that could stay.
    package var fillsAllBecause: String?
    /// The positions of entity mappings that run together; partitions run one after another.
    package var partitions: [[Int]]
    /// Nil after a filter, a policy or an unplanned step, which let only the run count them.
    package var rows: SourceRows?
    /// Mandatory attributes without a value: allowed only while their sources have no rows.
    package var needsRowCheck: [MappingResolution.RowCheck] = []
    /// Entities that become abstract: allowed only while they have no rows.
    package var needsEmptySource: [MappingResolution.EmptyCheck] = []
    /// New uniqueness constraints: allowed only while no rows break them.
    package var needsUniqueValues: [MappingResolution.UniquenessCheck] = []
    /// The steps that this step composes, in order; empty for a single step.
    package var parts: [ResolvedStep] = []
    /// Names of the versions from the step's first to its last.
    package var versions: [String] = []
    /// The reason why the step is not composed with the step before it; nil if this was not tried.
    package var isApartBecause: String?
    /// The parts that compare objects of one entity with each object of another one, and the number of comparisons; nil
    /// if it is unknown before the run.
    package var scans: [(scan: MemberScan, comparisons: Int64?)] = []
    /// The rows of each source entity, if all of them are exactly known before the run.
    package var sourceRows: [String: Int64]? { rows?.areEstimated == false ? rows?.counts : nil }

    /// The entity mappings, in the order in which they run.
    package var entityMappings: [ResolvedEntityMapping] { partitions.joined().map { resolved.entityMappings[$0] } }

    /// Whether no mapping model of the user's is part of the step.
    package var isInferred: Bool { resolved.mappingModels.allSatisfy(\.isInferred) }

    /// The step itself, or those that it composes.
    package var singles: [ResolvedStep] { parts.isEmpty ? [resolved] : parts }

    /// Names of the mapping models, of a composed step each once, in order.
    package var mappingModelNames: [String] {
        let names = singles.flatMap(\.mappingModels).map(\.name)
        return parts.isEmpty ? names : names.distinct
    }
}

/// The rows of each source entity of a step, without its subentities.
package struct SourceRows: Sendable {
    package let counts: [String: Int64]
    package let areEstimated: Bool
    /// The entities whose rows were counted, though those of others are estimated.
    let counted: Set<String>

    package init(_ counts: [String: Int64], areEstimated: Bool = false, counted: Set<String> = []) {
        (self.counts, self.areEstimated, self.counted) = (counts, areEstimated, counted)
    }

    package func count(of entity: String) -> Int64 { counts[entity] ?? 0 }
    package func isEstimated(_ entity: String) -> Bool { areEstimated && !counted.contains(entity) }
}

extension ResolvedEntityMapping {
    package var executor: RowExecutor { policy == nil ? .set : .row }

    /// The reason for the executor.
    package var executorReason: String {
        policy.map { "the migration policy \($0) is code" } ?? "SQL computes every value"
    }
}

extension StepPlan {
    /// Leaves out source objects without a mandatory value, as a `where` would.
    package mutating func leaveOutDamagedRows() { resolved = resolved.droppingEmptyMandatoryValues() }
}
