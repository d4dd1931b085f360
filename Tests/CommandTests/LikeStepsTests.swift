import Foundation
import TestSupport
import Testing

@testable import FerryCommand

@Suite("Steps of one kind")
struct LikeStepsTests {
    @Test("A plan prints similar steps of a chain in one line")
    func collapses() throws {
        let app = try RouteFolder()
        let versions = (1...6).map { "App \($0)" }
        var attributes: [String] = []
        for version in versions {
            attributes.append("<attribute name=\"a\(attributes.count)\" optional=\"YES\" attributeType=\"String\"/>")
            try app.model("App", version, "<entity name=\"Book\">\(attributes.joined())</entity>")
        }
        try app.generate("App", "App 1")
        try app.write(versions.joined(separator: "\n"), to: "chain")
        let words = ["plan", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 6", "--chain", "chain"]
        let plan = try FerryBinary.run(words, in: app.folder.path)
        #expect(plan.exitCode == 0, "\(plan.diagnostics)")
        #expect(plan.output.contains("\n  App 1 → … → App 6  5 steps, each chosen"), "\(plan.output)")
        #expect(!plan.output.contains("App 2 → App 3  chosen"))
    }
}
