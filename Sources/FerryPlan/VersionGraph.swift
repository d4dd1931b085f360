internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Model versions as nodes and mapping models as edges; versions with equal hashes are one node.
struct VersionGraph {
    struct Edge {
        var source: ModelVersion
        var destination: ModelVersion
        var mappingModels: [MappingModel]
    }

    private let catalog: ModelCatalog
    private var edges: [Edge] = []

    /// - Throws: ``FerryError`` when a mapping model names a version that is not there, or an ambiguous one.
    init(catalog: ModelCatalog, mappingModels: [MappingModel]) throws(FerryError) {
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

    /// The shortest chain of edges; of equally long ones the first in the order of the mapping models.
    ///
    /// - Throws: ``FerryError`` `.backward` or `.unreachable`, which names the edge that is missing.
    func path(from source: ModelVersion, to target: ModelVersion) throws(FerryError) -> [Edge] {
        if let path = search(from: source, to: target) { return path }
        let from = catalog.displayName(of: source)
        let to = catalog.displayName(of: target)
        if search(from: target, to: source) != nil {
            throw FerryError(
                .backward, "The store is of version \(from), which comes after \(to).",
                remedy: "Name a later version with --to, or restore a snapshot of the older one with `ferry rollback`.")
        }
        let (gapStart, gapEnd) = gap(from: source, to: target)
        throw FerryError(
            .unreachable,
            "There is no way from version \(from) to \(to): no mapping model leads from \(gapStart) to \(gapEnd).",
            remedy: "Add a mapping model from \(gapStart) to \(gapEnd) with --mappings.")
    }

    /// The names of the versions along a path.
    func names(of path: [Edge], from source: ModelVersion, to target: ModelVersion) -> [String] {
        [catalog.displayName(of: source)]
            + path.dropLast().map { catalog.displayName(of: $0.destination) }
            + [catalog.displayName(of: target)]
    }

    private func search(from source: ModelVersion, to target: ModelVersion) -> [Edge]? {
        var reached: [[String: [UInt8]]: [Edge]] = [source.hashes: []]
        var queue = [source.hashes]
        while !queue.isEmpty {
            let node = queue.removeFirst()
            guard let path = reached[node] else { continue }
            if node == target.hashes { return path }
            for edge in edges where edge.source.hashes == node && reached[edge.destination.hashes] == nil {
                reached[edge.destination.hashes] = path + [edge]
                queue.append(edge.destination.hashes)
            }
        }
        return nil
    }

    /// Where the way breaks: the last version that the source reaches, and the next one that leads to the target.
    private func gap(from source: ModelVersion, to target: ModelVersion) -> (String, String) {
        let order = catalog.versions
        let place = { (version: ModelVersion) in order.firstIndex { $0.hashes == version.hashes } ?? 0 }
        let targetPlace = place(target)
        let reachable = order.filter { search(from: source, to: $0) != nil && place($0) < targetPlace }
        let leading = order.filter { search(from: $0, to: target) != nil && place($0) > place(source) }
        let start = reachable.last ?? source
        let end = leading.first { place($0) > place(start) } ?? target
        return (catalog.displayName(of: start), catalog.displayName(of: end))
    }
}
