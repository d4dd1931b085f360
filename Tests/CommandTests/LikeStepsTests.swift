import Foundation
import TestSupport
import Testing

@testable import FerryCommand

@Suite("Links of a long chain")
struct LikeStepsTests {
    @Test("A plan prints the first links of a long chain")
    func collapses() throws {
        let app = try RouteFolder()
        let versions = (1...12).map { "App \($0)" }
        var attributes: [String] = []
        for version in versions {
            attributes.append("<attribute name=\"a\(attributes.count)\" optional=\"YES\" attributeType=\"String\"/>")
            try app.model("App", version, "<entity name=\"Book\">\(attributes.joined())</entity>")
        }
        try app.generate("App", "App 1")
        try app.write(versions.joined(separator: "\n"), to: "chain")
        let words = ["plan", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 12", "--chain", "chain"]
        let plan = try FerryBinary.run(words, in: app.folder.path)
        #expect(plan.exitCode == 0, "\(plan.diagnostics)")
        #expect(plan.output.contains("\n  App 2 → App 3  chosen"), "\(plan.output)")
        #expect(plan.output.contains("and 3 more; --json has all"), "\(plan.output)")
    }
}
