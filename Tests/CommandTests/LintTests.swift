import Foundation
import TestSupport
import Testing

@testable import FerryCommand

@Suite("ferry diff --check")
struct LintTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App", RouteFolder.entity("Book", "title", "note") + RouteFolder.entity("Old", "name"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "year"))
        try app.model("App", "App 3", RouteFolder.entity("Book", "title", "year", "pages"))
        try app.model("App", "App 4", RouteFolder.entity("Book", "title:Integer 64", "year", "pages"))
    }

    private func lint(_ from: String, _ to: String, _ more: String...) throws -> FerryBinary.Outcome {
        try app.run(["diff", "--check", "App.xcdatamodeld:\(from)", "App.xcdatamodeld:\(to)"] + more)
    }

    @Test("A change that loses data is an error and gives exit 1; an addition is none")
    func findsLosses() throws {
        let lossy = try lint("App", "App 2")
        #expect(lossy.exitCode == 1, "\(lossy)")
        #expect(lossy.output.contains("error: The attribute Book.note is removed: its values are lost."))
        #expect(lossy.output.contains("error: The entity Old is removed: its objects are lost."))
        let safe = try lint("App 2", "App 3")
        #expect(safe.exitCode == 0 && safe.output.contains("  Book.pages: attribute added\n"), "\(safe)")
    }

    @Test("A change that cannot be inferred is a warning, with exit 0")
    func findsObstacles() throws {
        let changed = try lint("App 3", "App 4")
        #expect(changed.exitCode == 0 && changed.output.contains("warning: Book.title needs a mapping model: "))
    }

    @Test("What a mapping model carries is no finding, and what it loses is an error")
    func takesMappings() throws {
        func mapping(_ note: String, _ more: String = "") -> String {
            """
            { "source": "App", "destination": "App 2", "entityMappings": [
              { "source": "Book", "destination": "Book", "attributes": { \(note) }\(more) },
              { "name": "Olds", "source": "Old", "destination": "Book", "attributes": { "title": "$source.name" } } ] }
            """
        }
        try app.write(mapping("\"year\": \"$source.note\""), to: "Maps/good.json")
        let carried = try lint("App", "App 2", "--mappings", "Maps")
        #expect(carried.exitCode == 0 && carried.output.contains("carry everything over"), "\(carried)")
        try app.write(mapping(""), to: "Maps/good.json")
        let lossy = try lint("App", "App 2", "--mappings", "Maps")
        #expect(lossy.exitCode == 1 && lossy.output.contains("error: Book.note is lost: "), "\(lossy)")
        #expect(!lossy.output.contains("error: The entity Old"), "\(lossy)")
        try app.write(mapping("", ", \"policy\": \"BookPolicy\""), to: "Maps/good.json")
        let coded = try lint("App", "App 2", "--mappings", "Maps")
        #expect(coded.exitCode == 0 && coded.output.contains("warning: good.json: "), "\(coded)")
        let other = try lint("App 2", "App 3", "--mappings", "Maps")
        #expect(other.exitCode == 0 && other.diagnostics.contains("None of the mapping models leads from App 2"))
    }

    @Test("A finding has the line of its element; a removed property that of its entity")
    func tellsLines() throws {
        try app.model(
            "App", "App 5",
            "\n<entity name=\"Book\">\n<attribute name=\"title\" optional=\"YES\"\n "
                + "attributeType=\"Integer 64\"/></entity>")
        let lines = try lint("App", "App 5", "--format", "github").output.split(separator: "\n").map(String.init)
        for text in ["line=4::Book.title needs", "line=3::The attribute Book.note", "line=1::The entity Old"] {
            #expect(lines.contains { $0.contains(text) }, "\(text): \(lines)")
        }
    }

    @Test("Findings are annotations of GitHub, SARIF, or the object of --json")
    func writesForms() throws {
        let github = try lint("App", "App 2", "--format", "github")
        #expect(github.exitCode == 1)
        let lines = github.output.split(separator: "\n")
        #expect(
            lines.count == 2
                && lines.allSatisfy { $0.hasPrefix("::error file=App.xcdatamodeld/App 2.xcdatamodel/contents,line=") })

        struct SARIF: Decodable {
            struct Run: Decodable { var results: [Result] }
            struct Result: Decodable { var ruleId: String, level: String }
            var version: String
            var runs: [Run]
        }
        let output = try lint("App", "App 2", "--format", "sarif").output
        let sarif = try JSONDecoder().decode(SARIF.self, from: Data(output.utf8))
        #expect(sarif.version == "2.1.0")
        #expect(Set(sarif.runs.flatMap(\.results).map(\.ruleId)) == ["attributeRemoved", "entityRemoved"])
        #expect(output.contains(#""uri":"App.xcdatamodeld/App%202.xcdatamodel/contents""#), "\(output)")

        struct Object: Decodable {
            struct Finding: Decodable { var level: String, rule: String, place: String, message: String }
            var findings: [Finding]
        }
        for words in [["--json"], ["--format", "json"]] {
            let text = try app.run(["diff", "--check", "App.xcdatamodeld:App", "App.xcdatamodeld:App 2"] + words).output
            let object = try JSONDecoder().decode(Object.self, from: Data(text.utf8))
            #expect(object.findings.map(\.place).sorted() == ["Book.note", "Old"])
        }
    }
}
