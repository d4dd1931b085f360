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

    private init(first: StepPlan, second: StepPlan) {
        self.first = first
        self.second = second
    }

    var isInferred: Bool { first.isInferred && second.isInferred }

    private func step() throws(CompositionObstacle) -> StepPlan {
        let relationships = try CompositionLinks(self).relationships()
        var mappings: [ResolvedEntityMapping] = []
        for pair in pairs {
            var mapping = ResolvedEntityMapping(
                position: pair.position, mappingModel: 0, name: pair.name, source: pair.first.source,
                destination: pair.second.destination, filter: try filter(of: pair), iteration: nil, unique: [],
                attributes: try attributes(of: pair), relationships: relationships[pair.position] ?? [],
                keepsPrimaryKey: true)
            mapping.middle = pair.first.middle + [middle(of: pair)] + pair.second.middle
            mappings.append(mapping)
        }
        var told: Set<FerryWarning> = []
        var resolved = ResolvedStep(
            source: first.resolved.source, destination: second.resolved.destination, mappingModels: [mappingModel],
            entityMappings: mappings,
            warnings: (first.resolved.warnings + second.resolved.warnings).filter { told.insert($0).inserted })
        resolved.middle = first.resolved.middle + [middle] + second.resolved.middle
        var step = StepPlan(mode: .copy, resolved: resolved, partitions: [])
        step.parts = (first.parts.isEmpty ? [first] : first.parts) + (second.parts.isEmpty ? [second] : second.parts)
        try addChecks(to: &step)
        return step
    }

    private func middle(of pair: Pair) -> String { pair.second.source }

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
            var sources: Set<String> = []
            for mapping in step.resolved.entityMappings {
                if let policy = mapping.policy {
                    throw CompositionObstacle("entity mapping \(mapping.name) has the migration policy \(policy)")
                }
                guard mapping.iteration == nil, mapping.unique.isEmpty, mapping.keepsPrimaryKey else {
                    throw CompositionObstacle("the objects of entity mapping \(mapping.name) get new keys")
                }
                guard sources.insert(mapping.source).inserted else {
                    throw CompositionObstacle("\(mapping.source) is the source of several entity mappings")
                }
            }
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
        let (old, new) = (pair.first.source, pair.second.destination)
        let hash = first.resolved.source.hashes[old]
        let isCopy = old == new && hash != nil && hash == second.resolved.destination.hashes[new]
        return "IEM_\(isCopy ? "Copy" : "Transform")_\(new)"
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

/// Why two steps cannot become one; in words that follow "because".
struct CompositionObstacle: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}
