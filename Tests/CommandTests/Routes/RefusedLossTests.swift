internal import Foundation
internal import TestSupport
internal import Testing

/// `migrate` refuses to lose what nobody named.
@Suite("Refused losses")
struct RefusedLossTests {
    private let app: RouteFolder
    private let words = ["App.sqlite", "--models", "App.xcdatamodeld"]

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App 1", RouteFolder.entity("Book", "title", "shelf", "note"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title"))
        try app.current("App", "App 2")
        try app.generate("App", "App 1")
        try app.execute("UPDATE ZBOOK SET ZSHELF = 'a', ZNOTE = 'b'")
    }

    @Test("The refusal asks for mapping models, and the command that it prints loses what it names")
    func printedCommand() throws {
        let refused = try app.run(["migrate"] + words)
        #expect(refused.exitCode == 2, "\(refused)")
        #expect(refused.diagnostics.contains("No mapping model was given. Book.note is lost, 4 values: "), "\(refused)")
        #expect(try app.count("SELECT count(ZSHELF) FROM ZBOOK") == 4)
        let line = try #require(
            refused.diagnostics.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                .first { $0.hasPrefix("ferry migrate") })
        #expect(line.hasSuffix("--lose Book.note --lose Book.shelf"))
        let done = try app.run(line.split(separator: " ").dropFirst().map(String.init))
        #expect(done.exitCode == 0 && done.diagnostics.contains("Book.shelf is lost, 4 values"), "\(done)")
    }

    @Test("A loss that --lose does not name is refused, and named alone")
    func oneOfTwo() throws {
        let refused = try app.run(["migrate"] + words + ["--lose", "Book.note"])
        #expect(refused.exitCode == 2 && !refused.diagnostics.contains("Book.note is lost"), "\(refused)")
        #expect(refused.diagnostics.contains("--lose Book.note --lose Book.shelf"), "\(refused)")
    }

    @Test("--accept-loss, ferry.json, and values that are not there let it run")
    func accepted() throws {
        try app.execute("UPDATE ZBOOK SET ZNOTE = NULL")
        #expect(try app.run(["migrate"] + words + ["--output", "1.sqlite"]).exitCode == 2)
        #expect(try app.run(["migrate"] + words + ["--output", "1.sqlite", "--accept-loss"]).exitCode == 0)
        try app.write(#"{ "ferry": 1, "allowedLosses": ["Book.shelf"] }"#, to: "ferry.json")
        #expect(try app.run(["migrate"] + words + ["--output", "2.sqlite"]).exitCode == 0)
        try app.write(#"{ "ferry": 1, "acceptLosses": true }"#, to: "ferry.json")
        #expect(try app.run(["migrate"] + words + ["--output", "3.sqlite"]).exitCode == 0)
        // The old spelling of the default goes before the file, too.
        #expect(try app.run(["migrate"] + words + ["--output", "4.sqlite", "--refuse-loss"]).exitCode == 2)
        try app.write(#"{ "ferry": 1 }"#, to: "ferry.json")
        try app.execute("UPDATE ZBOOK SET ZSHELF = NULL")
        #expect(try app.run(["migrate"] + words).exitCode == 0)
    }

    @Test("The printed command works beside a ferry.json")
    func withConfig() throws {
        try app.write(
            #"{ "ferry": 1, "models": "App.xcdatamodeld", "allowedLosses": ["Book.note"] }"#,
            to: "ferry.json")
        let refused = try app.run("migrate", "App.sqlite")
        let line = try #require(
            refused.diagnostics.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                .first { $0.hasPrefix("ferry migrate") })
        #expect(line == "ferry migrate App.sqlite --lose Book.note --lose Book.shelf")
        #expect(try app.run("migrate", "App.sqlite", "--output", "1.sqlite", "--accept-loss").exitCode == 0)
        #expect(try app.run(line.split(separator: " ").dropFirst().map(String.init)).exitCode == 0)
    }

    @Test("A resumed run does not ask again")
    func resumed() throws {
        let call = ["migrate"] + words + ["--output", "New.sqlite"]
        #expect(try app.run(call + ["--hold-swap", "--accept-loss"]).exitCode == 75)
        #expect(try app.run(call).exitCode == 0)
        #expect(try app.run(["migrate"] + words + ["--output", "Other.sqlite"]).exitCode == 2)
    }

    @Test("plan and --rehearse only report losses")
    func reported() throws {
        for call in [["plan"], ["migrate", "--rehearse"]] {
            let outcome = try app.run(call + words)
            #expect(outcome.exitCode == 0, "\(outcome)")
            #expect((outcome.output + outcome.diagnostics).contains("shelf"), "\(outcome)")
        }
    }

    @Test("Objects that an entity mapping removes are a loss like others")
    func removed() throws {
        try app.model("App", "App 2", RouteFolder.entity("Shelf", "name"))
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
                { "source": "Book", "destination": null }] }
            """, to: "map.json")
        let given = words + ["--mappings", "map.json"]
        #expect(try app.run(["migrate"] + given).exitCode == 2)
        let done = try app.run(["migrate"] + given + ["--lose", "Book"])
        #expect(done.exitCode == 0 && done.diagnostics.contains("Book is lost, 4 objects: "), "\(done)")
    }
}
