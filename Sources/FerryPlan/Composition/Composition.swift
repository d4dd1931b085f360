internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Two steps, one after the other, as one step that leaves the same rows.
///
/// If the models and mappings alone do not prove equal rows, an obstacle is thrown and the steps stay two.
struct Composition {
    let first: StepPlan
    let second: StepPlan
    /// Every composed entity mapping with its two parts, in order.
    private(set) var pairs: [Pair] = []

    struct Pair {
        var first: ResolvedEntityMapping
        var second: ResolvedEntityMapping
        var position: Int
        var name: String
    }

    var middle: ModelVersion { first.resolved.destination }
    var sourceModel: ManagedObjectModel { first.resolved.source.model }
    var middleModel: ManagedObjectModel { middle.model }
    var destinationModel: ManagedObjectModel { second.resolved.destination.model }

    /// - Throws: ``StepObstacle``.
    static func compose(_ first: StepPlan, _ second: StepPlan) throws(StepObstacle) -> StepPlan {
        try first.resolved.checkThatKeysAreKept()
        try second.resolved.checkThatKeysAreKept()
        var composition = Composition(first: first, second: second)
        composition.pairMappings()
        try composition.checkRoots()
        return try composition.step()
    }

    var isInferred: Bool { first.isInferred && second.isInferred }

    private func step() throws(StepObstacle) -> StepPlan {
        let relationships = try relationships()
        var mappings: [ResolvedEntityMapping] = []
        for pair in pairs {
            mappings.append(
                ResolvedEntityMapping(
                    position: pair.position, mappingModel: 0, name: pair.name, source: pair.first.source,
                    destination: pair.second.destination, filter: try filter(of: pair), iteration: nil, unique: [],
                    attributes: try attributes(of: pair), relationships: relationships[pair.position] ?? [],
                    keepsPrimaryKey: true, middle: pair.first.middle + [pair.second.source] + pair.second.middle))
        }
        let resolved = ResolvedStep(
            source: first.resolved.source, destination: second.resolved.destination, mappingModels: [mappingModel],
            entityMappings: mappings, warnings: first.resolved.warnings + second.resolved.warnings,
            middle: first.resolved.middle + [middle] + second.resolved.middle)
        var step = StepPlan(resolved: resolved, partitions: [])
        step.parts = first.singles + second.singles
        step.versions = first.versions + second.versions.dropFirst()
        try addChecks(to: &step)
        do throws(FerryError) {
            try step.split()
        } catch {
            throw StepObstacle(error.message)
        }
        return step
    }

    /// A mapping model in place of those of the parts, which add nothing to their resolved mappings.
    private var mappingModel: MappingModel {
        var model = MappingModel(
            name: "composed", path: "composed mapping", sourceVersion: first.resolved.source.qualifiedName,
            destinationVersion: second.resolved.destination.qualifiedName, entityMappings: [])
        model.isInferred = isInferred
        return model
    }

    /// In the order of the first step's mappings, which decides the order of rows.
    private mutating func pairMappings() {
        for before in first.resolved.entityMappings {
            for after in second.resolved.entityMappings where after.source == before.destination {
                pairs.append(Pair(first: before, second: after, position: pairs.count, name: ""))
            }
        }
        let names = pairs.map(name)
        for index in pairs.indices {
            // Several source entities of one mapping need distinct names.
            let isShared = names.filter { $0 == names[index] }.count > 1
            pairs[index].name = isShared ? "\(names[index])/\(pairs[index].first.source)" : names[index]
        }
    }

    private func name(of pair: Pair) -> String {
        guard isInferred else { return pair.second.name }
        return EntityMapping.inferredName(
            from: pair.first.source, of: first.resolved.source, to: pair.second.destination,
            of: second.resolved.destination)
    }

