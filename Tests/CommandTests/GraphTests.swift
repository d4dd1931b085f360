import Foundation
import TestSupport
import Testing

@testable import FerryCommand

@Suite("Graph")
struct GraphTests {
    private static let entities = [
        ("App", RouteFolder.entity("Book", "title", "shelf") + RouteFolder.entity("Old", "name")),
        (
            "App 2",
            RouteFolder.entity("Book", "heading<-title", "pages:Integer 32")
                + RouteFolder.entity("New", "a")
        ), ("App 3", RouteFolder.entity("Book", "heading", "pages:String")),
    ]

    private func folder() throws -> RouteFolder {
        let app = try RouteFolder()
        for (version, entities) in Self.entities { try app.model("App", version, entities) }
        try app.current("App", "App 3")
        try app.write(
            #"{ "source": "App 2", "destination": "App 3", "entityMappings": [ { "name": "B", "source": "Book", "#
                + #""destination": "Book" } ] }"#, to: "Text.json")
        return app
    }

    @Test("The graph has versions, inferable steps, and mapping models beside the models; DOT is equal to its golden")
    func drawsVersions() throws {
        let app = try folder()
        let dot = try app.done("graph", "App.xcdatamodeld", "--format", "dot").output
        try Golden.expect(dot, is: "graph-versions")
        let svg = try app.done("graph", "App.xcdatamodeld").output
        for word in ["App 3 (current)", "1 change cannot be inferred", "→ App 3: Text", "class=\"noneway\""] {
            #expect(svg.contains(word), "\(word)")
        }
        #expect(!svg.contains("<script") && !svg.contains("href"))
    }

    @Test(
        "The difference of two versions has a sign for each added, removed, renamed and changed item; names are escaped"
    )
    func drawsDifference() throws {
        let app = try folder()
        let dot = try app.done("graph", "App.xcdatamodeld", "--from", "App", "--to", "App 2", "--format", "dot").output
        try Golden.expect(dot, is: "graph-difference")
        let svg = try app.done("graph", "App.xcdatamodeld", "--from", "App", "--to", "App 2", "-o", "d.svg")
        #expect(svg.output == "Wrote d.svg.\n")
        let text = try String(contentsOfFile: app.folder.file("d.svg"), encoding: .utf8)
        for word in ["1 changed, 1 added, 1 removed, 0 unchanged", "→ title → heading", "− Old", "New"] {
            #expect(text.contains(word), "\(word)")
        }
        #expect(!text.contains("<b>"))
    }

    @Test("One version is drawn whole, with its attributes, relationships and types")
    func drawsModel() throws {
        let app = try folder()
        let svg = try app.done("graph", "App.xcdatamodeld", "--to", "App 2").output
        for word in ["Book", "pages: integer 32", "2 entities"] { #expect(svg.contains(word), "\(word)") }
        try app.model("One", "One", RouteFolder.entity("Only", "a"))
        #expect(try app.done("graph", "One.xcdatamodeld", "--format", "dot").output.contains("a: string"))
    }

    @Test("The extension of --output chooses the form; only files that Ferry has drawn are replaced")
    func writesFiles() throws {
        let app = try folder()
        try app.done("graph", "App.xcdatamodeld", "--output", "g.dot")
        #expect(try String(contentsOfFile: app.folder.file("g.dot"), encoding: .utf8).hasPrefix("// ferry graph\n"))
        try app.done("graph", "App.xcdatamodeld", "--output", "g.dot")
        try app.write("<svg/>", to: "mine.svg")
        #expect(try app.run("graph", "App.xcdatamodeld", "--output", "mine.svg").exitCode == 2)
        #expect(try String(contentsOfFile: app.folder.file("mine.svg"), encoding: .utf8) == "<svg/>")
        #expect(try app.run("graph", "App.xcdatamodeld", "--from", "App").exitCode == 64)
        #expect(try app.run("graph", "App.xcdatamodeld", "--from", "App", "--to", "None").exitCode == 2)
    }

    @Test("No two boxes touch, and no line runs behind one", arguments: [1, 2, 7, 82, 300])
    func keepsBoxesApart(count: Int) {
        let boxes = (0..<count).map { number in
            BoxDrawing.Box(
                style: "version", title: "Version \(number)" + String(repeating: "長", count: number % 40),
                lines: (0..<(number * 5 % 31)).map { "+ property\($0): string" })
        }
        let links = (0..<(count * 2)).map { number in
            BoxDrawing.Link(
                from: number % count, to: number < count ? min(number + 1, count - 1) : number * 7 % count, style: "way"
            )
        }
        let drawing = BoxDrawing(title: "Many", legend: "", boxes: boxes, links: links)
        let layout = drawing.layout
        #expect(layout.boxes.count == count && !overlap(layout.boxes))
        #expect(layout.boxes.allSatisfy { isInside($0, layout.width, layout.height) })
        for route in drawing.routes {
            #expect(!crosses(route, layout.boxes), "\(route)")
            #expect(
                route.allSatisfy { $0.x > 0 && $0.x < layout.width && $0.y > 44 && $0.y < layout.height }, "\(route)")
        }
    }

    private func isInside(_ box: Rect, _ width: Double, _ height: Double) -> Bool {
        box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height
    }

    /// Whether a line of straight pieces runs behind a box; it begins and ends at the edges of two.
    private func crosses(_ route: [(x: Double, y: Double)], _ boxes: [Rect]) -> Bool {
        zip(route, route.dropFirst()).contains { from, to in
            let (left, right) = (min(from.x, to.x), max(from.x, to.x))
            let (top, bottom) = (min(from.y, to.y), max(from.y, to.y))
            return boxes.contains { box in
                left < box.x + box.width && right > box.x && top < box.y + box.height && bottom > box.y
            }
        }
    }

    @Test("A text of a drawing fits into its room in the widest common font", arguments: ["WWW", "a", "長い名前", "𝒳🚢"])
    func fitsTexts(_ part: String) {
        for count in 1...60 {
            let text = String(repeating: part, count: count)
            for room in [40.0, 96, 250] {
                let shown = TextMetrics.fitted(text, into: room, size: 13)
                #expect(TextMetrics.width(shown, size: 13) <= room || shown.count <= 3, "\(shown) in \(room)")
                #expect(shown == text || shown.contains("…"))
            }
        }
    }

    @Test("A long name is cut; the type behind it is not, and both names of a relationship are seen")
    func keepsTypes() throws {
        let name = String(repeating: "name", count: 20)
        for (text, expected) in [
            ("\(name): transformable, mandatory", /name.*…[a-z]*: transformable, mandatory$/),
            ("\(name) → Big\(name)Order (to-many)", /name.*…[a-z]* → Big.*…[a-zA-Z]+ \(to-many\)$/),
            ("customer → Big\(name)Order", /customer → Big.*…[a-zA-Z]*Order$/),
        ] {
            let written = Drawing.text(text, 0, 0, within: 396).written
            let parts = written.replacing("\n", with: "").components(separatedBy: "</title>")
            let shown = try #require(parts.last?.components(separatedBy: "<").first)
            #expect(try expected.firstMatch(in: shown) != nil, "\(written)")
            #expect(TextMetrics.width(shown, size: Drawing.size) <= 397)
        }
    }

    private func overlap(_ boxes: [Rect]) -> Bool {
        boxes.indices.contains { index in boxes[(index + 1)...].contains { $0.overlaps(boxes[index]) } }
    }

    @Test(
        "The 90 versions of a real app are drawn in columns, each with its next step, as a picture for a screen",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func drawsManyVersions() throws {
        let app = try RouteFolder()
        let svg = try app.run("graph", Fixtures.path("wire-zmessaging/zmessaging.xcdatamodeld"))
        #expect(svg.exitCode == 0, "\(svg.diagnostics)")
        let boxes = svg.output.components(separatedBy: "<rect class=\"version\"").count - 1
        #expect(boxes == 89, "and one that is current")
        #expect(svg.output.components(separatedBy: "class=\"way\"").count > 50)
        let size = try #require(svg.output.firstMatch(of: /viewBox="0 0 ([0-9.]+) ([0-9.]+)"/))
        let (width, height) = (try #require(Double(size.1)), try #require(Double(size.2)))
        #expect(width < 2 * height && height < 2 * width && height < 2_000, "\(width) × \(height)")
    }
}

extension Rect {
    fileprivate func overlaps(_ other: Rect) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }
}
