internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Model versions as nodes, mapping models as edges; versions with equal hashes are one node.
///
/// Where no mapping model leads, an inferred mapping is an edge: straight between the ends of the way and those of the
/// mapping models, and between neighbours in version order. Whether one can be inferred is only found out where a way
/// would lead over it.
struct VersionGraph {
    struct Edge: VersionPair, Sendable {
        var source: ModelVersion { didSet { resolution = nil } }
        var destination: ModelVersion { didSet { resolution = nil } }
        var mappingModels: [MappingModel]
        /// What comparing ways has found out already: the same for every set of policies, as an inferred mapping has none.
        var resolution: MappingResolution?

        var isInferred: Bool { mappingModels.allSatisfy(\.isInferred) }

        func resolved(_ policies: KnownPolicies = KnownPolicies()) -> MappingResolution {
            resolution
                ?? MappingResolution.resolve(
                    source: source, destination: destination, mappingModels: mappingModels, policies: policies)
        }
    }

    /// Versions that no mapping model connects and a mapping may be inferred between.
    struct Inferable: VersionPair {
        var source: ModelVersion
        var destination: ModelVersion
        /// How many versions further the destination stands.
        var span: Int
        /// Why no mapping can be inferred; nil while that is not known, or when one can.
        var obstacles: [InferredMapping.Change]?
    }

    let catalog: ModelCatalog
    let route: ChainRoute
    let source: ModelVersion
    let target: ModelVersion
    private(set) var edges: [Edge] = []
    private(set) var inferable: [Inferable] = []
    /// What was compared on the way, for the explanation.
    var comparisons: [RouteComparison] = []
    /// Comparisons of an earlier graph of the same versions, by the names of ``RouteComparison/names``.
    let compared: [[String]: RouteComparison]
    /// What the store's rows hold of what comparing asks about; what is missing may be there.
    let values: [StoredProperty: Int64]

    /// Takes the mapping models as edges.
    ///
    /// A source version that is not in the catalog is a neighbour of the target. Throws when a mapping model names a
    /// version that is not there, or an ambiguous one.
    init(
        catalog: ModelCatalog, mappingModels: [MappingModel], from source: ModelVersion, to target: ModelVersion,
        route: ChainRoute = ChainRoute(), values: [StoredProperty: Int64] = [:],
        compared: [RouteComparison] = []
    ) throws(FerryError) {
        let catalog = catalog.ordered(along: mappingModels)
        self.catalog = catalog
        self.route = route
        self.values = values
        self.compared = Dictionary(compared.map { ($0.names, $0) }, uniquingKeysWith: { first, _ in first })
        self.source = source
        self.target = target
        for edge in try MappingEdge.all(of: mappingModels, in: catalog) {
            if let index = edges.firstIndex(where: { $0.leads(from: edge.source, to: edge.destination) }) {
                edges[index].mappingModels.append(edge.mappingModel)
            } else {
                edges.append(
                    Edge(source: edge.source, destination: edge.destination, mappingModels: [edge.mappingModel]))
            }
        }
        guard route.infers else { return }
        for (version, next) in zip(catalog.versions, catalog.versions.dropFirst()) { addInferable(version, next) }
        if node(source) < 0 { addInferable(source, target) }
        guard leadsBack else { return }
        for (version, next) in zip(catalog.versions, catalog.versions.dropFirst()) { addInferable(next, version) }
    }

    /// Whether the target stands before the source, and may.
    private var leadsBack: Bool {
        catalog.isBefore(target, source)
            && (route.allowsDowngrade || !catalog.isDowngrade(from: source, to: target))
    }

    /// Straight ways from a version, the target and both ends of each mapping model to the later ones of them.
    private mutating func addStraight(from start: ModelVersion) {
        guard route.infers else { return }
        var fixed: [ModelVersion] = []
        for version in [start, target] + edges.flatMap({ [$0.source, $0.destination] })
        where node(version) >= 0 && !fixed.contains(where: { $0.hashes == version.hashes }) {
            fixed.append(version)
        }
        for version in fixed {
            for other in fixed where leadsBack ? node(other) < node(version) : node(version) < node(other) {
                addInferable(version, other)
            }
        }
    }

    private mutating func addInferable(_ source: ModelVersion, _ destination: ModelVersion) {
        guard source.hashes != destination.hashes, explicitEdge(from: source, to: destination) == nil,
            !inferable.contains(where: { $0.leads(from: source, to: destination) })
        else { return }
        inferable.append(
            Inferable(
                source: named(source), destination: named(destination),
                span: node(source) < 0 ? 1 : nodes(from: source, to: destination).count - 1))
    }

    /// One version of each node from one to another, both included, in the direction of the way.
    func nodes(from source: ModelVersion, to destination: ModelVersion) -> [ModelVersion] {
        let (first, last) = (node(source), node(destination))
        let between = catalog.versions.indices.filter {
            min(first, last) <= $0 && $0 <= max(first, last) && node(catalog.versions[$0]) == $0
        }
        return (first > last ? between.reversed() : between).map { named(catalog.versions[$0]) }
    }

    func explicitEdge(from source: ModelVersion, to destination: ModelVersion) -> Edge? {
        edges.first { $0.leads(from: source, to: destination) }
    }

    /// Of several versions with equal hashes the one that was asked for, else the last.
    func named(_ version: ModelVersion) -> ModelVersion {
        if version.hashes == target.hashes { return target }
        if version.hashes == source.hashes { return source }
        return catalog.versions.last { $0.hashes == version.hashes } ?? version
    }

    // MARK: Ways

