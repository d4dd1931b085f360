internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

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

struct EntityGraph {
    /// A line of an entity's box, and the entity to which its relationship leads.
    private typealias Line = (text: String, related: String?)

    private struct Box {
        var kind: String
        /// The name in the version that has the entity; the newer name of a renamed entity.
        var entity: String
        var title: String
        var lines: [Line]
    }

    /// The kinds of entities that differ, in their order, with signs that are readable without colour.
    private static let signs = [("changed", "~"), ("renamed", "→"), ("added", "+"), ("removed", "−")]

    private let title: String
    private let legend: String
    private let head: JSON
    private let boxes: [Box]

    /// A version whole: each entity with its own properties, since those of its superentity are there.
    init(_ model: ManagedObjectModel, named name: String) {
        boxes = model.sortedEntityNames.map {
            Box(kind: "whole", entity: $0, title: $0, lines: Self.lines(of: $0, in: model))
        }
        (title, legend, head) = (name, boxes.count == 1 ? "1 entity" : "\(boxes.count) entities", ["version": name])
    }

    init(from source: ManagedObjectModel, to destination: ManagedObjectModel, named names: (from: String, to: String)) {
        let changes = ModelDifference(from: source, to: destination).changes
        // A removed entity and a new one may have the same name.
        let found = changes.groups { [$0.entity, $0.kind == .entityRemoved ? "-" : ""] }
            .map { Self.box($0.elements, source, destination) }
        boxes = Self.signs.flatMap { kind, _ in found.filter { $0.kind == kind } }
        let unchanged = destination.entities.count - found.count { $0.kind != "removed" }
        let counts = Self.signs.map { kind, _ in (found.count { $0.kind == kind }, kind) }.filter { $0.0 > 0 }
        legend = (counts + [(unchanged, "unchanged")]).map { "\($0) \($1)" }.joined(separator: ", ")
        title = "\(names.from) → \(names.to)"
        head = ["from": names.from, "to": names.to, "unchanged": unchanged]
    }

    private static func lines(of entity: String, in model: ManagedObjectModel) -> [Line] {
        guard let found = model.entities[entity] else { return [] }
        let properties = found.attributes.map(\.name) + found.relationships.map(\.name)
        return (found.superentity.map { [("is a \($0)", $0)] } ?? [])
            + properties.map { line(of: $0, entity, in: model) }
    }

    private static func line(of property: String, _ entity: String, in model: ManagedObjectModel) -> Line {
        if let attribute = model.attribute(property, of: entity) {
            return ("\(property): \("\(attribute.type)".spaced)" + (attribute.isOptional ? "" : ", mandatory"), nil)
        }
        guard let found = model.relationship(property, of: entity) else { return (property, nil) }
        return (
            "\(property) → \(found.destinationEntity)" + (found.isToMany ? " (to-many)" : ""), found.destinationEntity
        )
    }

    private static func box(
        _ changes: [ModelDifference.Change], _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) -> Box {
        let entity = changes[0].entity
        let isAdded = changes.contains { $0.kind == .entityAdded }
        if isAdded || changes.contains(where: { $0.kind == .entityRemoved }) {
            let (kind, sign, model) = isAdded ? ("added", "+", destination) : ("removed", "−", source)
            let lines = lines(of: entity, in: model).map { ("\(sign) \($0.text)", $0.related) }
            return Box(kind: kind, entity: entity, title: "\(sign) \(entity)", lines: lines)
        }
        let old = changes.first { $0.kind == .entityRenamed }?.oldName
        let lines = changes.filter { $0.kind != .entityRenamed }.map { line($0, source, destination) }
        let title = old.map { "→ \($0) → \(entity)" } ?? "~ \(entity)"
        return Box(kind: old == nil ? "changed" : "renamed", entity: entity, title: title, lines: lines)
    }

    private static func line(
        _ change: ModelDifference.Change, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) -> Line {
        let words = change.kind.rawValue.spaced
        guard let property = change.property else { return ("~ \(words)", nil) }
        let new = line(of: property, change.entity, in: destination)
        switch change.kind {
        case .attributeAdded, .relationshipAdded: return ("+ \(new.text)", new.related)
        case .attributeRemoved, .relationshipRemoved: return ("− \(property)", nil)
        case .attributeRenamed, .relationshipRenamed:
            return ("→ \(change.oldName ?? "?") → \(property)", new.related)
        case .attributeTypeChanged:
            let old = ModelMatching(source: source, destination: destination)
                .sourceAttribute(of: property, in: change.entity)
            let types = [old, destination.attribute(property, of: change.entity)].map { $0.map { "\($0.type)" } ?? "?" }
            return ("~ \(property): \(types[0].spaced) → \(types[1].spaced)", nil)
        default:
            let prefix = ["attribute ", "relationship "].first { words.hasPrefix($0) } ?? ""
            return ("~ \(property): \(words.dropFirst(prefix.count))", new.related)
        }
    }

    var json: JSON {
        let entities = JSON.list(boxes) { ["entity": $0.entity, "kind": $0.kind, "lines": $0.lines.map(\.text)] }
        return head + ["entities": entities]
    }

    /// The boxes, with a line between each two that are related, whatever the direction.
    var drawing: BoxDrawing {
        let places = Dictionary(boxes.enumerated().map { ($0.element.entity, $0.offset) }) { one, _ in one }
        var seen: Set<Set<Int>> = []
        let links = boxes.enumerated().flatMap { index, box in
            box.lines.enumerated().compactMap { row, line -> BoxDrawing.Link? in
                guard let other = line.related.flatMap({ places[$0] }), other != index,
                    seen.insert([index, other]).inserted
                else { return nil }
                return .init(from: index, to: other, style: "relation", row: row)
            }
        }
        return BoxDrawing(
            title: title, legend: legend,
            boxes: boxes.map { .init(style: $0.kind, title: $0.title, lines: $0.lines.map(\.text)) }, links: links)
    }
}

extension String {
    /// The words of a camel-case name such as `attributeTypeChanged`.
    var spaced: String {
        reduce(into: "") { words, character in
            if character.isUppercase || (character.isNumber && words.last?.isNumber == false) { words += " " }
            words += character.lowercased()
        }
    }
}
