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
        var composition = Composition(first: first, second: second)
        try composition.checkMappings()
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
        try addChecks(to: &step)
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

    /// Refuses steps with policies, new keys or several mappings of one source.
    private func checkMappings() throws(StepObstacle) {
        for step in [first, second] {
            if let obstacle = step.resolved.obstacleToKeepingKeys { throw StepObstacle(obstacle) }
        }
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
    /// The reason why an object is not carried over as one object with the same key, or nil.
    var obstacleToKeepingKeys: String? {
        var sources: Set<String> = []
        for mapping in entityMappings {
            if let policy = mapping.policy {
                return "entity mapping \(mapping.name) has the migration policy \(policy)"
            }
            guard mapping.keepsPrimaryKey else {
                return "the objects of entity mapping \(mapping.name) get new keys"
            }
            guard sources.insert(mapping.source).inserted else {
                return "\(mapping.source) is the source of several entity mappings"
            }
        }
        return nil
    }
}

/// The steps of a chain, composed as far as possible.
struct ChainComposition {
    private(set) var steps: [StepPlan] = []

    /// Takes one step for each edge; without `composes` the steps only get the modes of the composed chain.
    init(_ singles: [StepPlan], composes: Bool) {
        var groups: [[StepPlan]] = []
        var rest = singles[...]
        var reason: String?
        while var first = rest.first {
            first.isApartBecause = reason ?? first.isApartBecause
            let group = Group(first, rest.dropFirst())
            steps.append(group.step)
            groups.append(Array(rest.prefix(group.count)))
            rest = rest.dropFirst(group.count)
            reason = group.end
        }
        guard !composes else { return }
        steps = zip(steps, groups).flatMap { step, group in group.map { Self.part($0, of: step) } }
    }

    private static func part(_ part: StepPlan, of step: StepPlan) -> StepPlan {
        var part = part
        if part.needsCopyBecause == nil { part.needsCopyBecause = step.needsCopyBecause }
        return part
    }
}

/// The longest run of steps, beginning with a given one, that can be composed.
private struct Group {
    private(set) var step: StepPlan
    private(set) var count = 1
    /// The reason why the next step does not belong to the group; nil at the end of the chain.
    private(set) var end: String?

    init(_ first: StepPlan, _ others: ArraySlice<StepPlan>) {
        step = first
        // If the whole group can be done in place, one check is enough; else each step is checked.
        if take(others, checksEach: false) { return }
        (step, count, end) = (first, 1, nil)
        _ = take(others, checksEach: true)
    }

    /// Composes as far as the mappings allow; returns false if the result could not be done in place, which is checked
    /// for each step or at the end.
    private mutating func take(_ others: ArraySlice<StepPlan>, checksEach: Bool) -> Bool {
        do throws(StepObstacle) {
            for other in others {
                let next = try Self.composed(step, other)
                if checksEach, let obstacle = next.obstacleToOnePass() { throw obstacle }
                // Here the group becomes a copy; steps that can only be done in place one by one are not copied as one.
                if !checksEach, next.needsCopyBecause != nil, step.obstacleToOnePass() != nil { return false }
                (step, count) = (next, count + 1)
            }
        } catch {
            end = error.reason
        }
        return checksEach || step.obstacleToOnePass() == nil
    }

    /// One step that must be a copy makes the composed step a copy.
    private static func composed(_ first: StepPlan, _ second: StepPlan) throws(StepObstacle) -> StepPlan {
        var step = try Composition.compose(first, second)
        step.versions = first.versions + second.versions.dropFirst()
        step.isApartBecause = first.isApartBecause
        do throws(FerryError) {
            try step.split()
        } catch {
            throw StepObstacle(error.message)
        }
        step.needsCopyBecause = first.needsCopyBecause ?? second.needsCopyBecause
        return step
    }
}

extension StepPlan {
    /// The reason why steps that can be done in place one by one cannot be so in one pass, or nil.
    fileprivate func obstacleToOnePass() -> StepObstacle? {
        var layouts = AssumedLayouts()
        guard !parts.isEmpty, needsCopyBecause == nil, let reason = obstacleInPlace(&layouts) else {
            return nil
        }
        return StepObstacle("in one pass it could not be done in place (\(reason))")
    }
}
