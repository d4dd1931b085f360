internal import Foundation
internal import TestSupport
internal import Testing

/// Versions with equal entity hashes and different renaming identifiers.
@Suite("Equal versions")
struct EqualVersionsTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App 1", RouteFolder.entity("Book", "title"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "heading<-title"))
        try app.model("App", "App 3", RouteFolder.entity("Book", "heading"))
        try app.model("App", "App 4", RouteFolder.entity("Book", "heading", "more"))
        try app.current("App", "App 4")
        try app.write("App 1\nApp 2\nApp 4\n", to: "chain.txt")
        try app.generate("App", "App 1")
        try app.execute("UPDATE ZBOOK SET ZTITLE = 'a'")
    }

    private static let words = ["App.sqlite", "--models", "App.xcdatamodeld"]

    @Test(
        "A chain passes the version whose renaming identifiers keep more",
        arguments: [[], ["--chain", "chain.txt"]])
    func onTheWay(more: [String]) throws {
        let plan = try app.run(["plan"] + Self.words + more)
        #expect(plan.output.contains("Loses nothing") && plan.output.contains("App 1 → App 2 → App 4"), "\(plan)")
        #expect(!plan.output.contains("App 3"), "\(plan)")
        let done = try app.run(["migrate"] + Self.words + more)
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(ZHEADING) FROM ZBOOK") == 4)
    }

    @Test("A requested target stays, and the plan names the other version")
    func target() throws {
        let plan = try app.run(["plan"] + Self.words + ["--to", "App 3"])
        #expect(plan.output.contains("Loses: Book.title, 4 values."), "\(plan)")
        #expect(plan.output.contains("which keep Book.title"), "\(plan)")
        let refused = try app.run(["migrate"] + Self.words + ["--to", "App 3"])
        #expect(refused.exitCode == 2, "\(refused)")
        let done = try app.run(["migrate"] + Self.words + ["--to", "App 2"])
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(ZHEADING) FROM ZBOOK") == 4)
    }
}
