internal import Foundation
internal import TestSupport
internal import Testing

/// Changes of join tables that SQLite can tell apart, found by verification against the source.
@Suite("Verified join tables")
struct JoinRowsTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    private static let ownInverse = (
        entity: RouteFolder.link("friends", "Person", "friends"), more: "", table: "Z_1FRIENDS",
        columns: ("Z_1FRIENDS", "REFLEXIVE")
    )
    private static let twoEntities = (
        entity: RouteFolder.link("tags", "Tag", "people"),
        more: "<entity name=\"Tag\">\(RouteFolder.link("people", "Person", "tags"))</entity>",
        table: "Z_1TAGS", columns: ("Z_1PEOPLE", "Z_2TAGS")
    )

    /// Migrates a store in place or to a new one, and returns whether verification finds no difference after a change.
    @Test("Each changed row is a difference", arguments: [true, false], [true, false])
    func changes(isOwnInverse: Bool, inPlace: Bool) throws {
        let form = isOwnInverse ? Self.ownInverse : Self.twoEntities
        try app.model("App", "App 1", RouteFolder.entity("Person", "name", form.entity) + form.more)
        try app.model("App", "App 2", RouteFolder.entity("Person", "name", "more", form.entity) + form.more)
        try app.current("App", "App 2")
        try app.generate("App", "App 1", rows: 12)
        let (table, (a, b)) = (form.table, form.columns)
        // A pair in one direction only.
        try app.execute(
            "DELETE FROM \(table); INSERT INTO \(table) (\(a), \(b)) VALUES (1, 2), (2, 1), (3, 4), (5, 5), (7, 9)")
        try FileManager.default.copyItem(
            atPath: app.folder.file("App.sqlite"), toPath: app.folder.file("New.sqlite"))
        let words = ["--models", "App.xcdatamodeld"]
        if inPlace {
            #expect(try app.run(["migrate", "New.sqlite"] + words).exitCode == 0)
        } else {
            try app.write(
                #"{ "source": "App 1", "destination": "App 2", "entityMappings": [ { "source": "Person", "destination": "Person" }\#(isOwnInverse ? "" : #", { "source": "Tag", "destination": "Tag" }"#) ] }"#,
                to: "map.json")
            let made = try app.run(
                ["migrate", "App.sqlite", "--mappings", "map.json", "--output", "Made.sqlite"] + words)
            #expect(made.exitCode == 0, "\(made)")
        }
        let mappings = inPlace ? [] : ["--mappings", "map.json"]
        let store = inPlace ? "New.sqlite" : "Made.sqlite"
        func verified() throws -> Int32 {
            try app.run(["verify", store, "--source", "App.sqlite"] + words + mappings).exitCode
        }
        #expect(try verified() == 0)
        for (change, back) in [
            ("DELETE FROM \(table) WHERE \(a) = 1", "INSERT INTO \(table) (\(a), \(b)) VALUES (1, 2)"),
            ("UPDATE \(table) SET \(b) = NULL WHERE \(a) = 3", "UPDATE \(table) SET \(b) = 4 WHERE \(a) = 3"),
            ("UPDATE \(table) SET \(a) = NULL WHERE \(b) = 4", "UPDATE \(table) SET \(a) = 3 WHERE \(b) = 4"),
            ("INSERT INTO \(table) (\(a), \(b)) VALUES (NULL, NULL)", "DELETE FROM \(table) WHERE \(a) IS NULL"),
            ("INSERT INTO \(table) (\(a), \(b)) VALUES (1, NULL)", "DELETE FROM \(table) WHERE \(b) IS NULL"),
            ("INSERT INTO \(table) (\(a), \(b)) VALUES (4, 3)", "DELETE FROM \(table) WHERE \(a) = 4"),
            ("UPDATE \(table) SET \(b) = 8 WHERE \(a) = 7", "UPDATE \(table) SET \(b) = 9 WHERE \(a) = 7"),
        ] {
            try app.execute(change, on: store)
            #expect(try verified() == 3, "\(change)")
            try app.execute(back, on: store)
            #expect(try verified() == 0, "\(back)")
        }
    }

    @Test("Bytes behind the end of the cached model are a difference")
    func modelCache() throws {
        let entity = RouteFolder.entity("Person", "name")
        try app.model("App", "App 1", entity)
        try app.model("App", "App 2", RouteFolder.entity("Person", "name", "more"))
        try app.current("App", "App 2")
        try app.generate("App", "App 1")
        try FileManager.default.copyItem(
            atPath: app.folder.file("App.sqlite"), toPath: app.folder.file("New.sqlite"))
        let words = ["--models", "App.xcdatamodeld"]
        #expect(try app.run(["migrate", "New.sqlite"] + words).exitCode == 0)
        let verify = ["verify", "New.sqlite", "--source", "App.sqlite"] + words
        #expect(try app.run(verify).exitCode == 0)
        try app.execute(
            "UPDATE Z_MODELCACHE SET Z_CONTENT = CAST(Z_CONTENT || zeroblob(1000) AS BLOB)", on: "New.sqlite")
        let outcome = try app.run(verify)
        #expect(outcome.exitCode == 3 && outcome.output.contains("Z_MODELCACHE"), "\(outcome)")
    }
}
