import FerryCommand
import Foundation
import TestSupport
import Testing

@Suite("Graph")
struct GraphTests {
    private static let entities = [
        ("App", RouteFolder.entity("Book", "title", "shelf") + RouteFolder.entity("Old", "name")),
        (
            "App 2",
            RouteFolder.entity("Book", "heading<-title", "pages:Integer 32")
                + "<entity name=\"New &lt;b&gt; &quot;x\\&quot;\"><attribute name=\"a\" optional=\"YES\" "
                + "attributeType=\"String\"/></entity>"
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

    @Test("Versions, what can be inferred, and mapping models that lie beside the models; the same by golden in DOT")
    func drawsVersions() throws {
        let app = try folder()
        let dot = try app.done("graph", "App.xcdatamodeld", "--format", "dot").output
        try Golden.expect(dot, is: "graph-versions")
        let svg = try app.done("graph", "App.xcdatamodeld").output
        for word in ["App 3 (current)", "1 change cannot be inferred", ">Text<", "class=\"noneway\""] {
            #expect(svg.contains(word), "\(word)")
        }
        #expect(!svg.contains("<script") && !svg.contains("href"))
    }

    @Test("The difference of two versions: added, removed, renamed and changed, with a sign each; hostile names stay names")
    func drawsDifference() throws {
        let app = try folder()
        let dot = try app.done("graph", "App.xcdatamodeld", "--from", "App", "--to", "App 2", "--format", "dot").output
        try Golden.expect(dot, is: "graph-difference")
        let svg = try app.done("graph", "App.xcdatamodeld", "--from", "App", "--to", "App 2", "-o", "d.svg")
        #expect(svg.output == "Wrote d.svg.\n")
        let text = try String(contentsOfFile: app.folder.file("d.svg"), encoding: .utf8)
        for word in ["1 changed, 1 added, 1 removed, 0 unchanged", "→ title → heading", "− Old", "New &lt;b&gt;"] {
            #expect(text.contains(word), "\(word)")
        }
        #expect(!text.contains("<b>"))
    }

    @Test("The ending of --output chooses the form; a file that Ferry did not draw is refused, one of its own replaced")
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

    @Test("No two boxes touch, with any number of versions, mapping models and entities", arguments: [1, 2, 7, 82, 300])
    func keepsBoxesApart(count: Int) {
        let versions = (0..<count).map {
            VersionDrawing.Version(
                name: "Version \($0)" + String(repeating: "長", count: $0 % 40), isCurrent: $0 == count - 1, entities: 3)
        }
        let links = (0..<(count * 2)).map { number in
            VersionDrawing.Link(
                from: number % count, to: (number * 7 + 1) % count, kind: number % 3 == 0 ? .inferred : .mappingModel,
                label: "Mapping \(number)")
        }
        let drawing = VersionDrawing(versions: versions, links: links)
        let layout = drawing.layout
        let all = layout.versions + Array(layout.mappings.values)
        #expect(!overlap(all))
        #expect(all.allSatisfy { $0.x >= 0 && $0.x + $0.width <= layout.width && $0.y + $0.height <= layout.height })
        let boxes = (0..<count).map { number in
            DifferenceDrawing.Box(
                kind: DifferenceDrawing.Kind.allCases[number % 4], entity: "E\(number)", title: "E\(number)",
                lines: (0..<(number * 5 % 13)).map { "+ property\($0)" }, related: ["E\((number + 3) % count)"])
        }
        let difference = DifferenceDrawing(names: ("A", "B"), boxes: boxes, unchanged: 0).layout
        #expect(!overlap(difference.boxes) && difference.boxes.count == count)
        #expect(difference.boxes.allSatisfy { $0.x + $0.width <= difference.width && $0.y + $0.height <= difference.height })
    }

    private func overlap(_ boxes: [Rect]) -> Bool {
        boxes.indices.contains { index in boxes[(index + 1)...].contains { $0.overlaps(boxes[index]) } }
    }

    @Test(
        "The 82 versions of a real app are drawn below each other, each with its way on",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func drawsManyVersions() throws {
        let app = try RouteFolder()
        let model = try #require(Self.wireModel, "the fixture holds a bundle of models")
        let svg = try app.run("graph", model)
        #expect(svg.exitCode == 0, "\(svg.diagnostics)")
        let boxes = svg.output.components(separatedBy: "<rect class=\"version\"").count - 1
        #expect(boxes == 81, "and one that is current")
        #expect(svg.output.components(separatedBy: "class=\"way\"").count > 50)
    }

    private static var wireModel: String? {
        let folder = Fixtures.path("wire-zmessaging")
        let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return paths.first { $0.hasSuffix(".xcdatamodeld") }.map { folder + "/" + $0 }
    }
}
