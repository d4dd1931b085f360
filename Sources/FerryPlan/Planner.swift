internal import FerryBase
package import FerryMapping
package import FerryModel
internal import FerryStore

/// Finds the chain of steps from a store's version to a target and plans each step.
///
/// Does no I/O: row counts come in as values.
package struct Planner: Sendable {
    package var catalog: ModelCatalog
    package var mappingModels: [MappingModel]
    /// The migration policies that are registered in code.
    package var policies: KnownPolicies
    package var executor: ExecutorChoice

    package init(
        catalog: ModelCatalog, mappingModels: [MappingModel], policies: KnownPolicies = KnownPolicies(),
        executor: ExecutorChoice = .auto
    ) {
        self.catalog = catalog
        self.mappingModels = mappingModels
        self.policies = policies
        self.executor = executor
    }

    /// Plans the way from one version to another.
    ///
    /// - Parameters:
    ///   - source: The store's version.
    ///   - target: The version to end at.
    ///   - rows: Source entity name (exactly that entity, without subentities) to its rows in the store.
    ///   - areRowsEstimated: Whether `rows` are estimates.
    /// - Returns: The plan; what keeps it from running stands in its refusals.
    package func plan(
        from source: ModelVersion, to target: ModelVersion, rows: [String: Int64], areRowsEstimated: Bool
    ) -> MigrationPlan {
        guard source.hashes != target.hashes else {
            return MigrationPlan(chain: [catalog.displayName(of: target)], steps: [])
        }
        do throws(FerryError) {
            var graph = try VersionGraph(catalog: catalog, mappingModels: mappingModels, from: source, to: target)
            let edges = try graph.path(from: source, to: target)
            var plan = MigrationPlan(chain: graph.names(of: edges, from: source, to: target), steps: [])
            var known: [String: Int64]? = rows
            for edge in edges {
                let (step, problems) = planStep(
                    edge, rows: known ?? [:], areEstimated: areRowsEstimated || known == nil)
                if var step {
                    step.sourceRows = areRowsEstimated ? nil : known
                    known = known.flatMap { Self.rows(after: step.resolved, from: $0) }
                    plan.steps.append(step)
                    plan.warnings += step.resolved.warnings
                } else {
                    known = nil
                }
                plan.refusals += problems
            }
            chooseModes(of: &plan)
            return plan
        } catch {
            let names = [catalog.displayName(of: source), catalog.displayName(of: target)]
            return MigrationPlan(chain: names, steps: [], refusals: [error])
        }
    }

    /// In place where every step can be: the copy that one step needs takes the others along.
    private func chooseModes(of plan: inout MigrationPlan) {
        for index in plan.steps.indices where plan.steps[index].isInferred {
            plan.steps[index].needsCopyBecause =
                executor == .row
                ? "the row executor was asked for" : Self.obstacle(to: plan.steps[index].resolved)
        }
        let isWhole = plan.steps.allSatisfy { $0.isInferred && $0.needsCopyBecause == nil }
        for index in plan.steps.indices {
            if isWhole {
                plan.steps[index].mode = .inPlace
            } else if plan.steps[index].isInferred, plan.steps[index].needsCopyBecause == nil {
                plan.steps[index].needsCopyBecause = "another step of the chain needs a copy"
            }
        }
    }

    private static func obstacle(to step: ResolvedStep) -> String? {
        do throws(FerryError) {
            let source = try StoreLayout.canonical(for: step.source.model)
            let destination = try StoreLayout.canonical(for: step.destination.model)
            _ = try plan(step, source, destination)
            return nil
        } catch {
            return error.message
        }
    }

    private static func plan(
        _ step: ResolvedStep, _ source: StoreLayout, _ destination: StoreLayout
    ) throws(FerryError) -> InPlacePlan {
        do throws(InPlaceObstacle) {
            return try InPlacePlan(step, source: source, schema: InPlaceSchema(of: source), destination: destination)
        } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .needsCopy(let reason): throw FerryError(.unsupported, reason)
            }
        }
    }

    /// The rows that a step leaves of each entity; nil when only its run can tell.
    private static func rows(after step: ResolvedStep, from rows: [String: Int64]) -> [String: Int64]? {
        var left: [String: Int64] = [:]
        for mapping in step.entityMappings {
            guard mapping.filter == nil, mapping.iteration == nil, mapping.unique.isEmpty else { return nil }
            left[mapping.destination, default: 0] += rows[mapping.source] ?? 0
        }
        return left
    }

    private func planStep(
        _ edge: VersionGraph.Edge, rows: [String: Int64], areEstimated: Bool
    ) -> (StepPlan?, [FerryError]) {
        let resolution = MappingResolution.resolve(
            source: edge.source, destination: edge.destination, mappingModels: edge.mappingModels,
            policies: policies)
        guard resolution.problems.isEmpty else { return (nil, resolution.problems) }
        let resolved = resolution.step
        do throws(FerryError) {
            let partitions = try Partitioning(resolved).partitions().map { mappings throws(FerryError) in
                PartitionPlan(
                    entityMappings: try mappings.map { mapping throws(FerryError) in
                        let (executor, reason) = try executor.executor(for: mapping)
                        return EntityMappingPlan(
                            mapping: mapping, executor: executor, reason: reason, rows: rows[mapping.source] ?? 0,
                            isEstimated: areEstimated)
                    })
            }
            let step = StepPlan(
                mode: .copy, resolved: resolved, partitions: partitions, needsRowCheck: resolution.needsRowCheck,
                needsEmptySource: resolution.needsEmptySource, needsUniqueValues: resolution.needsUniqueValues)
            return (step, [])
        } catch {
            return (nil, [error])
        }
    }
}
