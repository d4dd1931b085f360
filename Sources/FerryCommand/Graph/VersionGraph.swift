internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// Model versions in their order, and what leads from one to another.
struct VersionGraph {
    private struct Link {
        var from: Int
        var to: Int
        /// As in the JSON: the mapping can be inferred, or not, is not needed, or is a mapping model.
        var kind: String
        var label: String
    }

    private let versions: [(name: String, isCurrent: Bool, entities: Int)]
    private let links: [Link]

    init(_ catalog: ModelCatalog, _ mappings: [MappingEdge]) {
        let found = catalog.versions
        versions = found.map { (catalog.displayName(of: $0), $0.isCurrent, $0.model.entities.count) }
        var links = zip(found, found.dropFirst()).enumerated().map { index, pair in
            let (kind, label) = Self.way(from: pair.0, to: pair.1)
            return Link(from: index, to: index + 1, kind: kind, label: label)
        }
        for mapping in mappings {
            guard let from = found.firstIndex(where: { $0.path == mapping.source.path }),
                let to = found.firstIndex(where: { $0.path == mapping.destination.path })
            else { continue }
            links.append(Link(from: from, to: to, kind: "mappingModel", label: mapping.mappingModel.name))
        }
        self.links = links
    }

    private static func way(from source: ModelVersion, to destination: ModelVersion) -> (String, String) {
        if source.hashes == destination.hashes { return ("equal", "same version hashes") }
        let inferred = InferredMapping.infer(source: source, destination: destination)
        let obstacles = Int64(inferred.obstacles.count)
        if inferred.mappingModel == nil {
            let reason = obstacles == 0 ? "no entity in common" : "\(obstacles.counting("change")) cannot be inferred"
            return ("none", reason)
        }
        return ("inferred", "inferred, \(Int64(inferred.changes.count).counting("change"))")
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

/// The entities of one version, with their properties.
struct ModelGraph {
    let name: String
    let model: ManagedObjectModel

    /// Each entity with its own properties; those of its superentity are there.
    private var entities: [(name: String, lines: [String], related: [(row: Int?, name: String)])] {
        model.entities.inOrder { codeUnitOrder($0.key, $1.key) }.map { name, entity in
            let above = entity.superentity.map { "is a \($0)" }
            let lines = [above].compactMap { $0 } + entity.attributes.map(ChangeWords.described)
            var related = entity.relationships.enumerated().map { index, relationship in
                (row: Int?.some(lines.count + index), name: relationship.destinationEntity)
            }
            if let superentity = entity.superentity { related.append((0, superentity)) }
            return (name, lines + entity.relationships.map(ChangeWords.described), related)
        }
    }

    var json: JSON {
        ["version": name, "entities": JSON.list(entities) { ["entity": $0.name, "kind": "whole", "lines": $0.lines] }]
    }

    var drawing: BoxDrawing {
        let entities = entities
        return BoxDrawing(
            title: name, legend: entities.count == 1 ? "1 entity" : "\(entities.count) entities",
            boxes: entities.map { BoxDrawing.Box(style: "entity", title: $0.name, lines: $0.lines) },
            links: BoxDrawing.Link.pairs(entities.map { ($0.name, $0.related) }))
    }
}

extension BoxDrawing.Link {
    /// A line for each two boxes that are related, whatever the direction.
    static func pairs(_ boxes: [(name: String, related: [(row: Int?, name: String)])]) -> [BoxDrawing.Link] {
        let places = Dictionary(boxes.enumerated().map { ($0.element.name, $0.offset) }) { one, _ in one }
        var seen: Set<[Int]> = []
        return boxes.enumerated().flatMap { index, box in
            box.related.compactMap { row, name in
                guard let other = places[name], other != index,
                    seen.insert([min(index, other), max(index, other)]).inserted
                else { return nil }
                return BoxDrawing.Link(from: index, to: other, style: "relation", row: row)
            }
        }
    }
}
