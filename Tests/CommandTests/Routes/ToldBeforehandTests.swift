internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

/// What plan, inspect and verify say of a store's rows, history and schema.
@Suite("What is told beforehand and afterwards")
struct ToldBeforehandTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    private func versions(_ one: String, _ two: String) throws {
        try app.model("App", "v1", one)
        try app.model("App", "v2", two)
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 4)
    }

    private static let words = ["App.sqlite", "--models", "App.xcdatamodeld"]

    // MARK: History

    private func makeHistory() throws {
        try app.execute(
            """
            CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
                ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB );
            CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT );
            INSERT INTO ATRANSACTION VALUES (1, 16002, NULL, 1.5);
            INSERT INTO ACHANGE VALUES (1, 16001, NULL, 0, 1, 1, 1, NULL, NULL), (2, 16001, NULL, 1, 1, 1, 1, x'40', NULL),
                (3, 16001, NULL, 1, 1, 2, 1, x'20', NULL), (4, 16001, NULL, 1, 2, 1, 1, x'40', NULL),
                (5, 16001, NULL, 2, 1, 9, 1, NULL, x'01');
            INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 5), (16002, 'TRANSACTION', 0, 1)
            """)
    }

    @Test(
        "Changed properties of the history that cannot be coded anew are a loss, in place and in copies",
        arguments: [[], ["--output", "New.sqlite"], ["--mappings", "m.json"]])
    func history(_ way: [String]) throws {
        try versions(
            RouteFolder.entity("Note", "title") + RouteFolder.entity("Tag", "name"),
            RouteFolder.entity("Note", "title", "author") + RouteFolder.entity("Tag", "name"))
        try makeHistory()
        if way.first == "--mappings" {
            try app.write(
                """
                { "source": "v1", "destination": "v2", "entityMappings": [
                  { "name": "N", "source": "Note", "destination": "Note" }, { "name": "T", "source": "Tag", "destination": "Tag" } ] }
                """, to: "m.json")
        }
        let plan = ["plan"] + Self.words + (way.first == "--output" ? [] : way)
        for check in [[], ["--check"]] {
            let planned = try app.run(plan + check)
            #expect(
                planned.exitCode == (check.isEmpty ? 0 : 2)
                    && planned.output.contains("Loses: ACHANGE.ZCOLUMNS, 2 values."), "\(planned)")
        }
        let refused = try app.run(["migrate"] + Self.words + way)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose ACHANGE.ZCOLUMNS"), "\(refused)")
        try app.execute("UPDATE ACHANGE SET ZCOLUMNS = ZCOLUMNS")
        let done = try app.run(["migrate"] + Self.words + way + ["--lose", "ACHANGE.ZCOLUMNS"])
        #expect(done.exitCode == 0 && done.output.contains("ACHANGE  ZCOLUMNS       2"), "\(done)")
        let store = way.first == "--output" ? "New.sqlite" : "App.sqlite"
        // The tag's properties are the same, and nothing is preserved.
        #expect(try app.count("SELECT count(ZCOLUMNS) FROM ACHANGE", in: store) == 1)
        #expect(try app.count("SELECT count(ZTOMBSTONE0) FROM ACHANGE", in: store) == 1)
    }

    @Test("A history whose entities keep their properties loses nothing")
    func keptHistory() throws {
        try versions(
            RouteFolder.entity("Note", "title") + RouteFolder.entity("Tag", "name"),
            RouteFolder.entity("Atlas", "title") + RouteFolder.entity("Note", "title")
                + RouteFolder.entity("Tag", "name"))
        try makeHistory()
        let before = try app.count("SELECT sum(length(ZCOLUMNS)) FROM ACHANGE")
        try app.done(["migrate"] + Self.words)
        #expect(try app.count("SELECT sum(length(ZCOLUMNS)) FROM ACHANGE") == before)
    }

    @Test(
        "A changed byte of the history is found by verify --source",
        arguments: ["ZCOLUMNS", "ZTOMBSTONE0", "ZCHANGETYPE"])
    func verifiedHistory(_ column: String) throws {
        try versions(
            RouteFolder.entity("Note", "title") + RouteFolder.entity("Tag", "name"),
            RouteFolder.entity("Note", "title", "author") + RouteFolder.entity("Tag", "name"))
        try makeHistory()
        for output in [[], ["--output", "New.sqlite"]] {
            try FileManager.default.copyItem(
                atPath: app.folder.file("App.sqlite"), toPath: app.folder.file("Old.sqlite"))
            try app.done(
                ["migrate"] + Self.words
                    + ["--accept-loss"] + (output.isEmpty ? ["--snapshot", "none"] : output))
            let store = output.last ?? "App.sqlite"
            let verify = ["verify", store, "--models", "App.xcdatamodeld", "--source", "Old.sqlite"]
            try app.done(verify)
            try app.execute("UPDATE ACHANGE SET \(column) = x'7f' WHERE Z_PK = 4", on: store)
            #expect(try app.run(verify).exitCode == 3, "\(store)")
            try app.execute("UPDATE ACHANGE SET \(column) = x'7f' WHERE Z_PK = 2", on: store)
            #expect(try app.run(verify).exitCode == 3, "\(store)")
            try FileManager.default.removeItem(atPath: app.folder.file("App.sqlite"))
            try FileManager.default.moveItem(
                atPath: app.folder.file("Old.sqlite"), toPath: app.folder.file("App.sqlite"))
        }
    }

    // MARK: Plan

    @Test("A plan names the scans that it has not made")
    func scans() throws {
        try versions(
            RouteFolder.entity("Note", "title"),
            "<entity name=\"Note\"><attribute name=\"title\" attributeType=\"String\"/>"
                + RouteFolder.unique("title") + "</entity>")
        try app.execute("UPDATE ZNOTE SET ZTITLE = 't' || Z_PK")
        let planned = try app.run(["plan"] + Self.words)
        let line = planned.output.split(separator: "\n").first { $0.hasPrefix("Scans ") } ?? ""
        #expect(planned.exitCode == 0 && line.contains("empty values of the mandatory Note.title"), "\(planned)")
        #expect(line.contains("duplicates of the unique Note.title") && line.contains("damaged"), "\(line)")
        let checked = try app.run(["plan"] + Self.words + ["--check"])
        #expect(checked.exitCode == 0 && !checked.output.contains("Scans "), "\(checked)")
        // What was not scanned decides.
        try app.execute("UPDATE ZNOTE SET ZTITLE = 't'")
        #expect(try app.run(["plan"] + Self.words).exitCode == 0)
        #expect(try app.run(["plan"] + Self.words + ["--check"]).exitCode == 2)
        #expect(try app.run(["migrate"] + Self.words).exitCode == 2)
    }

    // MARK: Inspect and verify

    @Test("An empty mandatory to-one relationship is told by inspect, plan, migrate and verify")
    func emptyRelationship() throws {
        let link = "<relationship name=\"tag\" maxCount=\"1\" minCount=\"1\" destinationEntity=\"Tag\"/>"
        try versions(
            RouteFolder.entity("Note", "title", link) + RouteFolder.entity("Tag", "name"),
            RouteFolder.entity("Note", "title", "author", link) + RouteFolder.entity("Tag", "name"))
        try app.execute("UPDATE ZNOTE SET ZTAG = NULL WHERE Z_PK < 3")
        let inspected = try app.run(["inspect"] + Self.words)
        #expect(inspected.output.contains("missingValue: 2 in Note.tag"), "\(inspected.output)")
        let sentence = "Note.tag is empty in 2 rows"
        #expect(try app.run(["plan"] + Self.words + ["--check"]).output.contains(sentence))
        #expect(try app.run(["migrate"] + Self.words).output.contains(sentence))
        #expect(try app.run(["inspect"] + Self.words).output.contains("missingValue: 2 in Note.tag"))
        let verified = try app.run(["verify"] + Self.words)
        #expect(verified.exitCode == 3, "\(verified)")
    }

    @Test("Objects that an app adds to the schema of a migrated store are told by verify, as the app's")
    func addedObjects() throws {
        try versions(RouteFolder.entity("Note", "title"), RouteFolder.entity("Note", "title", "author"))
        try app.execute("CREATE VIEW app_old AS SELECT ZTITLE FROM ZNOTE")
        try FileManager.default.copyItem(atPath: app.folder.file("App.sqlite"), toPath: app.folder.file("Old.sqlite"))
        try app.done(["migrate"] + Self.words)
        let verify = ["verify"] + Self.words
        let against = try app.run(verify + ["--source", "Old.sqlite"])
        #expect(against.exitCode == 0 && !against.output.contains("not compared"), "\(against)")
        try app.execute(
            """
            CREATE VIEW app_view AS SELECT ZTITLE FROM ZNOTE; CREATE INDEX app_index ON ZNOTE (ZTITLE);
            CREATE TRIGGER app_trigger AFTER UPDATE ON ZNOTE BEGIN SELECT 1; END
            """)
        let seen = try app.run(verify + ["--source", "Old.sqlite"])
        for name in ["view app_view", "index app_index", "trigger app_trigger"] {
            #expect(seen.output.contains(name), "\(seen)")
        }
        #expect(!seen.output.contains("app_old"))
        let alone = try app.run(verify)
        #expect(alone.exitCode == 0 && alone.output.contains("view app_old"), "\(alone)")
    }
}
