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
    }

    /// Neighbours that no mapping model connects.
    private struct Neighbours {
        var source: ModelVersion
        var destination: ModelVersion
        /// Why no mapping can be inferred; nil while that is not known, or when one can.
        var obstacles: [InferredMapping.Change]?
    }

    private let catalog: ModelCatalog
    private var edges: [Edge] = []
    private var neighbours: [Neighbours] = []

    /// Takes the mapping models as edges.
    ///
    /// A source version that is not in the catalog is a neighbour of the target. Throws when a mapping model names a
    /// version that is not there, or an ambiguous one.
    init(
        catalog: ModelCatalog, mappingModels: [MappingModel], from source: ModelVersion, to target: ModelVersion
    ) throws(FerryError) {
        self.catalog = catalog
        for mappingModel in VersionGraph.withoutExtended(mappingModels) {
            let source = try VersionGraph.version(mappingModel.sourceVersion, of: mappingModel, in: catalog)
            let destination = try VersionGraph.version(mappingModel.destinationVersion, of: mappingModel, in: catalog)
            if let index = edges.firstIndex(where: {
                $0.source.hashes == source.hashes && $0.destination.hashes == destination.hashes
            }) {
                edges[index].mappingModels.append(mappingModel)
            } else {
                edges.append(Edge(source: source, destination: destination, mappingModels: [mappingModel]))
            }
        }
        for (version, next) in zip(catalog.versions, catalog.versions.dropFirst()) { addNeighbours(version, next) }
        if !catalog.versions.contains(where: { $0.hashes == source.hashes }) { addNeighbours(source, target) }
    }

    private mutating func addNeighbours(_ source: ModelVersion, _ destination: ModelVersion) {
        guard source.hashes != destination.hashes,
            !edges.contains(where: {
                $0.source.hashes == source.hashes && $0.destination.hashes == destination.hashes
            })
        else { return }
        neighbours.append(Neighbours(source: source, destination: destination))
    }

    /// A mapping model that another one extends is given twice; only the extending one counts.
    private static func withoutExtended(_ mappingModels: [MappingModel]) -> [MappingModel] {
        let extended = Set(mappingModels.flatMap(\.extendedPaths))
        return mappingModels.filter { !extended.contains($0.path) }
    }

    private static func version(
        _ name: String, of mappingModel: MappingModel, in catalog: ModelCatalog
    ) throws(FerryError) -> ModelVersion {
        do throws(FerryError) {
            return try catalog.version(named: name)
        } catch {
            var error = error
            error.message = "Mapping model \(mappingModel.name): \(error.message)"
            throw error
        }
    }

    // MARK: Ways

    /// The chain of edges with the fewest inferred ones, of these the shortest; of equally long ones the first in the
    /// order of the mapping models.
    ///
    /// - Throws: ``FerryError`` `.backward` or `.unreachable`, which names the edge that is missing, and why it cannot
    ///   be inferred.
    mutating func path(from source: ModelVersion, to target: ModelVersion) throws(FerryError) -> [Edge] {
        while let hops = search(from: source, to: target) {
            if let path = edges(along: hops) { return path }
        }
        let from = catalog.displayName(of: source)
        let to = catalog.displayName(of: target)
        if isBefore(target, source) {
            throw FerryError(
                .backward, "The store is of version \(from), which comes after \(to).",
                remedy: "Name a later version with --to, or restore a snapshot of the older one with `ferry rollback`.")
        }
        throw unreachable(from: source, to: target)
    }

    /// The names of the versions along a path.
    func names(of path: [Edge], from source: ModelVersion, to target: ModelVersion) -> [String] {
        [catalog.displayName(of: source)]
            + path.dropLast().map { catalog.displayName(of: $0.destination) }
            + [catalog.displayName(of: target)]
    }

    /// A way over an edge, by its place among the edges or the neighbours.
    private enum Hop {
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
                let (source, destination) = (neighbours[index].source, neighbours[index].destination)
                let inferred = InferredMapping.infer(source: source, destination: destination)
                guard let mappingModel = inferred.mappingModel, carriesObjects(mappingModel) else {
                    neighbours[index].obstacles = inferred.obstacles
                    return nil
                }
                path.append(Edge(source: source, destination: destination, mappingModels: [mappingModel]))
            }
        }
        return path
    }

    /// Versions without an entity in common are no successors of each other, whatever the order of their files.
    private func carriesObjects(_ mappingModel: MappingModel) -> Bool {
        mappingModel.entityMappings.contains { $0.source != nil && $0.destination != nil }
            || mappingModel.entityMappings.allSatisfy { $0.source == nil }
    }

    private func search(from source: ModelVersion, to target: ModelVersion) -> [Hop]? {
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
    private func node(_ version: ModelVersion) -> Int {
        catalog.versions.firstIndex { $0.hashes == version.hashes } ?? -1
    }

    // MARK: Refusals

    /// Whether a version leads to another one, or stands before it in the same bundle.
    private func isBefore(_ version: ModelVersion, _ other: ModelVersion) -> Bool {
        if search(from: version, to: other) != nil { return true }
        let (first, second) = (node(version), node(other))
        return version.bundle == other.bundle && first >= 0 && second >= 0 && first < second
    }

    private func unreachable(from source: ModelVersion, to target: ModelVersion) -> FerryError {
        let (start, end) = gap(from: source, to: target)
        let (from, to) = (catalog.displayName(of: start), catalog.displayName(of: end))
        var message =
            "There is no way from version \(catalog.displayName(of: source)) to \(catalog.displayName(of: target)): no "
            + "mapping model leads from \(from) to \(to)"
        var place = FerryError.Place()
        if let obstacles = neighbours.first(where: {
            $0.source.hashes == start.hashes && $0.destination.hashes == end.hashes
        })?.obstacles {
            let most = 8
            let sentences = obstacles.prefix(most).map(\.sentence)
            let more = obstacles.count > most ? [" And \(obstacles.count - most) more."] : []
            message += ", and none can be inferred. "
            message += (sentences + more).joined(separator: " ")
            if obstacles.isEmpty { message += "They have no entity in common." }
            place = .init(entity: obstacles.first?.entity, property: obstacles.first?.property)
        } else {
            message += "."
        }
        return FerryError(
            .unreachable, message, remedy: "Add a mapping model from \(from) to \(to) with --mappings.", place: place)
    }

    /// Where the way breaks: the last version that the source reaches, and the next one that leads to the target.
    private func gap(from source: ModelVersion, to target: ModelVersion) -> (ModelVersion, ModelVersion) {
        let order = catalog.versions
        let targetPlace = node(target)
        let reachable = order.filter { search(from: source, to: $0) != nil && node($0) < targetPlace }
        let leading = order.filter { search(from: $0, to: target) != nil && node($0) > node(source) }
        let start = reachable.last ?? source
        return (start, leading.first { node($0) > node(start) } ?? target)
    }
}
