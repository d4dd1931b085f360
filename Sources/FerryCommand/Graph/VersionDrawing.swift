internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// Model versions below each other, and the mappings between them.
package struct VersionDrawing {
    package struct Version: Sendable {
        package var name: String
        package var isCurrent: Bool
        package var entities: Int

        package init(name: String, isCurrent: Bool, entities: Int) {
            (self.name, self.isCurrent, self.entities) = (name, isCurrent, entities)
        }

        /// The text of the version's box.
        var title: String { name + (isCurrent ? " (current)" : "") }
    }

    package struct Link: Sendable {
        package enum Kind: String, Sendable {
            /// The mapping can be inferred.
            case inferred
            /// Some changes cannot be inferred.
            case none
            /// Both versions have the same version hashes.
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

    package init(versions: [Version], links: [Link]) { (self.versions, self.links) = (versions, links) }

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
        if inferred.mappingModel == nil {
            let reason = obstacles == 0 ? "no entity in common" : "\(obstacles.counting("change")) cannot be inferred"
            return (.none, reason)
        }
        return (.inferred, "inferred, \(Int64(inferred.changes.count).counting("change"))")
    }

    var json: JSON {
        [
            "versions": JSON.list(versions) { ["name": $0.name, "current": $0.isCurrent, "entities": $0.entities] },
            "links": JSON.list(links) {
                [
                    "from": versions[$0.from].name, "to": versions[$0.to].name, "kind": $0.kind.rawValue,
                    "label": $0.label,
                ]
            },
        ]
    }

    package var dot: String {
        var lines = [
            GraphCommand.Form.dot.sign, "digraph versions {", "  rankdir=TB;",
            "  node [shape=box, fontname=\"sans-serif\"];",
            "  edge [fontname=\"sans-serif\", fontsize=10];",
        ]
        for (index, version) in versions.enumerated() {
            let style = version.isCurrent ? ", penwidth=2" : ""
            lines.append("  v\(index) [label=\(DotText.quoted(version.title))\(style)];")
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

/// The layout: versions below each other, in as many columns as fit a page or a screen.
extension VersionDrawing {
    /// The rectangles of the drawing; boxes do not touch.
    package struct Layout {
        package var versions: [Rect] = []
        /// By the index of the link.
        package var mappings: [Int: Rect] = [:]
        /// The lines from mapping models to versions beyond the next column, by the index of the link.
        package var routes: [Int: [(x: Double, y: Double)]] = [:]
        package var columns = 1
        package var width = 0.0
        package var height = 0.0
    }

    private static let (top, pitch, boxHeight, gutter) = (56.0, 62.0, 32.0, 150.0)
    /// The gap between two columns; the line from a column to the next one runs through it.
    private static let channel = 48.0
    /// The most versions in one column: about two screens.
    private static let mostInOne = 20

    /// The number of versions in a column, for a picture of about four by three.
    private func rowsPerColumn(width: Double) -> Int {
        guard versions.count > Self.mostInOne else { return max(1, versions.count) }
        let area = Double(versions.count) * width * Self.pitch
        let rows = max(Self.mostInOne / 2, Int(((area * 3 / 4).squareRoot() / Self.pitch).rounded(.up)))
        // Distributes the versions evenly over the columns.
        let columns = (versions.count + rows - 1) / rows
        return (versions.count + columns - 1) / columns
    }

    package var layout: Layout {
        var layout = Layout()
        let width = Rect.width(of: versions.map(\.title))
        let mapped = links.indices.filter { links[$0].kind == .mappingModel }
        let labelWidth = mapped.isEmpty ? 0 : Rect.width(of: mapped.map { links[$0].label })
        let rows = rowsPerColumn(width: width + Self.gutter + labelWidth + Self.channel)
        layout.columns = max(1, (versions.count + rows - 1) / rows)
        var left = 16.0
        var bottom = Self.top
        for column in 0..<layout.columns {
            let members = column * rows..<min(versions.count, (column + 1) * rows)
            for index in members {
                let y = Self.top + Double(index - members.lowerBound) * Self.pitch
                layout.versions.append(Rect(x: left, y: y, width: width, height: Self.boxHeight))
            }
            left += width + Self.gutter + Self.channel
            // A mapping model is drawn beside its source version.
            let own = mapped.filter { members.contains(links[$0].from) }
            if !own.isEmpty { left += labelWidth }
            bottom = max(bottom, Self.top + Double(members.count) * Self.pitch)
        }
        let middles = mapped.map { index in
            let (from, to) = (links[index].from, links[index].to)
            let isBeside = from / rows == to / rows
            let places = isBeside ? [from, to] : [from]
            return (index, places.map { layout.versions[$0].middle }.reduce(0, +) / Double(places.count))
        }.inOrder { ($0.1, $0.0) < ($1.1, $1.0) }
        var next = Array(repeating: Self.top, count: layout.columns)
        for (index, middle) in middles {
            let column = links[index].from / rows
            let y = max(next[column], middle - Self.boxHeight / 2)
            layout.mappings[index] = Rect(
                x: layout.versions[column * rows].right + Self.gutter, y: y, width: labelWidth,
                height: Self.boxHeight)
            next[column] = y + Self.boxHeight + 10
        }
        for (index, box) in layout.mappings {
            let (from, to) = (links[index].from / rows, links[index].to / rows)
            guard to != from, to != from + 1 else { continue }
            let target = layout.versions[links[index].to]
            // Above the columns, and through the channels between them.
            let shift = Double(index * 5 % 13)
            let (out, lane) = (box.right + 8 + shift, Self.top - 3 - Double(index % 3) * 2)
            let isBack = to < from
            let back = isBack ? target.right + 14 + shift : target.x - 14 - shift
            let y = target.middle - 4
            layout.routes[index] = [
                (box.right, box.middle), (out, box.middle), (out, lane), (back, lane), (back, y),
                (isBack ? target.right : target.x, y),
            ]
        }
        layout.width = left - (mapped.isEmpty ? Self.channel : 0) + 16
        layout.height = max(next.max() ?? 0, bottom) + 8
        return layout
    }

    package var svg: String { Drawing.document(width: layout.width, height: layout.height, parts()) }

    /// The parts of the drawing; `link` gives the address to which the box of a version leads.
    func parts(link: (Int) -> String? = { _ in nil }) -> [Markup] {
        let layout = layout
        var parts = [
            Markup.element("title", [:], "Model versions and mapping models"),
            Drawing.text("Model versions", 16, 22, style: "font-weight:600;font-size:15px"),
            Drawing.text("solid: inferred · dotted: needs a mapping model · dashed: equal", 16, 42, isSoft: true),
        ]
        for link in links where link.kind != .mappingModel {
            parts += way(link, from: layout.versions[link.from], to: layout.versions[link.to])
        }
        for (index, box) in layout.mappings.inOrder(by: { $0.key < $1.key }) {
            let (from, to) = (layout.versions[links[index].from], layout.versions[links[index].to])
            parts.append(Drawing.curve(from.right, from.middle + 4, box.x, box.middle - 5))
            if let route = layout.routes[index], let end = route.last {
                parts.append(Drawing.polyline(route.map { ($0.x, $0.y) }, "curve"))
                parts.append(Drawing.arrow(end.x, end.y, isFromRight: end.x > to.x))
            } else if to.x > box.x {
                parts.append(Drawing.curve(box.right, box.middle + 5, to.x - 7, to.middle - 4))
                parts.append(Drawing.arrow(to.x, to.middle - 4, isFromRight: false))
            } else {
                parts.append(Drawing.curve(to.right + 7, to.middle - 4, box.x, box.middle + 5))
                parts.append(Drawing.arrow(to.right, to.middle - 4, isFromRight: true))
            }
            parts += Drawing.box(box, links[index].label, style: "mapping")
        }
        for (index, (version, box)) in zip(versions, layout.versions).enumerated() {
            let drawn = Drawing.box(box, version.title, style: version.isCurrent ? "current" : "version")
            parts += Drawing.linked(drawn, to: link(index))
        }
        return parts
    }

    /// The line from a version to the version below it, or from the foot of a column to the head of the next column.
    private func way(_ link: Link, from: Rect, to: Rect) -> [Markup] {
        let style = link.kind == .inferred ? "way" : "\(link.kind.rawValue)way"
        let x = from.x + 24
        let isBelow = from.x == to.x
        let foot = from.bottom + (Self.pitch - Self.boxHeight) / 2
        let head = to.y - 16
        var parts = [
            isBelow
                ? Drawing.line(x, from.bottom, x, to.y, style)
                : Drawing.polyline(
                    [
                        (x, from.bottom), (x, foot + 8), (to.x - Self.channel / 2, foot + 8),
                        (to.x - Self.channel / 2, head), (to.x + 24, head), (to.x + 24, to.y),
                    ], style)
        ]
        if link.kind == .inferred { parts.append(Drawing.arrowDown(to.x + 24, to.y)) }
        let labelY = isBelow ? (from.bottom + to.y) / 2 + 4 : foot + 2
        return parts + [Drawing.text(link.label, x + 10, labelY, isSoft: true)]
    }
}
