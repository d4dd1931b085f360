package import FerryBase
internal import FerryExpression
package import FerryMapping
package import FerryModel
internal import FerryStore

/// Finds the chain of steps from a store's version to a target and plans each step.
///
/// Does no I/O: the caller passes row counts.
package struct Planner: Sendable {
    package var catalog: ModelCatalog
    package var mappingModels: [MappingModel]
    package var policies: KnownPolicies
    package var executor: ExecutorChoice
    /// The reason why steps that could run in place are copies; fixed by a run's first call.
    package var copying: Copying
    /// Whether steps are composed; otherwise each runs alone, in the mode of the composed chain.
    package var composes: Bool
    package var route = ChainRoute()
    /// Mapping models beside the models that were not given: a chain that they would be part of is refused.
    package var mappingModelsBeside: [MappingModel] = []
    /// The comparisons of earlier plans with the same models and mapping models.
    package var comparisons = RouteComparisons([:])
    /// The source's entities whose rows were counted, though those of others are estimated.
    package var countedEntities: Set<String> = []
    /// Warnings from reading the models and mapping models.
    package var inputWarnings: [FerryWarning] = []

    package struct Copying: Sendable, Hashable, Codable {
        /// For every step; in words that follow "because".
        package var allBecause: String?
        /// For the steps of mapping models; those that are inferred run in place, or are refused.
        package var mappedBecause: String?
        /// For every table of a copy step.
        package var wholeBecause: String?

        package init(allBecause: String? = nil, mappedBecause: String? = nil, wholeBecause: String? = nil) {
            (self.allBecause, self.mappedBecause, self.wholeBecause) = (allBecause, mappedBecause, wholeBecause)
        }

        /// Those of steps that were asked for as copies.
        init(_ executor: ExecutorChoice) {
            switch executor {
            case .automatic: self.init()
            case .row: self.init(allBecause: "the row executor was requested")
            case .set: self.init(mappedBecause: "the set executor was requested")
            }
        }

        package func reason(for step: StepPlan) -> String? { allBecause ?? (step.isInferred ? nil : mappedBecause) }
    }

    package init(
        catalog: ModelCatalog, mappingModels: [MappingModel], policies: KnownPolicies = KnownPolicies(),
        executor: ExecutorChoice = .automatic, composes: Bool = true
    ) {
        self.catalog = catalog
        self.mappingModels = mappingModels
        self.policies = policies
        self.executor = executor
        copying = Copying(executor)
        self.composes = composes
    }

    /// Plans the chain to a target; `rows` has the rows of each source entity, without its subentities.
    ///
    /// `presence` says of properties on which the route depends how many values the store has, if it is known.
    package func plan(
        from source: ModelVersion, to target: ModelVersion, rows: [String: Int64], areRowsEstimated: Bool,
        presence: @escaping ([StoredProperty]) -> [StoredProperty: Int64] = { _ in [:] }
    ) -> MigrationPlan {
        WorkThread.withStack {
            planHere(from: source, to: target, rows: rows, areRowsEstimated: areRowsEstimated, presence)
        }
    }

    private func planHere(
        from source: ModelVersion, to target: ModelVersion, rows: [String: Int64], areRowsEstimated: Bool,
        _ presence: @escaping ([StoredProperty]) -> [StoredProperty: Int64]
    ) -> MigrationPlan {
        guard source.hashes != target.hashes else {
            var plan = MigrationPlan(chain: [catalog.displayName(of: target)], steps: [])
            do throws(FerryError) {
                plan.warnings = try MappingEdge.warningsOfEqualVersions(in: mappingModels, catalog)
            } catch {
                // A mapping model of unknown versions does no harm to a plan without steps.
            }
            return plan
        }
        do throws(FerryError) {
            var graph = try VersionGraph(
                catalog: catalog, mappingModels: mappingModels, from: source, to: target, policies: policies,
                route: route, compared: comparisons, presence: presence)
            if let refusal = VersionGraph.refusal(
                ofMappingModels: mappingModelsBeside, besides: mappingModels, catalog: catalog, from: source,
                to: target,
                route: route)
            {
                throw refusal
            }
            let edges = try graph.path()
            var plan = MigrationPlan(chain: graph.names(of: edges), steps: [])
            (plan.links, plan.notes) = (graph.links(of: edges), graph.notes(on: edges))
            for (index, edge) in edges.enumerated() {
                var (step, problems) = planStep(edge)
                step?.versions = Array(plan.chain[index...index + 1])
                if let step { plan.steps.append(step) } else { plan.refusedSteps.append(index) }
                plan.refusals += problems
            }
            if plan.steps.count == edges.count {
                let ledger = Ledger(plan.steps.map(\.resolved), versions: Array(plan.chain.dropFirst()))
                plan.losses = ledger.losses(of: rows, areEstimated: areRowsEstimated)
                plan.transformed = ledger.transformed()
            }
            plan.warnings =
                try inputWarnings + MappingEdge.warningsOfEqualVersions(in: mappingModels, catalog)
                + plan.steps.flatMap(\.resolved.warnings) + graph.warningsOfUnused(edges)
                + StoreLayout.leftOutIndexes(of: edges.last?.destination.model ?? target.model).map {
                    FerryWarning(.indexLeftOut, $0.sentence, about: .init(entity: $0.entity, object: $0.name))
                }
            let count = plan.steps.count
            let obstacle = { (step: StepPlan) in copying.reason(for: step) ?? step.obstacleInPlace() }
            if plan.refusals.isEmpty {
                plan.steps = ChainComposition(plan.steps, composes: composes, obstacle: obstacle).steps
            } else {
                for index in plan.steps.indices { plan.steps[index].needsCopyBecause = obstacle(plan.steps[index]) }
            }
            if plan.steps.count < count {
                plan.losses.countWithFirstPass(
                    Ledger(plan.steps.map(\.resolved), versions: plan.steps.map(\.resolved.destination.name))
                        .losses(of: rows, areEstimated: areRowsEstimated))
            }
            addRows(rows, areEstimated: areRowsEstimated, to: &plan)
            findKeptParts(of: &plan)
            return plan
        } catch {
            let names = [catalog.displayName(of: source), catalog.displayName(of: target)]
            return MigrationPlan(chain: names, steps: [], refusals: [error])
        }
    }

    /// Gives a plan other counts of the store's rows, which change neither its steps nor their modes.
    package func count(
        _ rows: [String: Int64], areEstimated: Bool, in plan: inout MigrationPlan
    ) {
        plan.losses = plan.losses.compactMap { $0.counted(by: rows, areEstimated: areEstimated) }
        addRows(rows, areEstimated: areEstimated, to: &plan)
    }

    /// Finds the tables of copy steps that can stay where they are.
    private func findKeptParts(of plan: inout MigrationPlan) {
        for index in plan.steps.indices where plan.steps[index].mode == .copy {
            let step = plan.steps[index]
            if let reason = copying.reason(for: step) ?? copying.wholeBecause {
                plan.steps[index].fillsAllBecause = reason
                continue
            }
            let (source, destination): (StoreLayout, StoreLayout)
            do throws(FerryError) {
                (source, destination) = try step.resolved.assumedLayouts()
            } catch {
                // The names of a store's own join tables are in the store, or the run is refused for them.
                plan.steps[index].fillsAllBecause = "the layout of one of the two versions is not known"
                continue
            }
            if let reason = KeptPart.obstacle(source: source, destination: destination) {
                plan.steps[index].fillsAllBecause = reason
                continue
            }
            plan.steps[index].keptPart = KeptPart(step.resolved, source: source, destination: destination)
        }
    }

    private func addRows(_ rows: [String: Int64], areEstimated: Bool, to plan: inout MigrationPlan) {
        var known: [String: Int64]? = rows
        for index in plan.steps.indices {
            // After a step that cannot be planned, rows are unknown.
            if !plan.refusals.isEmpty, plan.steps[index].versions.first != plan.chain.first { known = nil }
            plan.steps[index].rows = known.map {
                SourceRows($0, areEstimated: areEstimated, counted: index == 0 ? countedEntities : [])
            }
            plan.steps[index].scans = plan.steps[index].resolved.scans.map { scan in
                (scan, known.flatMap(scan.comparisons))
            }
            known = known.flatMap { Self.rows(after: plan.steps[index].resolved, from: $0) }
        }
    }

    /// The rows of each entity after a step; nil if only the run can tell.
    private static func rows(after step: ResolvedStep, from rows: [String: Int64]) -> [String: Int64]? {
        guard !step.hasPolicies else { return nil }
        var left: [String: Int64] = [:]
        for mapping in step.entityMappings {
            guard mapping.filter == nil, mapping.iteration == nil, mapping.unique.isEmpty else { return nil }
            left[mapping.destination, default: 0] += rows[mapping.source] ?? 0
        }
        return left
    }

    private func planStep(_ edge: VersionGraph.Edge) -> (StepPlan?, [FerryError]) {
        let resolution = edge.resolved(policies)
        guard resolution.problems.isEmpty else { return (nil, resolution.problems) }
        let derivations = CarriedDerivations(step: resolution.step).refusals()
        guard derivations.isEmpty else { return (nil, derivations) }
        var step = StepPlan(
            resolved: resolution.step, partitions: [], needsRowCheck: resolution.needsRowCheck,
            needsEmptySource: resolution.needsEmptySource, needsUniqueValues: resolution.needsUniqueValues)
        do throws(FerryError) {
            try executor.check(step.resolved)
            try step.split()
        } catch {
            return (nil, [error])
        }
        return (step, [])
    }
}

