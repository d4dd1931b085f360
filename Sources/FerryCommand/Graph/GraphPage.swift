internal import FerryBase

/// A page with a drawing and its tables: each box leads to its own.
struct GraphPage {
    let text: String

    /// A table of versions, and of what leads from one to another.
    init(_ drawing: VersionDrawing) {
        let layout = drawing.layout
        func anchor(_ version: Int) -> String { "version-\(version + 1)" }
        var page = Page("Model versions", subject: nil, sheets: [Drawing.marks])
        page.add(
            Drawing.graph(
                "Model versions and mapping models", width: layout.width, height: layout.height,
                drawing.parts { "#" + anchor($0) }))
        page.heading("Versions")
        page.table(
            [.text("Version"), .number("Entities"), .text("Leads to"), .text("By")],
            drawing.versions.enumerated().map { index, version in
                let links = drawing.links.filter { $0.from == index }
                return [
                    [.name(version.title)], [.text("\(version.entities)")],
                    Self.lines(links.map { drawing.versions[$0.to].name }), Self.lines(links.map(\.label)),
                ].map { .element("span", [:], $0) }
            }, anchors: drawing.versions.indices.map(anchor))
        text = page.text
    }

    /// A table of the changes of each entity.
    init(_ drawing: DifferenceDrawing) {
        let layout = drawing.layout
        var page = Page(
            "What changed from \(drawing.names.from) to \(drawing.names.to)", subject: nil, sheets: [Drawing.marks])
        page.paragraph("\(drawing.heading).")
        page.add(
            Drawing.graph(
                "What changed", width: layout.width, height: layout.height,
                drawing.parts { "#" + Page.anchor(ofHeading: $0 + 1) }))
        for box in drawing.boxes {
            page.heading("\(box.title) (\(box.kind.rawValue))")
            page.table([.text("Change"), .text("Property")], box.allLines.map(Self.row))
            if box.allLines.isEmpty { page.paragraph("No property changed.") }
        }
        text = page.text
    }

    private static func row(_ line: String) -> [String] {
        let kind = DifferenceDrawing.Kind.allCases.first { line.hasPrefix($0.sign + " ") }
        return [kind?.rawValue ?? "", kind.map { String(line.dropFirst($0.sign.count + 1)) } ?? line]
    }

    /// Texts below each other in a cell.
    private static func lines(_ texts: [String]) -> [Markup] {
        texts.isEmpty ? [.text("–")] : texts.flatMap { [.element("br", [:]), .name($0)] }.dropFirst().map { $0 }
    }
}
