internal import TestSupport
internal import Testing

/// A generated column of an app in a table of Core Data.
@Suite("Generated columns")
struct GeneratedColumnTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App 1", RouteFolder.entity("Book", "title", "pages:Integer 32"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "pages:Integer 64"))
        try app.current("App", "App 2")
        try app.generate("App", "App 1")
        try app.execute("ALTER TABLE ZBOOK ADD COLUMN shout TEXT GENERATED ALWAYS AS (upper(ZTITLE)) VIRTUAL")
    }

    /// Writes the mapping file if the words name it: a mapping file in the folder would have to be given.
    private func mapping(for words: [String]) throws {
        guard words.contains("map.json") else { return }
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
                { "source": "Book", "destination": "Book" }] }
            """, to: "map.json")
    }

    private static let migrate = ["migrate", "App.sqlite", "--models", "App.xcdatamodeld"]

    @Test(
        "A generated column is refused before the run writes, and left out on request",
        arguments: [[], ["--output", "New.sqlite"], ["--mappings", "map.json"]])
    func refusedOrDropped(more: [String]) throws {
        try mapping(for: more)
        let refused = try app.run(Self.migrate + more)
        #expect(
            refused.exitCode == 2
                && refused.diagnostics.contains("generated column ZBOOK.shout is not Core Data's")
                && refused.diagnostics.contains("--drop-unknown ZBOOK.shout"), "\(refused)")
        let planned = try app.run(
            ["plan"] + Self.migrate.dropFirst() + more.filter { !$0.contains("put") && $0 != "New.sqlite" })
        #expect(planned.output.contains("ZBOOK.shout") || planned.diagnostics.contains("ZBOOK.shout"), "\(planned)")
        let repaired = try app.done("repair", "App.sqlite", "--drop-unknown", "zbook.shout")
        #expect(repaired.output.contains("ZBOOK.shout"), "\(repaired)")
        let done = try app.run(Self.migrate + more)
        #expect(done.exitCode == 0, "\(done)")
        let store = more.first == "--output" ? "New.sqlite" : "App.sqlite"
        #expect(
            try app.count("SELECT count(*) FROM pragma_table_xinfo('ZBOOK') WHERE name = 'shout'", in: store) == 0)
        #expect(try app.count("SELECT count(*) FROM ZBOOK", in: store) == 4)
    }

    @Test(
        "An object that names the column is dropped only if it is named, too",
        arguments: [[], ["--mappings", "map.json"]])
    func index(more: [String]) throws {
        try mapping(for: more)
        try app.execute("CREATE INDEX loud ON ZBOOK (shout)")
        let refused = try app.run(["repair", "App.sqlite", "--drop-unknown", "ZBOOK.shout"])
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--drop-unknown loud"), "\(refused)")
        try app.done("repair", "App.sqlite", "--drop-unknown", "ZBOOK.shout", "--drop-unknown", "loud")
        let done = try app.run(Self.migrate + more)
        #expect(done.exitCode == 0, "\(done)")
    }

    @Test("A generated column in an app's own table is carried over")
    func ownTable() throws {
        try app.execute(
            """
            ALTER TABLE ZBOOK DROP COLUMN shout;
            CREATE TABLE notes (text TEXT, loud TEXT AS (upper(text)) STORED);
            INSERT INTO notes (text) VALUES ('a')
            """)
        let more = ["--mappings", "map.json"]
        try mapping(for: more)
        let done = try app.run(Self.migrate + more)
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(*) FROM notes WHERE loud = 'A'") == 1)
    }
}