    /// A table passes its highest key to the table that continues it, even if that one stores only new entities.
    private func checkRoots() throws(StepObstacle) {
        for root in Set(second.resolved.entityMappings.map { destinationModel.root(of: $0.destination) }).sorted() {
            let tables = Set(
                second.resolved.entityMappings.filter { destinationModel.root(of: $0.destination) == root }
                    .map { middleModel.root(of: $0.source) })
            let stepwise = Set(
                first.resolved.entityMappings.filter { tables.contains(middleModel.root(of: $0.destination)) }
                    .map { sourceModel.root(of: $0.source) })
            let composed = Set(
                pairs.filter { destinationModel.root(of: $0.second.destination) == root }
                    .map { sourceModel.root(of: $0.first.source) })
            guard stepwise == composed else {
                throw StepObstacle("the table of \(root) continues one that has no objects for it")
            }
        }
    }

    private func filter(of pair: Pair) throws(StepObstacle) -> Predicate? {
        guard let filter = pair.second.filter else { return pair.first.filter }
        let substituted = try substitution(pair).predicate(filter)
        guard let before = pair.first.filter else { return substituted }
        return .and([before, substituted])
    }

    func substitution(_ pair: Pair) -> Substitution {
        Substitution(mapping: pair.first, source: sourceModel, middle: middleModel, version: middle.name)
    }
}

extension ResolvedStep {
    /// Refuses policies, new keys and several mappings of one source: each object becomes one with its key.
    func checkThatKeysAreKept() throws(StepObstacle) {
        var sources: Set<String> = []
        for mapping in entityMappings {
            if let policy = mapping.policy {
                throw StepObstacle("entity mapping \(mapping.name) has the migration policy \(policy)")
            }
            guard mapping.keepsPrimaryKey else {
                throw StepObstacle("the objects of entity mapping \(mapping.name) get new keys")
            }
            guard sources.insert(mapping.source).inserted else {
                throw StepObstacle("\(mapping.source) is the source of several entity mappings")
            }
        }
    }
}

/// The steps of a chain, composed as far as possible.
struct ChainComposition {
    private(set) var steps: [StepPlan] = []
    /// The reason why a step must be a copy; nil if it can be done in place.
    private let obstacle: (StepPlan) -> String?

    /// Takes one step for each edge; without `composes` the steps only get the modes of the composed chain.
    init(_ singles: [StepPlan], composes: Bool, obstacle: @escaping (StepPlan) -> String?) {
        self.obstacle = obstacle
        var rest = singles[...]
        var reason: String?
        while let first = rest.first {
            var (step, count, end) = longest(first, rest.dropFirst())
            step.isApartBecause = reason
            if composes {
                steps.append(step)
            } else {
                for var part in rest.prefix(count) {
                    part.needsCopyBecause = obstacle(part) ?? step.needsCopyBecause
                    steps.append(part)
                }
            }
            rest = rest.dropFirst(count)
            reason = end
        }
    }

    /// The steps of a run of steps, composed; their number, and why the next one does not belong to them.
    private typealias Group = (step: StepPlan, count: Int, end: String?)

    private func longest(_ first: StepPlan, _ others: ArraySlice<StepPlan>) -> Group {
        var group = composed(first, others)
        // One step that must be a copy makes the composed step a copy.
        for part in [first] + others.prefix(group.count - 1) where group.step.needsCopyBecause == nil {
            group.step.needsCopyBecause = obstacle(part)
        }
        let isDecided = group.step.needsCopyBecause != nil || group.count == 1
        if isDecided || obstacle(group.step) == nil { return group }
        // Steps that can be done in place one by one are not copied as one.
        return composed(first, others) { step throws(StepObstacle) in
            if let reason = obstacle(step) {
                throw StepObstacle("in one pass it could not be done in place (\(reason))")
            }
        }
    }

    /// The longest run of steps, beginning with a given one, of which each composed part passes a check.
    private func composed(
        _ first: StepPlan, _ others: ArraySlice<StepPlan>, check: (StepPlan) throws(StepObstacle) -> Void = { _ in }
    ) -> Group {
        var group: Group = (first, 1, nil)
        do throws(StepObstacle) {
            for other in others {
                let step = try Composition.compose(group.step, other)
                try check(step)
                group = (step, group.count + 1, nil)
            }
        } catch {
            group.end = error.reason
        }
        return group
    }
}
