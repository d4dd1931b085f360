import Foundation
import TestSupport
import Testing

@Suite("ferry plan --sql")
struct PlanStatementsTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App", RouteFolder.entity("Book", "title"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "year"))
        try app.model("App", "App 3", RouteFolder.entity("Book", "title:Integer 64"))
        try app.current("App", "App 2")
        try app.generate("App", "App", rows: 10)
    }

    private func run(_ words: String...) throws -> FerryBinary.Outcome {
        try FerryBinary.run(words + ["--models", "App.xcdatamodeld"], in: app.folder.path)
    }

    @Test("A step in place prints the purpose of each statement")
    func listsInPlace() throws {
        let outcome = try run("plan", "App.sqlite", "--sql")
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "-- Step 1 of 1: App to App 2.")
        #expect(lines.contains { $0.hasPrefix("ALTER TABLE ZBOOK ADD COLUMN ZYEAR") && $0.hasSuffix(";") }, "\(lines)")
        #expect(try run("plan", "App.sqlite", "--sql").output == outcome.output)
    }

    @Test("JSON has the plan and the statements")
    func listsAsJSON() throws {
        let outcome = try run("plan", "App.sqlite", "--sql", "--json")
        #expect(try JSONSchema("plan").differences(in: outcome.output) == [])
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        let steps = try #require(object?["sql"] as? [[String: Any]])
        #expect(steps.count == 1 && steps[0]["inPlace"] as? Bool == true)
    }

    @Test("A store of the target version has no statements, and a refused plan is shown as without the option")
    func listsNothing() throws {
        #expect(try run("plan", "App.sqlite", "--sql", "--to", "App").output.contains("nothing to run"))
        let refused = try run("plan", "App.sqlite", "--sql", "--to", "App 3")
        #expect(refused.exitCode == 2 && !refused.output.contains("-- Step"))
    }
}
