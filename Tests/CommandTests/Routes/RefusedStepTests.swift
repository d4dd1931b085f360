internal import Foundation
internal import TestSupport
internal import Testing

/// A plan's output for impossible steps, and the effect of the remedies in refusals.
@Suite("Refusals and their remedies")
struct RefusedStepTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        for (index, attribute) in ["a", "b", "c"].enumerated() {
            try app.model("App", "App \(index + 1)", RouteFolder.entity("Book", "title", attribute))
        }
        try app.current("App", "App 3")
        try app.generate("App", "App 1")
    }

    private func mapping(_ source: String, _ destination: String, _ rest: String) -> String {
        """
        { "source": "\(source)", "destination": "\(destination)", "entityMappings": [
          { "name": "BookToBook", "source": "Book", "destination": "Book"\(rest) } ] }
        """
    }

    @Test("A refused step keeps its number, and the rows of later steps are unknown")
    func numbers() throws {
        try app.write(mapping("App 1", "App 2", #", "policy": "Gone""#), to: "Maps/One.json")
        try app.write(mapping("App 2", "App 3", ""), to: "Maps/Two.json")
        let plan = try app.refused("plan", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps")
        #expect(plan.output.contains("Step 1   App 1 → App 2  (refused)"), "\(plan.output)")
        #expect(plan.output.contains("Step 2   App 2 → App 3  (mapping model Two)"))
        #expect(!plan.output.contains(" Rows ") && !plan.output.contains("?"), "\(plan.output)")
    }

    @Test("A subentity's constraint on an inherited attribute covers the whole table, and preflight checks it")
    func inheritedUniqueness() throws {
        func hierarchy(_ dog: String) -> String {
            RouteFolder.entity("Pet", "nick") + "<entity name=\"Cat\" parentEntity=\"Pet\"/>"
                + "<entity name=\"Dog\" parentEntity=\"Pet\">\(dog)</entity>"
        }
        try app.model("Pets", "Pets", hierarchy(""))
        try app.model(
            "Pets", "Pets 2",
            hierarchy(
                RouteFolder.unique("nick")))
        try app.current("Pets", "Pets 2")
        try app.generate("Pets", "Pets", as: "Pets.sqlite")
        try app.execute(
            "UPDATE ZPET SET ZNICK = CASE WHEN Z_ENT = 2 THEN 'same' ELSE 'n' || Z_PK END", on: "Pets.sqlite")
        let words = ["migrate", "Pets.sqlite", "--models", "Pets.xcdatamodeld"]
        let refused = try app.refused(words[0], words[1], words[2], words[3], store: "Pets.sqlite")
        for word in ["Dog must be unique by nick, but 4 rows share 1 value", "of one entity", "\"where\""] {
            #expect(refused.diagnostics.contains(word), "\(refused.diagnostics)")
        }
        try app.execute("UPDATE ZPET SET ZNICK = NULL WHERE Z_ENT = 2", on: "Pets.sqlite")
        let done = try app.run(words)
        #expect(done.exitCode == 0, "\(done.output)\(done.diagnostics)")
    }

    @Test("A verification without the migration's mapping models names the missing ones")
    func verification() throws {
        try app.write(mapping("App 1", "App 2", #", "attributes": { "b": "$source.a" }"#), to: "Maps/One.json")
        try app.done(
            "migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps", "--to",
            "App 2", "--output",
            "New.sqlite")
        let verify = ["verify", "New.sqlite", "--models", "App.xcdatamodeld", "--source", "App.sqlite"]
        let missing = try app.run(verify)
        #expect(missing.exitCode == 2 && missing.diagnostics.contains("One"), "\(missing.output)\(missing.diagnostics)")
        let given = try app.run(verify + ["--mappings", "Maps"])
        #expect(given.exitCode == 0, "\(given.output)\(given.diagnostics)")
    }

    @Test("A store in an unwritable folder migrates to an output", arguments: [false, true])
    func readOnlyFolder(isCopied: Bool) throws {
        let shelf = app.folder.file("Shelf")
        try FileManager.default.createDirectory(atPath: shelf, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: app.folder.file("App.sqlite"), toPath: shelf + "/App.sqlite")
        try app.execute("PRAGMA journal_mode = WAL", on: "Shelf/App.sqlite")
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: shelf + "/App.sqlite" + suffix) }
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: shelf + "/App.sqlite")
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: shelf)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: shelf) }
        let options = ["FERRY_EXECUTOR=\(isCopied ? "row" : "auto")"]
        let words =
            ["migrate", "--accept-loss", "Shelf/App.sqlite", "--models", "App.xcdatamodeld", "--output", "New.sqlite"]
            + options
        let outcome = try app.runUnprivileged(words)
        #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.diagnostics)")
        #expect(try app.count("SELECT count(*) FROM ZBOOK", in: "New.sqlite") == 4)
    }
}
