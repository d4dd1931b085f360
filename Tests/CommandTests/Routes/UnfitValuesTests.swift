internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

/// Values that the new version requires and does not get, or cannot take: counted beforehand, by plan and migrate alike.
@Suite("Values that do not fit are told beforehand")
struct UnfitValuesTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    private static let words = ["App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "m.json"]

    private func versions(_ versions: String...) throws {
        for (index, entities) in versions.enumerated() { try app.model("App", "v\(index + 1)", entities) }
        try app.current("App", "v\(versions.count)")
        try app.generate("App", "v1", rows: 10)
    }

    private func map(_ entityMappings: String, from source: Int = 1, to destination: Int = 2) throws {
        try app.write(
            "{ \"source\": \"v\(source)\", \"destination\": \"v\(destination)\", \"entityMappings\": [\(entityMappings)] }",
            to: "m.json")
    }

    /// Expects the exit code 2 of `plan --check` and of `migrate`, with these words, and an unchanged store.
    private func expectRefusal(_ words: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
        let before = try DatabaseDump.text(app.folder.file("App.sqlite"))
        let planned = try app.run(["plan"] + Self.words + ["--check"])
        let refused = try app.run(["migrate"] + Self.words + ["--accept-loss"])
        #expect(planned.exitCode == 2 && refused.exitCode == 2, "\(planned) \(refused)", sourceLocation: sourceLocation)
        for word in words {
            #expect(planned.output.contains(word), "\(planned)", sourceLocation: sourceLocation)
            #expect(refused.diagnostics.contains(word), "\(refused)", sourceLocation: sourceLocation)
        }
        #expect(try DatabaseDump.text(app.folder.file("App.sqlite")) == before, sourceLocation: sourceLocation)
    }

    private static let mandatory = "<attribute name=\"v\" attributeType=\"String\"/>"

    @Test(
        "Only the rows that a filter lets through count as empty mandatory values",
        arguments: ["$source.v", "uppercase:($source.v)", nil])
    func filtered(value: String?) throws {
        try versions(
            RouteFolder.entity("Item", "kind:Integer 16", "v"),
            RouteFolder.entity("Item", "kind:Integer 16", Self.mandatory))
        try app.execute(
            "UPDATE ZITEM SET ZKIND = Z_PK % 2, ZV = CASE WHEN Z_PK NOT IN (2, 3, 4) THEN 'v' END")
        let attributes = value.map { ", \"attributes\": { \"v\": \"\($0)\" }" } ?? ""
        try map("{ \"source\": \"Item\", \"destination\": \"Item\", \"where\": \"kind == 0\"\(attributes) }")
        try expectRefusal("Item.v", " 2 ", "2", "is mandatory in version v2")
        try app.execute("UPDATE ZITEM SET ZV = 'x' WHERE Z_PK IN (2, 4)")
        let done = try app.run(["migrate"] + Self.words + ["--accept-loss"])
        #expect(done.exitCode == 0, "\(done)")
    }

    @Test("A JSON element, and a text that is copied, that need more than the memory limit are refused beforehand")
    func large() throws {
        try versions(
            RouteFolder.entity("Item", "json"), RouteFolder.entity("Item", "json") + RouteFolder.entity("Part", "name"))
        try map(
            """
            { "source": "Item", "destination": "Item" },
            { "name": "Parts", "source": "Item", "destination": "Part",
              "forEach": { "part": "JSON($source.json, 'parts')" }, "attributes": { "name": "$part.name" } }
            """)
        try app.execute(
            "UPDATE ZITEM SET ZJSON = CASE Z_PK WHEN 3 THEN '{\"parts\":[{\"name\":\"' || hex(zeroblob(1500000)) || '\"}]}' END"
        )
        try expectRefusal("Item with key 3", "at any limit")
        try map("{ \"source\": \"Item\", \"destination\": \"Item\", \"unique\": [\"json\"] }")
        try app.execute("UPDATE ZITEM SET ZJSON = CASE Z_PK WHEN 3 THEN hex(zeroblob(20000000)) END")
        try expectRefusal("Item with key 3", "--memory-limit")
    }

    @Test("A mandatory attribute without a value is refused for the elements that a filter lets through")
    func elements() throws {
        try versions(
            RouteFolder.entity("Item", "json"),
            RouteFolder.entity("Item", "json")
                + "<entity name=\"Part\"><attribute name=\"name\" attributeType=\"String\"/></entity>")
        try app.execute("UPDATE ZITEM SET ZJSON = '{\"parts\":[{\"name\":\"a\"},{\"n\":' || (Z_PK % 2) || '}]}'")
        func parts(_ filter: String) throws {
            try map(
                """
                { "source": "Item", "destination": "Item" },
                { "name": "Parts", "source": "Item", "destination": "Part", "where": "\(filter)",
                  "forEach": { "part": "JSON($source.json, 'parts')" }, "attributes": { "name": "$part.name" } }
                """)
        }
        try parts("$part.n == 1 OR $part.name != nil")
        try expectRefusal("Part.name is mandatory in version v2", "5 elements of Item (keys 1, 3, 5, …)")
        try parts("$part.name != nil")
        #expect(try app.run(["migrate"] + Self.words + ["--accept-loss"]).exitCode == 0)
    }

    @Test(
        "A mandatory to-one relationship without an object is refused with an explicit mapping",
        arguments: [
            (
                "{ \"source\": \"Owner\", \"destination\": \"Owner\" }, { \"source\": \"Item\", \"destination\": \"Item\" }",
                2
            ),
            (
                "{ \"source\": \"Owner\", \"destination\": \"Owner\", \"where\": \"kind != 1\" }, { \"source\": \"Item\", \"destination\": \"Item\" }",
                3
            ),
            (
                "{ \"source\": \"Owner\", \"destination\": \"Owner\" }, { \"source\": \"Item\", \"destination\": \"Item\", \"relationships\": { \"owner\": null } }",
                2
            ),
        ])
    func relationship(mappings: String, rows: Int) throws {
        let old = RouteFolder.link("owner", "Owner", "items", toMany: false)
        let owner = RouteFolder.entity("Owner", "kind:Integer 16", RouteFolder.link("items", "Item", "owner"))
        try versions(
            owner + RouteFolder.entity("Item", "n", old),
            owner
                + RouteFolder.entity(
                    "Item", "n", old.replacingOccurrences(of: "optional=\"YES\" maxCount", with: "maxCount")))
        try app.execute(
            "UPDATE ZOWNER SET ZKIND = Z_PK; UPDATE ZITEM SET ZOWNER = CASE WHEN Z_PK > 2 THEN 1 + Z_PK % 9 END")
        try app.execute("UPDATE ZITEM SET ZOWNER = 2 WHERE ZOWNER = 1; UPDATE ZITEM SET ZOWNER = 1 WHERE Z_PK = 9")
        try map(mappings)
        try expectRefusal("Item.owner is mandatory in version v2", "\(rows) objects of Item (keys 1, 2")
    }

    @Test("A relationship of another entity does not set one whose inverse has the same name")
    func otherInverse() throws {
        let owner = RouteFolder.link("owner", "Owner", "items", toMany: false)
        let shop = RouteFolder.link("shop", "Shop", "items", toMany: false)
        let others =
            RouteFolder.entity("Owner", "n", RouteFolder.link("items", "Item", "owner"))
            + RouteFolder.entity("Shop", "n", RouteFolder.link("items", "Item", "shop"))
        let mandatory = owner.replacingOccurrences(of: "optional=\"YES\" maxCount", with: "maxCount")
        try versions(
            others + RouteFolder.entity("Item", "n", owner, shop),
            others + RouteFolder.entity("Item", "n", mandatory, shop))
        try map(
            """
            { "source": "Owner", "destination": "Owner", "relationships": { "items": null } },
            { "source": "Shop", "destination": "Shop" },
            { "source": "Item", "destination": "Item", "relationships": { "owner": null } }
            """)
        try expectRefusal("Item.owner is mandatory in version v2", "10 objects of Item (keys 1, 2")
    }

    @Test("A mandatory value of a later step that is computed from an attribute added on the way")
    func laterStep() throws {
        let item = RouteFolder.entity("Item", "a")
        try versions(
            item, RouteFolder.entity("Item", "a", "k"), RouteFolder.entity("Item", "a", Self.mandatory))
        try map(
            "{ \"source\": \"Item\", \"destination\": \"Item\", \"attributes\": { \"v\": \"uppercase:($source.k)\" } }",
            from: 2, to: 3)
        try expectRefusal("Item.v is mandatory in version v3", "10 objects of Item (keys 1, 2, 3, …)")
    }

    @Test("All attributes that cannot take their values are refused at once, with counts and keys, and no values")
    func conversions() throws {
        try versions(
            RouteFolder.entity("Item", "n", "d", "big:Integer 64"),
            RouteFolder.entity("Item", "n:Integer 32", "d:Date", "big:Integer 16"))
        try app.execute(
            """
            UPDATE ZITEM SET ZN = Z_PK, ZD = '01.02.2020', ZBIG = Z_PK;
            UPDATE ZITEM SET ZN = 'secret' WHERE Z_PK IN (2, 4, 6, 9); UPDATE ZITEM SET ZD = '31.02.2020' WHERE Z_PK = 7;
            UPDATE ZITEM SET ZBIG = 40000 WHERE Z_PK = 3
            """)
        func item(_ more: String = "") -> String {
            """
            { "source": "Item", "destination": "Item", "attributes": {
              "n": { "value": "$source.n"\(more) }, "d": { "value": "date:format:($source.d, 'dd.MM.yyyy')"\(more) },
              "big": { "value": "$source.big"\(more) } } }
            """
        }
        try map(item())
        try expectRefusal(
            "Item.n of version v2 cannot take the values of 4 objects of Item (keys 2, 4, 6, …): conversion to Integer 32",
            "Item.d of version v2 cannot take the values of 1 object of Item (key 7)",
            "Item.big of version v2 cannot take the values of 1 object of Item (key 3)")
        let planned = try app.run(["plan"] + Self.words + ["--check"])
        #expect(!planned.output.contains("secret") && !planned.output.contains("31.02"))

        try map(item(", \"onInvalid\": \"null\""))
        let lossy = try app.run(["migrate"] + Self.words)
        #expect(lossy.exitCode == 2 && lossy.diagnostics.contains("Item.n is lost, 4 values"), "\(lossy)")
        let done = try app.run(
            ["migrate"] + Self.words + ["--lose", "Item.n", "--lose", "Item.d", "--lose", "Item.big"])
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(*) FROM ZITEM WHERE ZN IS NULL") == 4)
        #expect(try app.count("SELECT count(*) FROM ZITEM WHERE ZD IS NULL") == 1)
    }

    @Test("onInvalid skip leaves objects out, and counts them as dropped")
    func skips() throws {
        try versions(RouteFolder.entity("Item", "n"), RouteFolder.entity("Item", "n:Integer 32"))
        try app.execute("UPDATE ZITEM SET ZN = Z_PK; UPDATE ZITEM SET ZN = '' WHERE Z_PK IN (2, 4)")
        try map(
            """
            { "source": "Item", "destination": "Item",
              "attributes": { "n": { "value": "$source.n", "onInvalid": "skip" } } }
            """)
        let planned = try app.run(["plan"] + Self.words + ["--check"])
        #expect(planned.exitCode == 2 && !planned.output.contains("Not checked"), "\(planned)")
        let done = try app.run(["migrate"] + Self.words + ["--accept-loss"])
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(*) FROM ZITEM") == 8)
    }

    @Test("The verdict says what only the run can find")
    func notChecked() throws {
        try versions(
            RouteFolder.entity("Item", "name", "n"), RouteFolder.entity("Item", "name", "n:Integer 32"))
        try map(
            """
            { "source": "Item", "destination": "Item", "unique": ["name"], "attributes": { "n": "$source.n" } }
            """)
        let planned = try app.run(["plan"] + Self.words + ["--check"])
        #expect(planned.exitCode == 0 && planned.output.contains("\nNot checked: values of Item.n"), "\(planned)")
    }
}
