internal import Foundation
internal import TestSupport
internal import Testing

/// Small cases from public reports, with models that nobody here made.
@Suite("Cases from the field", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct FieldTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    private func model(_ name: String, of test: String) -> String { Fixtures.path("field/\(test)/\(name)") }

    private func generate(_ model: String, rows: Int) throws {
        let made = try app.run(
            "generate", model, "--version", "v1", "--rows", "\(rows)", "--output", "App.sqlite", "--quiet")
        try #require(made.exitCode == 0, "\(made.diagnostics)")
    }

    @Test("Links of a to-many relationship without inverse beyond the first of each object are losses")
    func linksWithoutInverse() throws {
        let model = model("one.xcdatamodeld", of: "tomany-without-inverse")
        try generate(model, rows: 6)
        try app.execute(
            "UPDATE ZA SET ZB = CASE WHEN Z_PK < 4 THEN 2 WHEN Z_PK = 4 THEN 3 END")
        let refused = try app.run("migrate", "App.sqlite", "--models", model)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("A.b is lost, 2 values: "), "\(refused)")
        let done = try app.run("migrate", "App.sqlite", "--models", model, "--lose", "A.b")
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(Z1BS) FROM ZB") == 2)
    }

    @Test(
        "A new uniqueness constraint: the printed command merges duplicates, leaves nil alone, and tells what is lost")
    func uniqueMerges() throws {
        let model = model("uniq.xcdatamodeld", of: "unique-merges-unsaid")
        try generate(model, rows: 8)
        try app.execute(
            """
            UPDATE ZUSER SET ZNAME = 'n' || Z_PK, ZREMOTEID = CASE WHEN Z_PK <= 3 THEN 'r1' WHEN Z_PK = 8 THEN 'r8' END,
                ZDOMAIN = CASE WHEN Z_PK NOT IN (6, 7) THEN 'd' END
            """)
        let refused = try app.run("migrate", "App.sqlite", "--models", model, "--no-mappings")
        #expect(refused.exitCode == 2)
        let command = try #require(
            refused.diagnostics.split(separator: "\n").first { $0.contains("ferry mapping init ") })
        let words = command.split(separator: " ").map(String.init)
        #expect(try app.run(Array(words.dropFirst())).exitCode == 0, "\(command)")
        for mapping in ["merging.json", Fixtures.path("field/unique-merges-unsaid/uniq.json")] {
            let all = ["App.sqlite", "--models", model, "--mappings", mapping]
            let planned = try app.run(["plan"] + all + ["--check"])
            #expect(planned.exitCode == 2 && planned.output.contains("Loses: User.name, 2 values."), "\(planned)")
            let lossy = try app.run(["migrate"] + all)
            #expect(lossy.exitCode == 2 && lossy.diagnostics.contains("--lose User.name"), "\(lossy)")
        }
        let done = try app.run(
            "migrate", "App.sqlite", "--models", model, "--mappings", "merging.json", "--lose",
            "User.name")
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(*) FROM ZUSER") == 6)
        #expect(try app.count("SELECT count(*) FROM ZUSER WHERE ZNAME IN ('n1', 'n4', 'n5', 'n6', 'n7', 'n8')") == 6)
    }

    @Test("A mapping file that makes a to-one relationship to-many without inverse tells the links that it loses")
    func linksByMappingFile() throws {
        let store = try Fixtures.copyStore("resourcesmanager/default.store", into: app.folder)
        let folder = Fixtures.path("resourcesmanager")
        let words = [
            store, "--models", folder, "--mappings", folder + "/res.json", "--to", "Res2",
        ]
        let planned = try app.run(["plan"] + words + ["--check"])
        #expect(planned.exitCode == 2 && planned.output.contains("Loses: Component.item, 1 value"), "\(planned)")
        #expect(try app.run(["migrate"] + words).exitCode == 2)
    }

    @Test("Values and rows under the names of new columns and tables are losses, counted also without --check")
    func leftovers() throws {
        let model = model("pin.xcdatamodeld", of: "leftover-values-unsaid")
        try generate(model, rows: 4)
        try app.execute(
            """
            ALTER TABLE ZREC ADD COLUMN ZMETRICS VARCHAR; UPDATE ZREC SET ZMETRICS = 'kept';
            CREATE TABLE ZPRESET (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZSORT INTEGER, ZNAME VARCHAR);
            INSERT INTO ZPRESET VALUES (7, 1, 1, 0, 'left')
            """)
        let words = ["App.sqlite", "--models", model, "--to", "v2"]
        for check in [[], ["--check"]] {
            let planned = try app.run(["plan"] + words + check)
            #expect(planned.output.contains("Loses: Preset, 1 object; Rec.metrics, 4 values."), "\(planned.output)")
        }
        let refused = try app.run(["migrate"] + words)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose Preset --lose Rec.metrics"), "\(refused)")
        #expect(try app.count("SELECT count(ZMETRICS) FROM ZREC") == 4)
        let done = try app.run(["migrate"] + words + ["--accept-loss", "--quiet"])
        #expect(done.exitCode == 0 && done.diagnostics.contains("Rec.metrics is lost, 4 values: "), "\(done)")
    }

    @Test("A mandatory to-one relationship that is empty in rows of the store is told before and after")
    func emptyMandatoryRelationship() throws {
        let model = model("wp.xcdatamodeld", of: "mandatory-to-one-untold")
        try generate(model, rows: 4)
        try app.execute("UPDATE ZPOST SET ZBLOG = NULL WHERE Z_PK IN (1, 2)")
        let sentence = "Post.blog is empty in 2 rows"
        #expect(try app.run("plan", "App.sqlite", "--models", model, "--check").output.contains(sentence))
        let done = try app.run("migrate", "App.sqlite", "--models", model)
        #expect(done.exitCode == 0 && done.output.contains(sentence), "\(done)")
    }

    @Test("A to-many relationship with too few or too many objects is told by all four commands")
    func wrongCount() throws {
        func entities(_ more: String) -> String {
            "<entity name=\"Blog\"><attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>\(more)"
                + "<relationship name=\"posts\" toMany=\"YES\" minCount=\"2\" maxCount=\"3\" destinationEntity=\"Post\" "
                + "inverseName=\"blog\" inverseEntity=\"Post\"/></entity><entity name=\"Post\">"
                + "<relationship name=\"blog\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"Blog\" "
                + "inverseName=\"posts\" inverseEntity=\"Blog\"/></entity>"
        }
        try app.model("App", "v1", entities(""))
        try app.model("App", "v2", entities("<attribute name=\"more\" optional=\"YES\" attributeType=\"String\"/>"))
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 6)
        let words = ["App.sqlite", "--models", "App.xcdatamodeld"]
        try app.execute("DELETE FROM ZPOST WHERE Z_PK > 6")
        try app.execute("UPDATE ZPOST SET ZBLOG = (Z_PK + 1) / 2; DELETE FROM ZBLOG WHERE Z_PK > 3")
        #expect(try app.run(["verify"] + words).exitCode == 0)
        #expect(try !app.run(["inspect"] + words).output.contains("wrongCount"))
        // One post, five posts, none.
        try app.execute("UPDATE ZPOST SET ZBLOG = CASE Z_PK WHEN 1 THEN 1 ELSE 2 END")
        #expect(try app.run(["inspect"] + words).output.contains("wrongCount: 3 in Blog.posts"))
        let sentence = "Blog.posts has too few or too many objects in 3 rows: the store's own version allows 2 to 3."
        let planned = try app.run(["plan"] + words + ["--check"])
        #expect(planned.exitCode == 0 && planned.output.contains(sentence), "\(planned)")
        let done = try app.run(["migrate"] + words)
        #expect(done.exitCode == 0 && done.output.contains(sentence), "\(done)")
        #expect(done.output.contains("wrongCount kept in 3 of Blog.posts"), "\(done)")
        let verified = try app.run(["verify"] + words)
        #expect(verified.exitCode == 3 && verified.output.contains("Blog"), "\(verified)")
    }

    @Test("A plan lists every reason, also beside a version whose layout is not known", arguments: [[], ["--check"]])
    func allReasons(_ words: [String]) throws {
        func friends(_ isOrdered: Bool) -> String {
            RouteFolder.link("friends", "Person", "friends", isOrdered: isOrdered)
        }
        try app.model("App", "v1", RouteFolder.entity("Person", "gone", friends(false)))
        try app.model("App", "v2", RouteFolder.entity("Person", friends(true)))
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 4)
        let plan = try app.run(["plan", "App.sqlite", "--models", "App.xcdatamodeld"] + words)
        #expect(plan.exitCode == 2 && plan.output.contains("layout of Person.friends is not known"), "\(plan)")
        #expect(plan.output.contains("Person  gone"), "\(plan)")
    }

    @Test("A filter that fails on a row is refused beforehand", arguments: ["plan", "migrate"])
    func failingFilter(_ command: String) throws {
        try app.model("App", "v1", RouteFolder.entity("Book", "title"))
        try app.model("App", "v2", RouteFolder.entity("Book", "title", "more"))
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 4)
        try app.execute("UPDATE ZBOOK SET ZTITLE = CASE Z_PK WHEN 3 THEN 'x' ELSE '2' END")
        try app.write(
            """
            { "source": "v1", "destination": "v2", "entityMappings": [
              { "source": "Book", "destination": "Book", "where": "CAST(title, 'NSNumber') > 1" } ] }
            """, to: "m.json")
        let words = ["App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "m.json", "--accept-loss"]
        let refused = try app.run([command] + words + (command == "plan" ? ["--check"] : []))
        let text = refused.output + refused.diagnostics
        #expect(
            refused.exitCode == 2 && text.contains("The `where` of entity mapping \"BookToBook\" fails"), "\(refused)")
        #expect(text.contains("key 3"), "\(refused)")
    }

    @Test("A draft leaves links that need a choice to the rule that its author writes")
    func choice() throws {
        func entities(toMany: Bool) -> String {
            RouteFolder.entity("Shelf", RouteFolder.link("books", "Book", "shelf", toMany: toMany))
                + RouteFolder.entity("Book", RouteFolder.link("shelf", "Shelf", "books", toMany: false))
        }
        try app.model("App", "v1", entities(toMany: true))
        try app.model("App", "v2", entities(toMany: false))
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 4)
        try app.execute("UPDATE ZBOOK SET ZSHELF = 2")
        let versions = ["v1", "v2"].map { "App.xcdatamodeld/\($0).xcdatamodel" }
        let draft = try app.run(["mapping", "init"] + versions)
        try app.write(draft.output.replacing(#/"\? [^"]*"/#, with: "\"$source.books[LAST]\""), to: "m.json")
        let done = try app.run(
            ["migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "m.json", "--accept-loss"])
        #expect(done.exitCode == 0, "\(draft) \(done)")
        #expect(try app.count("SELECT max(Z_PK * (ZSHELF IS NOT NULL)) FROM ZBOOK") == 4)
        #expect(try app.count("SELECT count(ZSHELF) FROM ZBOOK") == 1)
    }

    @Test("A number of related objects is counted where the old version has no inverse")
    func countOfNewInverse() throws {
        func blog(_ inverse: String) -> String {
            "<relationship name=\"blog\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"Blog\"\(inverse)/>"
                + "</entity>"
        }
        let posts =
            "<relationship name=\"posts\" toMany=\"YES\" minCount=\"2\" maxCount=\"3\" destinationEntity=\"Post\" "
        try app.model("App", "v1", "<entity name=\"Blog\"/><entity name=\"Post\">" + blog(""))
        try app.model(
            "App", "v2",
            "<entity name=\"Blog\">\(posts)inverseName=\"blog\" inverseEntity=\"Post\"/></entity><entity name=\"Post\">"
                + blog(" inverseName=\"posts\" inverseEntity=\"Blog\""))
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 6)
        try app.execute("UPDATE ZPOST SET ZBLOG = 1 + (Z_PK > 3)")
        let words = ["App.sqlite", "--models", "App.xcdatamodeld"]
        let planned = try app.run(["plan"] + words + ["--check"])
        let sentence = "Blog.posts has too few or too many objects in 4 rows: Blog.posts allows 2 to 3."
        #expect(planned.exitCode == 0 && planned.output.contains(sentence), "\(planned)")
    }

    @Test(
        "What models and counts tell is refused by plan without --check", arguments: ["mand", "mkabs", "comp2"])
    func planRefuses(_ name: String) throws {
        let model = model("\(name).xcdatamodeld", of: "plan-says-runs")
        try generate(model, rows: 3)
        let planned = try app.run("plan", "App.sqlite", "--models", model)
        #expect(planned.exitCode == 2 && planned.output.hasPrefix("Refused, for 1 reason."), "\(planned)")
        #expect(try app.run("migrate", "App.sqlite", "--models", model).exitCode == 2)
        // Without rows nothing is in the way.
        try app.execute("DELETE FROM \(name == "mand" ? "ZSTREET" : name == "mkabs" ? "ZBASE" : "ZINTERVAL")")
        #expect(try app.run("plan", "App.sqlite", "--models", model).exitCode == 0)
        #expect(try app.run("migrate", "App.sqlite", "--models", model).exitCode == 0)
    }

    @Test("After a refused step nothing later is checked against the store")
    func refusedStep() throws {
        let folder = Fixtures.path("field/false-damage-reason")
        try generate(folder + "/falsedamage.xcdatamodeld", rows: 3)
        for check in [[], ["--check"]] {
            let planned = try app.run(
                ["plan", "App.sqlite", "--models", folder + "/falsedamage.xcdatamodeld", "--mappings"]
                    + [folder + "/m.json"] + check)
            #expect(planned.exitCode == 2 && planned.output.hasPrefix("Refused, for 1 reason."), "\(planned.output)")
            #expect(!planned.output.contains("backup"), "\(planned.output)")
        }
    }

    @Test("Verification against the source expects no value of an attribute that moved to a subentity")
    func movedAttribute() throws {
        let model = model("down1.xcdatamodeld", of: "verify-source-false-difference")
        try generate(model, rows: 2)
        let manager = FileManager.default
        try manager.copyItem(atPath: app.folder.file("App.sqlite"), toPath: app.folder.file("Old.sqlite"))
        #expect(
            try app.run("migrate", "--accept-loss", "App.sqlite", "--models", model, "--snapshot", "none").exitCode == 0
        )
        let verified = try app.run("verify", "App.sqlite", "--models", model, "--source", "Old.sqlite")
        #expect(verified.exitCode == 0 && verified.output.contains("4 rows compared"), "\(verified)")
        // A value that stayed is a difference.
        try app.execute("UPDATE ZBASE SET ZTITLE = 'kept' WHERE Z_PK = 1")
        #expect(try app.run("verify", "App.sqlite", "--models", model, "--source", "Old.sqlite").exitCode == 3)
    }
}
