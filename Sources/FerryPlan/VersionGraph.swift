internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Model versions as nodes, mapping models as edges; versions with equal hashes are one node.
///
/// Between neighbours in version order that no mapping model connects, an inferred mapping is an edge. Whether one can
/// be inferred is only found out where a way would lead over it.
struct VersionGraph {
    struct Edge {
        var source: ModelVersion
        var destination: ModelVersion
        var mappingModels: [MappingModel]

        var isInferred: Bool { mappingModels.allSatisfy(\.isInferred) }
    }

    /// Neighbours that no mapping model connects.
    struct Neighbours {
        var source: ModelVersion
        var destination: ModelVersion
        /// Why no mapping can be inferred; nil while that is not known, or when one can.
        var obstacles: [InferredMapping.Change]?
    }

    let catalog: ModelCatalog
    let route: ChainRoute
    let source: ModelVersion
    let target: ModelVersion
    private(set) var edges: [Edge] = []
    private(set) var neighbours: [Neighbours] = []

    /// Takes the mapping models as edges.
    ///
    /// A source version that is not in the catalog is a neighbour of the target. Throws when a mapping model names a
    /// version that is not there, or an ambiguous one.
    init(
        catalog: ModelCatalog, mappingModels: [MappingModel], from source: ModelVersion, to target: ModelVersion,
        route: ChainRoute = ChainRoute()
    ) throws(FerryError) {
        let catalog = catalog.ordered(along: mappingModels)
        self.catalog = catalog
        self.route = route
        self.source = source
        self.target = target
        for link in try MappingLink.all(of: mappingModels, in: catalog) {
            if let index = edges.firstIndex(where: { Self.connects($0.source, $0.destination, link) }) {
                edges[index].mappingModels.append(link.mappingModel)
            } else {
                edges.append(
                    Edge(source: link.source, destination: link.destination, mappingModels: [link.mappingModel]))
            }
        }
        guard route.infers else { return }
        for (version, next) in zip(catalog.versions, catalog.versions.dropFirst()) { addNeighbours(version, next) }
        if !catalog.versions.contains(where: { $0.hashes == source.hashes }) { addNeighbours(source, target) }
        guard route.allowsDowngrade, catalog.isBefore(target, source) else { return }
        for (version, next) in zip(catalog.versions, catalog.versions.dropFirst()) { addNeighbours(next, version) }
    }

    private static func connects(_ source: ModelVersion, _ destination: ModelVersion, _ link: MappingLink) -> Bool {
        source.hashes == link.source.hashes && destination.hashes == link.destination.hashes
    }

    private mutating func addNeighbours(_ source: ModelVersion, _ destination: ModelVersion) {
        guard source.hashes != destination.hashes, explicitEdge(from: source, to: destination) == nil else { return }
        neighbours.append(Neighbours(source: named(source), destination: named(destination)))
    }

    func explicitEdge(from source: ModelVersion, to destination: ModelVersion) -> Edge? {
        edges.first { $0.source.hashes == source.hashes && $0.destination.hashes == destination.hashes }
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
        if catalog.isBefore(target, source), !route.allowsDowngrade, isRelated { throw backward }
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

    /// The chain with the fewest inferred edges, of these the shortest; of equally long ones the first in the order of
    /// the mapping models.
    mutating func searchedPath(from start: ModelVersion) throws(FerryError) -> [Edge] {
        while let hops = search(from: start, to: target) {
            if let path = edges(along: hops) { return path }
        }
        throw unreachable(from: start)
    }

    /// The names of the versions along a path.
    func names(of path: [Edge]) -> [String] {
        [catalog.displayName(of: source)] + path.map { catalog.displayName(of: $0.destination) }
    }

    /// A way over an edge, by its place among the edges or the neighbours.
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
                let (edge, obstacles) = infer(neighbours[index].source, neighbours[index].destination)
                guard let edge else {
                    neighbours[index].obstacles = obstacles
                    return nil
                }
                path.append(edge)
            }
        }
        return path
    }

    /// The edge that follows from two versions, or why there is none.
    func infer(_ source: ModelVersion, _ destination: ModelVersion) -> (Edge?, obstacles: [InferredMapping.Change]) {
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
        let open = neighbours.indices.filter { neighbours[$0].obstacles == nil }
        let ends =
            edges.indices.map { (hop: Hop.explicit($0), node(edges[$0].source), node(edges[$0].destination), 0) }
            + open.map { (hop: .inferred($0), node(neighbours[$0].source), node(neighbours[$0].destination), 1) }
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
