import FerryCommand
import Foundation
import TestSupport
import Testing

@Suite("ferry lint")
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
        try app.run(["lint", "App.xcdatamodeld:\(from)", "App.xcdatamodeld:\(to)"] + more)
    }

    @Test("A change that loses data is an error and gives exit 1; an addition is none")
    func findsLosses() throws {
        let lossy = try lint("App", "App 2")
        #expect(lossy.exitCode == 1, "\(lossy)")
        #expect(lossy.output.contains("error: The attribute Book.note is removed: its values are lost."))
        #expect(lossy.output.contains("error: The entity Old is removed: its objects are lost."))
        let safe = try lint("App 2", "App 3")
        #expect(safe.exitCode == 0 && safe.output == "App 2 → App 3: no findings.\n", "\(safe)")
    }

    @Test("A change that cannot be inferred is a warning, with exit 0")
    func findsObstacles() throws {
        let changed = try lint("App 3", "App 4")
        #expect(changed.exitCode == 0 && changed.output.contains("warning: Book.title needs a mapping model: "))
    }

    @Test("Findings are annotations of GitHub, SARIF, or the object of --json")
    func writesForms() throws {
        let github = try lint("App", "App 2", "--format", "github")
        #expect(github.exitCode == 1)
        let lines = github.output.split(separator: "\n")
        #expect(
            lines.count == 2 && lines.allSatisfy { $0.hasPrefix("::error file=App.xcdatamodeld/App 2.xcdatamodel") })

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

        struct Object: Decodable {
            struct Finding: Decodable { var level: String, rule: String, place: String, message: String }
            var findings: [Finding]
        }
        for words in [["--json"], ["--format", "json"]] {
            let text = try app.run(["lint", "App.xcdatamodeld:App", "App.xcdatamodeld:App 2"] + words).output
            let object = try JSONDecoder().decode(Object.self, from: Data(text.utf8))
            #expect(object.findings.map(\.place).sorted() == ["Book.note", "Old"])
        }
    }
}
