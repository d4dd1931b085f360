internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Two steps, one after the other, as one.
///
/// The one step leaves the same rows as the two. Whatever cannot be shown to do so, from the models and the mappings
/// alone, is an obstacle: the steps then stay two.
struct Composition {
    let first: StepPlan
    let second: StepPlan
    /// Every entity mapping with the two that it stands for, in order.
    private(set) var pairs: [Pair] = []

    struct Pair {
        var first: ResolvedEntityMapping
        var second: ResolvedEntityMapping
        /// The position in the composed step.
        var position: Int
        var name: String
    }

    /// The version that is passed without stopping.
    var middle: ModelVersion { first.resolved.destination }
    var sourceModel: ManagedObjectModel { first.resolved.source.model }
    var middleModel: ManagedObjectModel { middle.model }
    var destinationModel: ManagedObjectModel { second.resolved.destination.model }

    /// - Throws: ``CompositionObstacle``.
    static func compose(_ first: StepPlan, _ second: StepPlan) throws(CompositionObstacle) -> StepPlan {
        var composition = Composition(first: first, second: second)
        try composition.checkMappings()
        composition.pairMappings()
        try composition.checkRoots()
        return try composition.step()
    }

    var isInferred: Bool { first.isInferred && second.isInferred }

    private func step() throws(CompositionObstacle) -> StepPlan {
        let relationships = try relationships()
        var mappings: [ResolvedEntityMapping] = []
        for pair in pairs {
            var mapping = ResolvedEntityMapping(
                position: pair.position, mappingModel: 0, name: pair.name, source: pair.first.source,
                destination: pair.second.destination, filter: try filter(of: pair), iteration: nil, unique: [],
                attributes: try attributes(of: pair), relationships: relationships[pair.position] ?? [],
                keepsPrimaryKey: true)
            mapping.middle = pair.first.middle + [pair.second.source] + pair.second.middle
            mappings.append(mapping)
        }
        var resolved = ResolvedStep(
            source: first.resolved.source, destination: second.resolved.destination, mappingModels: [mappingModel],
            entityMappings: mappings,
            warnings: first.resolved.warnings + second.resolved.warnings)
        resolved.middle = first.resolved.middle + [middle] + second.resolved.middle
        var step = StepPlan(mode: .copy, resolved: resolved, partitions: [])
        step.parts = (first.parts.isEmpty ? [first] : first.parts) + (second.parts.isEmpty ? [second] : second.parts)
        try addChecks(to: &step)
        return step
    }

    /// Stands for all mapping models of the parts, which say nothing more than their resolved mappings.
    private var mappingModel: MappingModel {
        var model = MappingModel(
            name: "composed", path: "composed mapping", sourceVersion: first.resolved.source.qualifiedName,
            destinationVersion: second.resolved.destination.qualifiedName, entityMappings: [])
        model.isInferred = isInferred
        return model
    }

    // MARK: Which mappings follow each other

    /// Objects that get new keys, or are chosen by their number, are told apart by what one step alone knows.
    private func checkMappings() throws(CompositionObstacle) {
        for step in [first, second] {
            if let obstacle = step.resolved.obstacleToKeepingKeys { throw CompositionObstacle(obstacle) }
        }
    }

    /// In the order of the first step's mappings: what is met first there is met first here.
    private mutating func pairMappings() {
        for before in first.resolved.entityMappings {
            for after in second.resolved.entityMappings where after.source == before.destination {
                pairs.append(Pair(first: before, second: after, position: pairs.count, name: ""))
            }
        }
        let names = pairs.map(name)
        for index in pairs.indices {
            // Several source entities of one mapping need names of their own.
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

    /// A table hands its highest key to the table that continues it, also when nothing but new entities goes there.
    private func checkRoots() throws(CompositionObstacle) {
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
                throw CompositionObstacle("the table of \(root) continues one of which it has no objects")
            }
        }
    }

    // MARK: Filters

    private func filter(of pair: Pair) throws(CompositionObstacle) -> Predicate? {
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
    /// Why not each object that the step carries over is one object with the same key afterwards; nil where it is.
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

/// Why two steps cannot become one; in words that follow "because".
struct CompositionObstacle: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The steps of a chain, as many of them as one as can be.
struct ChainComposition {
    private(set) var steps: [StepPlan] = []

    /// Takes one step for each edge of the chain; of those that are not to be composed only the modes are those of the
    /// composed chain.
    init(_ singles: [StepPlan], executor: ExecutorChoice, composes: Bool) {
        var groups: [[StepPlan]] = []
        var rest = singles[...]
        var reason: String?
        while var first = rest.first {
            first.isApartBecause = reason ?? first.isApartBecause
            let group = Group(first, rest.dropFirst(), executor)
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
        if part.isInferred, part.needsCopyBecause == nil { part.needsCopyBecause = step.needsCopyBecause }
        return part
    }
}

/// The longest run of steps, from one on, that can be one.
private struct Group {
    private(set) var step: StepPlan
    private(set) var count = 1
    /// Why the next step is not among them; nil at the end of the chain.
    private(set) var end: String?

    init(_ first: StepPlan, _ others: ArraySlice<StepPlan>, _ executor: ExecutorChoice) {
        step = first
        // What can be done in place in the end could be so all the way, as a rule: then one look is enough.
        if takeWhole(others, executor) { return }
        (step, count, end) = (first, 1, nil)
        for other in others {
            do throws(CompositionObstacle) {
                let next = try Self.composed(step, other, executor)
                if let obstacle = next.obstacleToOnePass() { throw obstacle }
                take(next)
            } catch {
                end = error.reason
                return
            }
        }
    }

    /// Composes as far as the mappings allow and looks only then whether that can be done in place.
    ///
    /// When it cannot, which of the steps are to blame is still to be found out.
    private mutating func takeWhole(_ others: ArraySlice<StepPlan>, _ executor: ExecutorChoice) -> Bool {
        for other in others {
            let next: StepPlan
            do throws(CompositionObstacle) {
                next = try Self.composed(step, other, executor)
            } catch {
                end = error.reason
                break
            }
            // From here on it is a copy; what is done in place by parts is not copied as one.
            if next.needsCopyBecause != nil, step.obstacleToOnePass() != nil { return false }
            take(next)
        }
        return step.obstacleToOnePass() == nil
    }

    private mutating func take(_ next: StepPlan) {
        step = next
        count += 1
    }

    /// What makes a copy of one step makes a copy of the whole.
    private static func composed(
        _ first: StepPlan, _ second: StepPlan, _ executor: ExecutorChoice
    ) throws(CompositionObstacle) -> StepPlan {
        var step = try Composition.compose(first, second)
        step.versions = first.versions + second.versions.dropFirst()
        step.isApartBecause = first.isApartBecause
        do throws(FerryError) {
            try step.split(executor)
        } catch {
            throw CompositionObstacle(error.message)
        }
        if let copied = [first, second].first(where: { $0.needsCopyBecause != nil || !$0.isInferred }) {
            step.needsCopyBecause = copied.needsCopyBecause ?? "a mapping model on the way makes objects anew"
        }
        return step
    }
}

extension StepPlan {
    /// Why steps that can be done in place one by one cannot be so in one pass.
    fileprivate func obstacleToOnePass() -> CompositionObstacle? {
        var layouts = AssumedLayouts()
        guard !parts.isEmpty, isInferred, needsCopyBecause == nil, let reason = obstacleInPlace(&layouts) else {
            return nil
        }
        return CompositionObstacle("in one pass it could not be done in place (\(reason))")
    }
}
