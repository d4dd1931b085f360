internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// Model versions in their order, and what leads from one to another.
struct VersionGraph {
    /// The mapping can be inferred, or not, is not needed, or is a mapping model, as in the JSON.
    private typealias Link = (from: Int, to: Int, kind: String, label: String)

    private let versions: [(name: String, isCurrent: Bool, entities: Int)]
    private let links: [Link]

    init(_ catalog: ModelCatalog, _ mappings: [MappingEdge]) {
        let found = catalog.versions
        versions = found.map { (catalog.displayName(of: $0), $0.isCurrent, $0.model.entities.count) }
        let ways = zip(found, found.dropFirst()).enumerated().map { index, pair in
            let (kind, label) = Self.way(from: pair.0, to: pair.1)
            return (index, index + 1, kind, label) as Link
        }
        links =
            ways
            + mappings.compactMap { mapping in
                guard let from = found.firstIndex(where: { $0.path == mapping.source.path }),
                    let to = found.firstIndex(where: { $0.path == mapping.destination.path })
                else { return nil }
                return (from, to, "mappingModel", mapping.mappingModel.name)
            }
    }

    private static func way(from source: ModelVersion, to destination: ModelVersion) -> (String, String) {
        if source.hashes == destination.hashes { return ("equal", "same version hashes") }
        let inferred = InferredMapping.infer(source: source, destination: destination)
        if inferred.mappingModel != nil {
            return ("inferred", "inferred, \(Int64(inferred.changes.count).counting("change"))")
        }
        let obstacles = Int64(inferred.obstacles.count)
        return ("none", obstacles == 0 ? "no entity in common" : "\(obstacles.counting("change")) cannot be inferred")
    }

    var json: JSON {
        [
            "versions": JSON.list(versions) { ["name": $0.name, "current": $0.isCurrent, "entities": $0.entities] },
            "links": JSON.list(links) {
                [
                    "from": versions[$0.from].name, "to": versions[$0.to].name, "kind": $0.kind, "label": $0.label,
                ]
            },
        ]
    }

    var drawing: BoxDrawing {
        let styles = ["inferred": "way", "none": "noneway", "equal": "equalway", "mappingModel": "mapping"]
        return BoxDrawing(
            title: "Model versions", legend: "solid: inferred · thick: mapping model · dotted: none · dashed: equal",
            boxes: versions.enumerated().map { index, version in
                BoxDrawing.Box(
                    style: version.isCurrent ? "current" : "version",
                    title: version.name + (version.isCurrent ? " (current)" : ""),
                    lines: links.filter { $0.from == index }.map { "→ \(versions[$0.to].name): \($0.label)" })
            },
            links: links.map { .init(from: $0.from, to: $0.to, style: styles[$0.kind] ?? "way", label: $0.label) })
    }
}
