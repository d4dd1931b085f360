internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension PlanReport {
    /// The plan in the words of the library.
    init(_ plan: MigrationPlan, store: String, rows: Int64) {
        self.init(store: URL(fileURLWithPath: store), chain: plan.chain)
        self.rows = rows
        refusals = plan.refusals
        warnings = plan.allWarnings
        links = plan.explanation.edges.map {
            Link(from: $0.from, to: $0.to, isInferred: $0.isInferred, reason: $0.reason)
        }
        notes = plan.explanation.notes
        losses = plan.losses.map(Loss.init)
        for step in plan.steps {
            steps.append(
                Step(
                    from: step.versions.first ?? step.resolved.source.name,
                    to: step.versions.last ?? step.resolved.destination.name, versions: step.versions,
                    isApartBecause: step.isApartBecause, mode: Self.mode(step.mode),
                    reason: Self.reason(step, in: plan), mappingModels: step.mappingModelNames,
                    partitions: step.partitions.map { $0.entityMappings.map(Self.words) }))
        }
    }

    /// Puts the steps that cannot be taken in their places, so that each step keeps its number.
    mutating func insertRefusedSteps(of plan: MigrationPlan) {
        for index in plan.refusedSteps.sorted() where index <= steps.count && index + 1 < chain.count {
            let versions = Array(chain[index...index + 1])
            steps.insert(
                Step(
                    from: versions[0], to: versions[1], versions: versions, isApartBecause: nil, mode: .refused,
                    reason: "it cannot be taken, for the reasons below", mappingModels: [], partitions: []), at: index)
        }
    }

    private static func mode(_ mode: StepPlan.Mode) -> Step.Mode {
        switch mode {
        case .none: .nothing
        case .copy: .copy
        case .inPlace: .inPlace
        }
    }

    private static func reason(_ step: StepPlan, in plan: MigrationPlan) -> String {
        switch step.mode {
        case .none: "nothing is to be done"
        case .copy:
            step.needsCopyBecause
                ?? (step.mappingModelNames.count == 1
                    ? "its mapping model makes objects anew" : "its mapping models make objects anew")
        case .inPlace:
            plan.isInPlace
                ? "it is inferred, and every object keeps its row"
                : plan.isStaged
                    ? "it is inferred, and every object keeps its row; a hook is to see its result, so it runs in the run folder"
                    : "it is inferred, and every object keeps its row; another step needs a copy, so it runs in the run folder"
        }
    }

    private static func words(_ plan: FerryPlan.EntityMappingPlan) -> EntityMappingPlan {
        EntityMappingPlan(
            name: plan.mapping.name, source: plan.mapping.source, destination: plan.mapping.destination,
            executor: RowExecutor(rawValue: plan.executor.rawValue), reason: plan.reason,
            rows: plan.isKnown ? plan.rows : nil,
            isEstimated: plan.isEstimated)
    }
}
