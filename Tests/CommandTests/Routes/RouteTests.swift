internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

/// The choice of a chain between versions, its losses, and its target.
@Suite("Routes")
struct RouteTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    private func versions(_ entities: String..., bundle: String = "App") throws {
        for (index, entity) in entities.enumerated() {
            try app.model(bundle, "\(bundle) \(index + 1)", entity)
        }
        try app.current(bundle, "\(bundle) \(entities.count)")
    }

    private struct Plan: Decodable {
        struct Refusal: Decodable { var code, message: String }
        var chain: [String]
        var losses: [PlannedLoss]
        var refusals: [Refusal]
        var notes: [String]
    }

    private func plan(_ rest: String...) throws -> Plan {
        let outcome = try app.run(["plan", "App.sqlite", "--models", "App.xcdatamodeld", "--json"] + rest)
        return try JSONDecoder().decode(Plan.self, from: Data(outcome.output.utf8))
    }

    // MARK: Ways

    @Test("An attribute that one version lacks is kept by one inferred mapping past that version")
    func straight() throws {
        try versions(
            RouteFolder.entity("Book", "title", "note"), RouteFolder.entity("Book", "title", "pages:Integer 32"),
            RouteFolder.entity("Book", "title", "note", "pages:Integer 32"))
        try app.generate("App", "App 1")
        try app.execute("UPDATE ZBOOK SET ZNOTE = 'kept ' || Z_PK")
        let plan = try plan()
        #expect(plan.chain == ["App 1", "App 3"] && plan.losses.isEmpty && plan.refusals.isEmpty)
        try app.done("migrate", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(try app.count("SELECT count(*) FROM ZBOOK WHERE ZNOTE = 'kept ' || Z_PK") == 4)
    }

    @Test("A renaming identifier that names only the preceding version leads over that version")
    func stepwise() throws {
        try versions(
            RouteFolder.entity("Book", "title"), RouteFolder.entity("Book", "name<-title"),
            RouteFolder.entity("Book", "heading<-name"))
        try app.generate("App", "App 1")
        let titles = try app.count("SELECT count(ZTITLE) FROM ZBOOK")
        let plan = try plan()
        #expect(plan.chain == ["App 1", "App 2", "App 3"] && plan.losses.isEmpty)
        #expect(plan.notes.contains { $0.contains("preferred to App 1 → App 3") && $0.contains("Book.title") })
        try app.done("migrate", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(try app.count("SELECT count(ZHEADING) FROM ZBOOK") == titles && titles > 0)
    }

    @Test("A store is refused if each chain loses something else, unless no row has it or a chain is given")
    func open() throws {
        try versions(
            RouteFolder.entity("Book", "title", "note"), RouteFolder.entity("Book", "name<-title"),
            RouteFolder.entity("Book", "heading<-name", "note"))
        try app.generate("App", "App 1")
        try app.execute("UPDATE ZBOOK SET ZNOTE = 'n', ZTITLE = 't'")
        let outcome = try app.refused("migrate", "App.sqlite", "--models", "App.xcdatamodeld")
        for words in ["App 1 → App 3 loses Book.title;", "App 1 → App 2 → App 3 loses Book.note.", "--chain FILE"] {
            #expect(outcome.diagnostics.contains(words), "\(outcome.diagnostics)")
        }
        #expect(try plan().refusals.map(\.code) == ["ambiguousChain"])
        try app.write("App 1\nApp 3\n", to: "Chain.txt")
        let chosen = try plan("--chain", "Chain.txt")
        #expect(chosen.refusals.isEmpty && chosen.losses.map(\.property) == ["title"])
        try app.execute("UPDATE ZBOOK SET ZNOTE = NULL")
        #expect(try plan().chain == ["App 1", "App 2", "App 3"])
        try app.execute("UPDATE ZBOOK SET ZNOTE = 'n', ZTITLE = NULL")
        #expect(try plan().chain == ["App 1", "App 3"])
    }

    @Test("The rows of each of several stores of one version decide its chain")
    func opensEach() throws {
        try versions(
            RouteFolder.entity("Book", "title", "note"), RouteFolder.entity("Book", "name<-title"),
            RouteFolder.entity("Book", "heading<-name", "note"))
        let rows = ["A.sqlite": "ZNOTE = 'n', ZTITLE = 't'", "B.sqlite": "ZNOTE = NULL", "C.sqlite": "ZTITLE = NULL"]
        for (store, values) in rows {
            try app.generate("App", "App 1", as: store)
            try app.execute("UPDATE ZBOOK SET ZNOTE = 'n', ZTITLE = 't'; UPDATE ZBOOK SET \(values)", on: store)
        }
        let outcome = try app.run(
            ["migrate", "B.sqlite", "A.sqlite", "C.sqlite", "--models", "App.xcdatamodeld", "--json"])
        struct Series: Decodable {
            struct Store: Decodable {
                struct Failure: Decodable { var code: String }
                var chain: [String]?
                var error: Failure?
            }
            var stores: [Store]
        }
        let stores = try JSONDecoder().decode(Series.self, from: Data(outcome.output.utf8)).stores
        #expect(stores.map(\.error?.code) == [nil, "ambiguousChain", nil])
        #expect(stores[0].chain == ["App 1", "App 2", "App 3"] && stores[2].chain == ["App 1", "App 3"])
        #expect(try app.count("SELECT count(*) FROM ZBOOK WHERE ZHEADING = 't'", in: "B.sqlite") == 4)
        #expect(try app.count("SELECT count(*) FROM ZBOOK WHERE ZNOTE = 'n'", in: "C.sqlite") == 4)
    }

    @Test("The chain passes the versions in between if one mapping cannot be inferred, and the reverse")
    func cannotBeInferred() throws {
        // Past the version in between, an attribute of the same name has another type.
        try versions(
            RouteFolder.entity("Book", "title", "year:Date"), RouteFolder.entity("Book", "title"),
            RouteFolder.entity("Book", "title", "year:Integer 32"))
        try app.generate("App", "App 1")
        let plan = try plan()
        #expect(plan.chain == ["App 1", "App 2", "App 3"])
        #expect(plan.losses.map(\.name) == ["Book.year"])
        #expect(plan.notes.contains { $0.contains("App 1 → App 3 cannot be inferred") })
    }

    @Test("Mapping models have precedence; the other steps are one inferred mapping")
    func mapped() throws {
        try versions(
            RouteFolder.entity("Book", "title"), RouteFolder.entity("Book", "title", "b"),
            RouteFolder.entity("Book", "title", "c"), RouteFolder.entity("Book", "title", "d"),
            RouteFolder.entity("Book", "title", "e"))
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "name": "BookToBook", "source": "Book", "destination": "Book" } ] }
            """, to: "Maps/One.json")
        try app.generate("App", "App 1")
        #expect(try plan("--mappings", "Maps").chain == ["App 1", "App 2", "App 5"])
    }

    // MARK: Losses

    @Test("A plan begins with its verdict, and the report and both JSONs list the losses")
    func losses() throws {
        try versions(
            RouteFolder.entity("Book", "title", "writer") + RouteFolder.entity("Note", "text"),
            RouteFolder.entity("Book", "title"))
        try app.generate("App", "App 1")
        try app.execute("UPDATE ZBOOK SET ZWRITER = CASE WHEN Z_PK > 1 THEN 'w' END")
        let text = try app.done("plan", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(text.output.hasPrefix("Runs. Loses: Book.writer, 3 values; Note, 4 objects.\n"), "\(text.output)")
        let plan = try plan()
        #expect(plan.losses.map(\.values) == [3, nil] && plan.losses.map(\.rows) == [3, 4])
        #expect(plan.losses.allSatisfy { $0.because == "App 2 does not have it" })
        let refused = try app.refused("migrate", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(refused.diagnostics.contains("--lose Book.writer --lose Note"))
        try app.refused(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--lose", "Book.writer")
        let done = try app.done(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--lose", "Book.writer", "--lose",
            "Note", "--json")
        struct Report: Decodable { var losses: [PlannedLoss] }
        let report = try JSONDecoder().decode(Report.self, from: Data(done.output.utf8))
        #expect(report.losses.map(\.rows) == [3, 4])
    }

    @Test("Objects that a mapping model filters out, and attributes that it does not read or narrows, are reported")
    func mappedLosses() throws {
        try versions(
            RouteFolder.entity("Book", "title", "note", "price:Double", "kept") + RouteFolder.entity("Old", "x"),
            RouteFolder.entity("Book", "heading", "note", "price:Integer 32", "kept"))
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "name": "BookToBook", "source": "Book", "destination": "Book", "where": "title != nil",
                "attributes": { "heading": "$source.title", "note": null } } ] }
            """, to: "Maps/One.json")
        try app.generate("App", "App 1")
        try app.execute("UPDATE ZBOOK SET ZTITLE = CASE WHEN Z_PK > 1 THEN 't' END, ZNOTE = 'n', ZPRICE = Z_PK * 0.5")
        let plan = try plan("--mappings", "Maps")
        let told = plan.losses.map {
            "\($0.entity).\($0.property ?? "") \($0.rows.map(String.init) ?? "?") \($0.because)"
        }
        #expect(
            told == [
                "Book.note 4 no entity mapping to App 2 carries it", "Old. 4 no entity mapping to App 2 maps Old",
                "Book. 1 some objects do not meet the filters of the entity mappings to App 2",
                "Book.price 1 App 2 stores it as integer32",
            ])
        let done = try app.done(
            "migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps", "--json")
        #expect(done.output.contains("some objects do not meet the filters"))
        #expect(try app.count("SELECT count(*) FROM ZBOOK") == 3)
    }

    @Test("Exactly the values that a narrower type changes are counted")
    func narrowed() throws {
        try versions(
            RouteFolder.entity(
                "Book", "toFloat:Double", "toFlag:Integer 32", "toWhole:Double", "bigToDouble:Integer 64",
                "bigToFloat:Integer 64", "smaller:Integer 64", "wider:Integer 16", "same:Double"),
            RouteFolder.entity(
                "Book", "toFloat:Float", "toFlag:Boolean", "toWhole:Integer 16", "bigToDouble:Double",
                "bigToFloat:Float", "smaller:Integer 16", "wider:Integer 64", "same:Double"))
        try app.generate("App", "App 1")
        try app.execute(
            """
            UPDATE ZBOOK SET ZTOFLOAT = CASE Z_PK WHEN 1 THEN 0.5 WHEN 2 THEN 0.1 WHEN 3 THEN NULL ELSE 0.3 END,
                ZTOFLAG = CASE Z_PK WHEN 1 THEN 0 WHEN 2 THEN 1 WHEN 3 THEN 7 ELSE NULL END,
                ZTOWHOLE = CASE Z_PK WHEN 1 THEN 1.0 WHEN 2 THEN 1.25 WHEN 3 THEN -0.5 ELSE 3.75 END,
                ZBIGTODOUBLE = CASE Z_PK WHEN 1 THEN 9007199254740993 ELSE 9007199254740992 END,
                ZBIGTOFLOAT = CASE Z_PK WHEN 1 THEN 16777217 WHEN 2 THEN 16777219 ELSE 16777216 END,
                ZSMALLER = Z_PK, ZWIDER = 3, ZSAME = 0.1
            """)
        let expected = [
            "bigToDouble 1 double", "bigToFloat 2 float", "toFlag 1 boolean", "toFloat 2 float", "toWhole 3 integer16",
        ]
        let told = try plan().losses.map {
            "\($0.property ?? "") \($0.rows.map(String.init) ?? "?") "
                + $0.because.replacingOccurrences(of: "App 2 stores it as ", with: "")
        }
        #expect(told.sorted() == expected)
        let done = try app.done("migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld")
        for line in [
            "toFlag            1  App 2 stores it as boolean", "toFloat           2  App 2 stores it as float",
        ] {
            #expect(done.output.contains(line), "\(done.output)")
        }
        // The migrated values confirm this.
        #expect(try app.count("SELECT count(*) FROM ZBOOK WHERE ZTOFLOAT IN (0.1, 0.3)") == 0)
        #expect(try app.count("SELECT ZTOFLAG FROM ZBOOK WHERE Z_PK = 3") == 1)
    }

    @Test("A value that a narrower type cannot hold is refused, and the store stays unchanged")
    func doesNotFit() throws {
        try versions(
            RouteFolder.entity("Book", "pages:Integer 64"), RouteFolder.entity("Book", "pages:Integer 16"))
        try app.generate("App", "App 1")
        try app.execute("UPDATE ZBOOK SET ZPAGES = 70000 WHERE Z_PK = 2")
        let failed = try app.run("migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(failed.exitCode == 2 && failed.diagnostics.contains("the value is out of range"), "\(failed)")
        #expect(try app.count("SELECT ZPAGES FROM ZBOOK WHERE Z_PK = 2") == 70_000)
    }

    @Test("Lost links are those of the losing entity, not of its whole hierarchy")
    func lostLinks() throws {
        func entities(_ own: String) -> String {
            "<entity name=\"Author\" parentEntity=\"Person\">\(own)</entity>"
                + "<entity name=\"Person\">\(RouteFolder.link("friends", "Tag", "people"))</entity>"
                + "<entity name=\"Tag\">\(RouteFolder.link("people", "Person", "friends"))"
                + "\(own.isEmpty ? "" : RouteFolder.link("authors", "Author", "tags"))</entity>"
        }
        try versions(entities(RouteFolder.link("tags", "Tag", "authors")), entities(""))
        try app.generate("App", "App 1", rows: 3)
        let links = try app.count(
            "SELECT count(*) FROM Z_2TAGS WHERE Z_2AUTHORS IN (SELECT Z_PK FROM ZPERSON WHERE Z_ENT = 2)")
        // Damage: a link of an object of the parent is not a link of the subentity.
        try app.execute(
            "INSERT OR IGNORE INTO Z_2TAGS (Z_2AUTHORS, Z_3TAGS) SELECT min(Z_PK), 1 FROM ZPERSON WHERE Z_ENT = 1")
        let losses = try plan().losses
        #expect(losses.first { $0.entity == "Author" && $0.property == "tags" }?.rows == links && links > 0)
    }

    @Test("A plan checks only the first rows of a large table for losses, and counts with --check")
    func largeTable() throws {
        try versions(RouteFolder.entity("Book", "title", "note", "empty"), RouteFolder.entity("Book", "title"))
        try app.generate("App", "App 1", rows: 0)
        try app.execute(
            """
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZNOTE)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
            SELECT i, 1, 1, 't', CASE WHEN i > 119990 THEN 'n' END FROM n;
            UPDATE Z_PRIMARYKEY SET Z_MAX = 120000
            """)
        // The first rows have none; possible losses still count as losses.
        let open = try plan()
        #expect(open.losses.map(\.property) == ["empty", "note"] && open.losses.map(\.rows) == [120_000, 120_000])
        let counted = try plan("--check")
        #expect(counted.losses.map(\.property) == ["note"] && counted.losses.map(\.rows) == [10])
    }

    // MARK: Targets

    @Test("The target is the current version of the store's bundle, in any order of bundles")
    func ownBundle() throws {
        try versions(RouteFolder.entity("Book", "title"), RouteFolder.entity("Book", "title", "b"))
        try versions(RouteFolder.entity("Car", "wheels"), RouteFolder.entity("Car", "wheels", "doors"), bundle: "Zoo")
        try app.generate("App", "App 1")
        try app.done("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--models", "Zoo.xcdatamodeld")
        #expect(try app.count("SELECT count(*) FROM pragma_table_info('ZBOOK') WHERE name = 'ZB'") == 1)
        let again = try app.done("plan", "App.sqlite", "--models", "App.xcdatamodeld", "--models", "Zoo.xcdatamodeld")
        #expect(again.output.contains("nothing to do"))
    }

    @Test("A bundle's current version is no downgrade, with any name")
    func renamedVersions() throws {
        try app.model("App", "Zeta", RouteFolder.entity("Book", "title", "old"))
        try app.model("App", "Alpha", RouteFolder.entity("Book", "title", "new"))
        try app.current("App", "Alpha")
        try app.generate("App", "Zeta")
        try app.done("migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(try app.count("SELECT count(*) FROM pragma_table_info('ZBOOK') WHERE name = 'ZNEW'") == 1)
    }

    @Test("Bundles with different targets for a store's version are refused with commands to paste")
    func severalBundles() throws {
        try versions(RouteFolder.entity("Book", "title"), RouteFolder.entity("Book", "title", "b"))
        try app.model("old/App", "App 1", RouteFolder.entity("Book", "title"))
        try app.current("old/App", "App 1")
        try app.generate("App", "App 1")
        let outcome = try app.refused(
            "migrate", "App.sqlite", "--models", "old/App.xcdatamodeld", "--models", "App.xcdatamodeld")
        let lines = outcome.diagnostics.components(separatedBy: "ferry migrate ")
        #expect(lines.count == 3, "\(outcome.diagnostics)")
        let command = try #require(lines.first { $0.contains("--to 'App 2'") })
        #expect(command.hasPrefix("App.sqlite --models old/App.xcdatamodeld --models App.xcdatamodeld --to 'App 2'"))
    }

    @Test("The end of the mapping models is the target of a bundle without a current version, also once it is reached")
    func reachedEnd() throws {
        try versions(RouteFolder.entity("Book", "title"), RouteFolder.entity("Book", "title", "b"))
        try FileManager.default.removeItem(atPath: app.folder.file("App.xcdatamodeld/.xccurrentversion"))
        try app.generate("App", "App 1")
        try FileLayer().replace(
            app.folder.file("one.json"),
            with: Array(
                """
                { "source": "App 1", "destination": "App 2", "entityMappings": [
                  { "source": "Book", "destination": "Book" } ] }
                """.utf8))
        let words = ["migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "one.json"]
        try app.done(words[0], words[1], words[2], words[3], words[4], words[5])
        try app.done(words[0], words[1], words[2], words[3], words[4], words[5])
    }

    @Test("Several versions without a current one are refused with the candidates")
    func noCurrent() throws {
        try versions(RouteFolder.entity("Book", "title"), RouteFolder.entity("Book", "title", "b"))
        try FileManager.default.removeItem(atPath: app.folder.file("App.xcdatamodeld/.xccurrentversion"))
        try app.generate("App", "App 1")
        let outcome = try app.refused("plan", "App.sqlite", "--models", "App.xcdatamodeld")
        #expect(outcome.diagnostics.contains("ferry plan App.sqlite --models App.xcdatamodeld --to 'App 2'"))
    }
}