extension StepPlan {
    /// Splits the entity mappings into partitions.
    ///
    /// - Throws: ``FerryError`` `.badMapping` for impossible partitions, `.unsupported` for a mapping that no statement
    ///   can run.
    mutating func split() throws(FerryError) {
        partitions = try Partitioning(resolved).partitions()
        for mapping in entityMappings where mapping.policy == nil {
            try mapping.checkDepth(in: resolved)
            try mapping.checkOrders(in: resolved)
        }
    }

    /// The reason in the models why the step cannot be done in place, or nil.
    fileprivate func obstacleInPlace() -> String? {
        do throws(FerryError) {
            let (source, destination) = try resolved.assumedLayouts()
            do throws(StepObstacle) {
                _ = try InPlaceBuilder(
                    checking: resolved, source: source, schema: InPlaceSchema(of: source), destination: destination)
                return nil
            } catch {
                return error.reason
            }
        } catch {
            return error.message
        }
    }
}

extension ResolvedStep {
    /// The layouts that Core Data gives both versions.
    func assumedLayouts() throws(FerryError) -> (source: StoreLayout, destination: StoreLayout) {
        (
            try StoreLayout.canonical(for: source.model, foundTriggers: .assumed),
            try StoreLayout.canonical(for: destination.model, foundTriggers: .assumed)
        )
    }
}

extension ExecutorChoice {
    /// Refuses a policy where only SQL may run.
    ///
    /// - Throws: ``FerryError`` `.unsupported`.
    fileprivate func check(_ step: ResolvedStep) throws(FerryError) {
        guard self == .set, let mapping = step.entityMappings.first(where: { $0.policy != nil }),
            let policy = mapping.policy
        else { return }
        throw FerryError(
            .unsupported,
            "Entity mapping \(mapping.name) has the migration policy \(policy), which SQL cannot run.",
            remedy: "Let Ferry choose the executor, or replace the policy with expressions.",
            place: .init(entityMapping: mapping.name))
    }
}
