internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// Model versions below each other, and what leads from one to another.
package struct VersionDrawing {
    package struct Version: Sendable {
        package var name: String
        package var isCurrent: Bool
        package var entities: Int

        package init(name: String, isCurrent: Bool, entities: Int) {
            (self.name, self.isCurrent, self.entities) = (name, isCurrent, entities)
        }
    }

    package struct Link: Sendable {
        package enum Kind: String, Sendable {
            /// A mapping can be inferred.
            case inferred
            /// Changes stand in the way of inferring one.
            case none
            /// Both have the same version hashes.
            case equal
            case mappingModel
        }

        package var from: Int
        package var to: Int
        package var kind: Kind
        package var label: String

        package init(from: Int, to: Int, kind: Kind, label: String) {
            (self.from, self.to, self.kind, self.label) = (from, to, kind, label)
        }
    }

    package let versions: [Version]
    package let links: [Link]

    package init(versions: [Version], links: [Link]) {
        self.versions = versions
        self.links = links
    }

    init(_ catalog: ModelCatalog, _ mappings: [MappingEdge]) {
        let found = catalog.versions
        versions = found.map {
            Version(
                name: catalog.displayName(of: $0), isCurrent: $0.isCurrent, entities: $0.model.entities.count)
        }
        var links = zip(found, found.dropFirst()).enumerated().map { index, pair in
            let (kind, label) = Self.way(from: pair.0, to: pair.1)
            return Link(from: index, to: index + 1, kind: kind, label: label)
        }
        for mapping in mappings {
            guard let from = found.firstIndex(where: { $0.path == mapping.source.path }),
                let to = found.firstIndex(where: { $0.path == mapping.destination.path })
            else { continue }
            links.append(Link(from: from, to: to, kind: .mappingModel, label: mapping.mappingModel.name))
        }
        self.links = links
    }

    private static func way(from source: ModelVersion, to destination: ModelVersion) -> (Link.Kind, String) {
        if source.hashes == destination.hashes { return (.equal, "same version hashes") }
        let inferred = InferredMapping.infer(source: source, destination: destination)
        let obstacles = Int64(inferred.obstacles.count)
        if inferred.mappingModel == nil { return (.none, "\(obstacles.counting("change")) cannot be inferred") }
        return (.inferred, "inferred, \(Int64(inferred.changes.count).counting("change"))")
    }

    var json: [(String, JSON)] {
        [
            (
                "versions",
                .array(
                    versions.map {
                        .object([
                            ("name", .string($0.name)), ("current", .bool($0.isCurrent)),
                            ("entities", .integer($0.entities)),
                        ])
                    })
            ),
            (
                "links",
                .array(
                    links.map {
                        .object([
                            ("from", .string(versions[$0.from].name)), ("to", .string(versions[$0.to].name)),
                            ("kind", .string($0.kind.rawValue)), ("label", .string($0.label)),
                        ])
                    })
            ),
        ]
    }

    // MARK: DOT

    package var dot: String {
        var lines = [
            GraphCommand.Form.dot.sign, "digraph versions {", "  rankdir=TB;",
            "  node [shape=box, fontname=\"sans-serif\"];",
            "  edge [fontname=\"sans-serif\", fontsize=10];",
        ]
        for (index, version) in versions.enumerated() {
            let style = version.isCurrent ? ", penwidth=2" : ""
            lines.append(
                "  v\(index) [label=\(DotText.quoted(version.name + (version.isCurrent ? " (current)" : "")))\(style)];"
            )
        }
        for link in links {
            let style =
                switch link.kind {
                case .inferred: "style=solid"
                case .none: "style=dotted, arrowhead=none"
                case .equal: "style=dashed, dir=both"
                case .mappingModel: "style=bold, constraint=false"
                }
            lines.append("  v\(link.from) -> v\(link.to) [label=\(DotText.quoted(link.label)), \(style)];")
        }
        return (lines + ["}"]).joined(separator: "\n")
    }
}
