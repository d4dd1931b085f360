internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Model versions as nodes, mapping models as edges; versions with equal hashes are one node.
///
/// Inferred mappings are edges between neighbours in version order, and directly between the ends of the chain and of
/// mapping models. A mapping is inferred only when a path needs it.
struct VersionGraph {
    struct Edge: VersionPair, Sendable {
        var source: ModelVersion { didSet { resolution = nil } }
        var destination: ModelVersion { didSet { resolution = nil } }
        var mappingModels: [MappingModel]
        /// The cached resolution of an inferred edge, which has no policies.
        var resolution: MappingResolution?

        var isInferred: Bool { mappingModels.allSatisfy(\.isInferred) }

        func resolved(_ policies: KnownPolicies = KnownPolicies()) -> MappingResolution {
            resolution
                ?? MappingResolution.resolve(
                    source: source, destination: destination, mappingModels: mappingModels, policies: policies)
        }
    }

    /// Two versions without a mapping model, between which a mapping may be inferred.
    struct Inferable: VersionPair {
        var source: ModelVersion
        var destination: ModelVersion
        /// The number of steps in version order between the two versions.
        var span: Int
        /// The changes that prevent inference; nil if inference succeeds or was not tried.
        var obstacles: [InferredMapping.Change]?
    }

    let catalog: ModelCatalog
    let route: ChainRoute
    let source: ModelVersion
    let target: ModelVersion
    private(set) var edges: [Edge] = []
    private(set) var inferable: [Inferable] = []
    /// The comparisons made so far, for the explanation.
    var comparisons: [RouteComparison] = []
    /// Reasons for a path that does not follow the order of versions, for the explanation.
    var routeNotes: [String] = []
    /// The policies that have code: what a mapping model with another one loses is unknown.
    let policies: KnownPolicies
    /// Comparisons of earlier graphs of the same versions.
    let compared: RouteComparisons
    /// Says how many values the store has of properties, if it is known.
    let presence: ([StoredProperty]) -> [StoredProperty: Int64]
    /// Counted values of stored properties; a property without a count may have values.
    var values: [StoredProperty: Int64] = [:]

    /// Creates the edges; a source version that is not in the catalog is a neighbour of the target.
    ///
    /// - Throws: ``FerryError`` `.noSuchVersion` or `.ambiguousVersion`, naming the mapping model.
    init(
        catalog: ModelCatalog, mappingModels: [MappingModel], from source: ModelVersion, to target: ModelVersion,
        policies: KnownPolicies = KnownPolicies(), route: ChainRoute = ChainRoute(),
        compared: RouteComparisons = RouteComparisons([:]),
        presence: @escaping ([StoredProperty]) -> [StoredProperty: Int64] = { _ in [:] }
    ) throws(FerryError) {
        let catalog = catalog.ordered(along: mappingModels)
        self.catalog = catalog
        (self.policies, self.route) = (policies, route)
        (self.compared, self.presence) = (compared, presence)
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

    /// Whether the target is older than the source, and may be.
    private var leadsBack: Bool {
        catalog.isBefore(target, source)
            && (route.allowsDowngrade || !catalog.isDowngrade(from: source, to: target))
    }

    /// Adds inferable edges between a version, the target and the ends of all mapping models, in the chain's direction.
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

    /// One version of each node between two versions, both included, in the chain's direction.
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

    /// Of the versions with equal hashes the target, the source, or the last one.
    func named(_ version: ModelVersion) -> ModelVersion {
        if version.hashes == target.hashes { return target }
        if version.hashes == source.hashes { return source }
        return catalog.versions.last { $0.hashes == version.hashes } ?? version
    }

    /// Returns the edges from the source to the target that the route chooses.
    ///
    /// - Throws: ``FerryError`` `.backward`, or `.unreachable` with the missing edge and why it cannot be inferred.
    mutating func path() throws(FerryError) -> [Edge] {
        if catalog.isDowngrade(from: source, to: target), !route.allowsDowngrade, isRelated { throw backward }
        var path: [Edge]
        switch route.choice {
        case .automatic: path = try searchedPath(from: source)
        case .versions, .next: path = try chosenPath()
        }
        // The store's version and the requested target replace versions with equal hashes at both ends.
        if !path.isEmpty {
            path[0].source = source
            path[path.count - 1].destination = target
        }
        return path
    }

    /// Returns the path that passes the fewest versions by inference, then the one of the fewest edges.
    ///
    /// Of equal paths the first in the order of mapping models wins. A direct inferred edge is replaced by the edges
    /// over the versions between if these keep properties that it loses.
    mutating func searchedPath(from start: ModelVersion) throws(FerryError) -> [Edge] {
        addStraight(from: start)
        while let hops = search(from: start, to: target) {
            guard let path = edges(along: hops) else { continue }
            var kept: [Edge] = []
            for edge in path { kept += try keepingMost(edge) }
            return try takingGiven(keepingMostByModels(kept, from: start) ?? kept, from: start)
        }
        if let path = keepingMostByModels(nil, from: start) { return try takingGiven(path, from: start) }
        throw unreachable(from: start)
    }

    func names(of path: [Edge]) -> [String] { names(of: [source] + path.map(\.destination)) }

    func words(_ path: [Edge]) -> String { names(of: path).joined(separator: " → ") }

    func title(of pair: some VersionPair) -> String {
        "\(catalog.displayName(of: pair.source)) → \(catalog.displayName(of: pair.destination))"
    }

    /// The names of a path's versions: of several with equal hashes, one that stands in sequence, if there is one.
    func names(of versions: [ModelVersion]) -> [String] {
        let places = versions.map { version in catalog.versions.firstIndex { $0.path == version.path } }
        var names = versions.map { catalog.displayName(of: $0) }
        var next = places.last ?? nil
        for index in versions.indices.dropFirst().dropLast().reversed() {
            let before = places[index - 1]
            guard let end = next, let start = before, let place = places[index] else {
                next = places[index]
                continue
            }
            let range = min(start, end)...max(start, end)
            var found = place
            if !range.contains(place) {
                found = range.last { catalog.versions[$0].hashes == versions[index].hashes } ?? place
                names[index] = catalog.displayName(of: catalog.versions[found])
            }
            next = found
        }
        return names
    }

    /// An edge by its index in ``edges`` or ``inferable``.
    enum Hop {
        case explicit(Int)
        case inferred(Int)
    }

    /// Returns the edges of a path, or nil if a mapping cannot be inferred; its obstacles are then recorded.
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

    /// Infers the edge between two versions, or returns the obstacles.
    ///
    /// Of versions with equal hashes the one that keeps most is used between steps, the requested one at the end.
    func infer(_ source: ModelVersion, _ destination: ModelVersion) -> (Edge?, obstacles: [InferredMapping.Change]) {
        let inferred = inferred(source, destination)
        guard destination.hashes != target.hashes, let edge = inferred.0 else { return inferred }
        return (keepingMore(than: edge)?.edge ?? edge, [])
    }

    /// Returns the edge to a version with equal hashes that loses least, with the properties that only it keeps, or
    /// nil.
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
        guard let mappingModel = inferred.mappingModel else { return (nil, inferred.obstacles) }
        return (Edge(source: source, destination: destination, mappingModels: [mappingModel]), [])
    }

    func search(from source: ModelVersion, to target: ModelVersion) -> [Hop]? {
        // The search visits all edges for each hop: versions and edges are few.
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

    /// The index of the first version with equal hashes; −1 for a store's version that is in no file.
    func node(_ version: ModelVersion) -> Int {
        catalog.versions.firstIndex { $0.hashes == version.hashes } ?? -1
    }
}
