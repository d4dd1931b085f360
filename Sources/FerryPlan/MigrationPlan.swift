package import FerryBase
package import FerryMapping
internal import FerryModel
internal import FerryStore

/// What a migration will do, before anything is touched.
package struct MigrationPlan: Sendable {
    /// Names of the versions from the store's to the target.
    package var chain: [String]
    package var steps: [StepPlan]
    /// Why the plan cannot run; empty when it can.
    package var refusals: [FerryError]
    package var warnings: [FerryWarning]
    /// Why the chain is the one that it is.
    package var explanation = ChainExplanation()
    /// What the store's rows hold and nothing holds afterwards.
    package var losses: [ChainLoss] = []
    /// Steps that cannot be taken, which are not among ``steps``: their places in the chain, from 0.
    package var refusedSteps: [Int] = []
    /// Where ways were compared.
    package var comparisons: [RouteComparison] = []
    /// What the store's rows must tell before the way is settled: it is counted where the store is at hand, and planned again.
    package var questions: [StoredProperty] { comparisons.flatMap(\.questions) }

    /// With the losses first.
    package var allWarnings: [FerryWarning] {
        losses.map {
            FerryWarning(.loss, $0.sentence, about: .init(entity: $0.entity, property: $0.property))
        } + warnings
    }

    package init(chain: [String], steps: [StepPlan], refusals: [FerryError] = [], warnings: [FerryWarning] = []) {
        self.chain = chain
        self.steps = steps
        self.refusals = refusals
        self.warnings = warnings
    }

    /// Whether each step's result must be a file of its own, to be looked at between steps.
    package var isStaged = false

    /// Whether no step needs a copy, so that the store itself can be taken through all of them in one transaction.
    package var isInPlace: Bool { !isStaged && !steps.isEmpty && steps.allSatisfy { $0.mode == .inPlace } }
}

/// One step of a plan: from one model version to the next.
package struct StepPlan: Sendable {
    package enum Mode: String, Sendable { case inPlace, copy, none }

    package var mode: Mode
    /// Why an inferred step is not taken in place; nil when it is, or when it was not inferred.
    package var needsCopyBecause: String?
    package var resolved: ResolvedStep
    package var partitions: [PartitionPlan]
    /// Mandatory attributes that get no value: harmless only while their sources have no rows.
    package var needsRowCheck: [MappingResolution.RowCheck] = []
    /// Entities that become abstract: harmless only while they have no rows.
    package var needsEmptySource: [MappingResolution.EmptyCheck] = []
    /// New uniqueness constraints: harmless only while no rows break them.
    package var needsUniqueValues: [MappingResolution.UniquenessCheck] = []
    /// Attributes that a version on the way needs a value of.
    package var needsValues: [ValueCheck] = []
    /// The steps that this one does in one pass, in order; empty when it is one by itself.
    package var parts: [StepPlan] = []
    /// Names of the versions from the step's first to its last.
    package var versions: [String] = []
    /// Why the step is not one with the step before it; nil where that was not asked.
    package var isApartBecause: String?
    /// Rows of each entity that the step reads, where they are known for certain beforehand.
    package var sourceRows: [String: Int64]?

    /// Whether the step follows from the two models, without a mapping model of the user's.
    package var isInferred: Bool { resolved.mappingModels.allSatisfy(\.isInferred) }

    /// Names of the mapping models, each once, in order.
    package var mappingModelNames: [String] {
        guard !parts.isEmpty else { return resolved.mappingModels.map(\.name) }
        var names: [String] = []
        for name in parts.flatMap(\.mappingModelNames) where !names.contains(name) { names.append(name) }
        return names
    }
}

/// Entity mappings that run together; partitions run one after another.
package struct PartitionPlan: Sendable {
    package var entityMappings: [EntityMappingPlan]
}

package struct EntityMappingPlan: Sendable {
    package enum Executor: String, Sendable { case set, row }

    package var mapping: ResolvedEntityMapping
    package var executor: Executor
    /// Why this executor.
    package var reason: String
    /// Source rows as far as known before the run.
    package var rows: Int64
    /// Whether `rows` is an estimate.
    package var isEstimated: Bool
    /// Whether `rows` says anything: after a filter, a policy or a step that cannot be taken it does not.
    package var isKnown = true
}

extension StepPlan {
    /// The same step where each entity mapping of unknown or no rows reads a number of them.
    package func assuming(rows: Int64) -> StepPlan {
        var step = self
        step.forEachMapping { if $0.rows <= 0 { ($0.rows, $0.isKnown) = (rows, true) } }
        return step
    }

    /// Leaves out the source objects that lack a value which they must have, as a `where` would.
    package mutating func leaveOutDamagedRows() {
        resolved = resolved.droppingEmptyMandatoryValues()
        let mappings = resolved.entityMappings
        forEachMapping { $0.mapping = mappings[$0.mapping.position] }
    }

    /// Changes what is planned for each entity mapping.
    mutating func forEachMapping(_ change: (inout EntityMappingPlan) -> Void) {
        for partition in partitions.indices {
            for place in partitions[partition].entityMappings.indices {
                change(&partitions[partition].entityMappings[place])
            }
        }
    }
}

extension ResolvedStep {
    /// New one-to-one relationships in the place of to-many ones: of several objects one is kept.
    var oneToOneWarnings: [FerryWarning] {
        // Comparing whole models takes long, and one-to-one relationships are few.
        var known: ModelMatching?
        var warnings: [FerryWarning] = []
        for entity in destination.model.sortedEntityNames {
            for relationship in destination.model.entities[entity]?.relationships ?? [] where !relationship.isToMany {
                guard let inverse = destination.model.inverse(of: relationship), !inverse.isToMany,
                    let other = destination.model.inverseKey(of: relationship)?.entity,
                    // Once for both sides.
                    (entity, relationship.name) <= (other, inverse.name),
                    isCarriedOver(relationship.name, of: entity) || isCarriedOver(inverse.name, of: other)
                else { continue }
                let matching = known ?? ModelMatching(source: source.model, destination: destination.model)
                known = matching
                let old = [
                    matching.sourceRelationship(of: relationship.name, in: entity),
                    matching.sourceRelationship(of: inverse.name, in: other),
                ].compactMap { $0 }
                let wasToMany = old.contains { $0.isToMany || source.model.inverse(of: $0)?.isToMany == true }
                guard wasToMany else { continue }
                warnings.append(
                    FerryWarning(
                        .oneToOne,
                        "\(entity).\(relationship.name) and \(other).\(inverse.name) are one to one in "
                            + "\(destination.name), but were not in \(source.name): of several objects only one stays "
                            + "related.",
                        about: .init(entity: entity, property: relationship.name)))
            }
        }
        return warnings
    }

    /// Whether some object's relationship is what it was in the source.
    private func isCarriedOver(_ name: String, of entity: String) -> Bool {
        let isInferred = mappingModels.allSatisfy(\.isInferred)
        return entityMappings.contains { mapping in
            destination.model.isKind(mapping.destination, of: entity)
                && mapping.relationships.contains { $0.name == name && ($0.isAutomatic || isInferred) }
        }
    }
}