    /// The chain of edges from the source to the target that the route asks for.
    ///
    /// - Throws: ``FerryError`` `.backward` or `.unreachable`, which names the edge that is missing, and why it cannot
    ///   be inferred.
    mutating func path() throws(FerryError) -> [Edge] {
        if catalog.isDowngrade(from: source, to: target), !route.allowsDowngrade, isRelated { throw backward }
        var path: [Edge]
        switch route.choice {
        case .search: path = try searchedPath(from: source)
        case .list, .ask: path = try chosenPath()
        }
        // Whatever a mapping model calls a version with these hashes: the first is the store's, the last the one asked for.
        if !path.isEmpty {
            path[0].source = source
            path[path.count - 1].destination = target
        }
        return path
    }

    /// The chain that mapping models lead furthest along, with what they leave straight.
    ///
    /// Of equally long ones it is the first in the order of the mapping models. Where a straight way loses what the
    /// versions between keep, it goes over them.
    mutating func searchedPath(from start: ModelVersion) throws(FerryError) -> [Edge] {
        addStraight(from: start)
        while let hops = search(from: start, to: target) {
            guard let path = edges(along: hops) else { continue }
            var kept: [Edge] = []
            for edge in path { kept += try keepingMost(edge) }
            return kept
        }
        throw unreachable(from: start)
    }

    /// The names of the versions along a path.
    func names(of path: [Edge]) -> [String] {
        [catalog.displayName(of: source)] + path.map { catalog.displayName(of: $0.destination) }
    }

    /// A way over an edge, by its place among the edges or the inferable ones.
    enum Hop {
        case explicit(Int)
        case inferred(Int)
    }

    /// The edges of a way; nil when a mapping on it cannot be inferred, which is then known.
    private mutating func edges(along hops: [Hop]) -> [Edge]? {
        var path: [Edge] = []
        for hop in hops {
            switch hop {
            case .explicit(let index): path.append(edges[index])
            case .inferred(let index):
                let (edge, obstacles) = infer(inferable[index].source, inferable[index].destination)
                guard let edge else {
                    inferable[index].obstacles = obstacles
                    return nil
                }
                path.append(edge)
            }
        }
        return path
    }

    /// The edge that follows from two versions, or why there is none.
    ///
    /// Versions with equal hashes may have different renaming identifiers. On the way the one of them is passed that
    /// keeps most; at its end stands the one that was asked for.
    func infer(_ source: ModelVersion, _ destination: ModelVersion) -> (Edge?, obstacles: [InferredMapping.Change]) {
        let inferred = inferred(source, destination)
        guard destination.hashes != target.hashes, let edge = inferred.0 else { return inferred }
        return (keepingMore(than: edge)?.edge ?? edge, [])
    }

    /// The edge to another version with the hashes of an inferred edge's destination that loses least, with what it keeps;
    /// nil where none loses less.
    func keepingMore(than edge: Edge) -> (edge: Edge, kept: Set<StoredProperty>)? {
        let others = catalog.versions.filter {
            $0.hashes == edge.destination.hashes
                && catalog.displayName(of: $0) != catalog.displayName(of: edge.destination)
        }
        guard !others.isEmpty, let lost = losses(of: [edge]), !lost.isEmpty else { return nil }
        var best: (edge: Edge, lost: Set<StoredProperty>)?
        for other in others {
            guard let way = inferred(edge.source, other).0, let less = losses(of: [way]),
                less.isStrictSubset(of: best?.lost ?? lost)
            else { continue }
            best = (way, less)
        }
        return best.map { ($0.edge, lost.subtracting($0.lost)) }
    }

    private func inferred(_ source: ModelVersion, _ destination: ModelVersion) -> (
        Edge?, obstacles: [InferredMapping.Change]
    ) {
        let inferred = InferredMapping.infer(source: source, destination: destination)
        guard let mappingModel = inferred.mappingModel, carriesObjects(mappingModel) else {
            return (nil, inferred.obstacles)
        }
        return (Edge(source: source, destination: destination, mappingModels: [mappingModel]), [])
    }

    /// Versions without an entity in common are no successors of each other, whatever the order of their files.
    private func carriesObjects(_ mappingModel: MappingModel) -> Bool {
        mappingModel.entityMappings.contains { $0.source != nil && $0.destination != nil }
            || mappingModel.entityMappings.allSatisfy { $0.source == nil }
    }

    func search(from source: ModelVersion, to target: ModelVersion) -> [Hop]? {
        // Few versions and edges: a round over all of them per hop is quick enough.
        struct Way {
            var inferred = 0
            var hops: [Hop] = []
        }
        let open = inferable.indices.filter { inferable[$0].obstacles == nil }
        let ends =
            edges.indices.map { (hop: Hop.explicit($0), node(edges[$0].source), node(edges[$0].destination), 0) }
            + open.map {
                (
                    hop: .inferred($0), node(inferable[$0].source), node(inferable[$0].destination), inferable[$0].span
                )
            }
        var ways: [Int: Way] = [node(source): Way()]
        var isChanged = true
        while isChanged {
            isChanged = false
            for (hop, start, end, cost) in ends {
                guard let way = ways[start] else { continue }
                let (inferred, length) = (way.inferred + cost, way.hops.count + 1)
                if let known = ways[end], (known.inferred, known.hops.count) <= (inferred, length) { continue }
                ways[end] = Way(inferred: inferred, hops: way.hops + [hop])
                isChanged = true
            }
        }
        return ways[node(target)]?.hops
    }

    /// The place of the first version with these hashes; −1 for the store's own, which may be in no file.
    func node(_ version: ModelVersion) -> Int {
        catalog.versions.firstIndex { $0.hashes == version.hashes } ?? -1
    }
}
