internal import Ferry
internal import FerryEngine
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// Reading is not carrying: each kind of property, by what the new version and its mapping do with it.
@Suite("The ledger of losses")
struct LedgerTests {
    private let app: RouteFolder
    private let words = ["App.sqlite", "--models", "App.xcdatamodeld"]

    init() throws { app = try RouteFolder() }

    private func prepare(
        _ versions: [String], _ mapping: String? = nil, from place: Int = 1, sql: String
    ) throws -> [String] {
        for (index, version) in versions.enumerated() { try app.model("App", "App \(index + 1)", version) }
        try app.current("App", "App \(versions.count)")
        try app.generate("App", "App 1")
        try app.execute(sql)
        guard let mapping else { return words }
        try app.write(
            #"{ "source": "App \#(place)", "destination": "App \#(place + 1)", "entityMappings": [\#(mapping)] }"#,
            to: "Maps/One.json")
        return words + ["--mappings", "Maps"]
    }

    /// The losses of a checked plan (`Book.note 3`, `Book.note <4` for at most 4), which exits as the migration does; what is
    /// lost must be named, and no more is lost then than was told.
    ///
    /// With `policies`, the commands run in this process.
    private func losses(_ words: [String], policies: [String: PolicyFactory] = [:]) throws -> [String] {
        func run(_ words: [String]) throws -> (exitCode: Int32, output: String, diagnostics: String) {
            guard !policies.isEmpty else {
                let done = try app.run(words)
                return (done.exitCode, done.output, done.diagnostics)
            }
            let files = ["App.sqlite", "App.xcdatamodeld", "Maps"]
            let done = Captured.run(
                words.map { files.contains($0) ? app.folder.file($0) : $0 }, isJSON: words.contains("--json"),
                policies: policies)
            return (done.exitCode.rawValue, done.output, done.diagnostics)
        }
        let plan = try run(["plan"] + words + ["--check", "--json"])
        let losses = try PlannedLoss.all(in: plan.output)
        #expect(plan.exitCode == (losses.isEmpty ? 0 : 2), "\(plan)")
        let names = losses.map(\.name)
        if !losses.isEmpty { #expect(try run(["migrate"] + words).exitCode == 2) }
        let done = try run(["migrate"] + words + names.flatMap { ["--lose", $0] })
        #expect(done.exitCode == 0, "\(done)")
        return losses.map { loss in
            "\(loss.name) \(loss.atMost == true ? "<" : "")\(loss.rows.map(String.init) ?? "?")"
        }
    }

    // MARK: Attributes

    @Test(
        "A value is carried by its path, transformed by a listed function, and else lost",
        arguments: [
            ("$source.note", []), ("uppercase:($source.note)", []), ("$source.note.uppercaseString", []),
            ("join:with:({$source.note, $source.title}, ' ')", []), ("ifnil:then:($source.note, 'none')", []),
            ("ifnil:then:($source.title, $source.note)", ["Book.note 3"]),
            ("TERNARY($source.pages > 2, $source.note, nil)", ["Book.note 2"]),
            ("TERNARY($source.pages > 2, $source.note, uppercase:($source.note))", []),
            ("TERNARY($source.note != nil, 'y', 'n')", ["Book.note 4"]),
            ("TERNARY($source.note == 'a', 'y', 'n')", ["Book.note 4"]),
            ("split:by:at:($source.note, ' ', 0)", ["Book.note 4"]),
            ("FUNCTION($source.note, 'substringToIndex:', 1)", ["Book.note 4"]),
            ("'none'", ["Book.note 4"]),
        ])
    func attribute(value: String, told: [String]) throws {
        let all = try prepare(
            [
                RouteFolder.entity("Book", "title", "note", "pages:Integer 32"),
                RouteFolder.entity("Book", "title", "text", "pages:Integer 32"),
            ], #"{ "source": "Book", "destination": "Book", "attributes": { "text": "\#(value)" } }"#,
            sql: "UPDATE ZBOOK SET ZNOTE = 'n o', ZPAGES = Z_PK, ZTITLE = CASE WHEN Z_PK > 1 THEN 't' END")
        #expect(try losses(all) == told)
    }

    @Test(
        "A number that lives on as a length or a count does not carry its text or its links",
        arguments: [
            ("note", "$source.note.length", "Book.note 4"), ("tags", "$source.tags.@count", "Book.tags 2"),
        ])
    func reduced(property: String, value: String, told: String) throws {
        let all = try prepare(
            [
                RouteFolder.entity("Book", "note", RouteFolder.link("tags", "Tag", "book"))
                    + RouteFolder.entity("Tag", RouteFolder.link("book", "Book", "tags", toMany: false)),
                RouteFolder.entity("Book", property == "note" ? "x" : "note", "number:Integer 32")
                    + RouteFolder.entity("Tag"),
            ],
            #"{ "source": "Book", "destination": "Book", "attributes": { "number": "\#(value)" } }, { "source": "Tag", "destination": "Tag" }"#,
            sql: "UPDATE ZBOOK SET ZNOTE = 'n'; UPDATE ZTAG SET ZBOOK = CASE WHEN Z_PK < 3 THEN 1 END")
        #expect(try losses(all).contains(told))
    }

    @Test(
        "Digits and zeros that the new type does not hold are counted, value by value",
        arguments: [
            ("Integer 64", "Decimal", "9007199254740993", 1), ("Integer 64", "Decimal", "9007199254740992", 0),
            ("Integer 64", "Double", "9007199254740993", 1), ("Integer 32", "Float", "16777217", 1),
            ("Double", "Float", "0.1", 1), ("Double", "Float", "0.5", 0), ("Double", "Integer 32", "1.5", 1),
            ("String", "Decimal", "'12345678901234567890.12'", 1), ("String", "Double", "'12.50'", 0),
            ("String", "Integer 32", "'007'", 1), ("String", "Integer 32", "'7'", 0),
            ("Integer 16", "Decimal", "7", 0),
        ])
    func pair(old: String, new: String, value: String, lost: Int) throws {
        let expression = old == "String" ? ", \"attributes\": { \"v\": \"CAST($source.v, 'NSDecimalNumber')\" }" : ""
        let all = try prepare(
            [RouteFolder.entity("Book", "v:\(old)"), RouteFolder.entity("Book", "v:\(new)")],
            #"{ "source": "Book", "destination": "Book"\#(expression) }"#,
            sql: "UPDATE ZBOOK SET ZV = CASE WHEN Z_PK = 1 THEN \(value) END")
        #expect(try losses(all) == (lost == 0 ? [] : ["Book.v \(lost)"]))
    }

    @Test(
        "An element of a composite is carried, transformed or lost by itself",
        arguments: [
            ("$source.spot.street", ["Book.spot.city 4"]),
            ("join:with:({$source.spot.street, $source.spot.city}, ' ')", []),
            ("ifnil:then:($source.spot.street, $source.spot.city)", ["Book.spot.city 3"]),
            ("TERNARY($source.spot.city = nil, 'y', $source.spot.street)", ["Book.spot.city 4"]),
            ("split:by:at:($source.spot.street, ' ', 0)", ["Book.spot.city 4", "Book.spot.street 3"]),
        ])
    func leaf(value: String, told: [String]) throws {
        let place =
            "<composite name=\"Place\"><attribute name=\"street\" optional=\"YES\" attributeType=\"String\"/>"
            + "<attribute name=\"city\" optional=\"YES\" attributeType=\"String\"/></composite>"
        let spot = "<attribute name=\"spot\" optional=\"YES\" attributeType=\"Composite\" composite=\"Place\"/>"
        let all = try prepare(
            [RouteFolder.entity("Book", "title", spot) + place, RouteFolder.entity("Book", "title", "text")],
            #"{ "source": "Book", "destination": "Book", "attributes": { "text": "\#(value)" } }"#,
            sql: "UPDATE ZBOOK SET ZSTREET = CASE WHEN Z_PK > 1 THEN 's t' END, ZCITY = 'c'")
        #expect(try losses(all).sorted() == told)
    }

    @Test("A text that is no Boolean, and one that becomes one but cannot be told from it, are counted once each")
    func boolean() throws {
        let all = try prepare(
            [RouteFolder.entity("Book", "flag"), RouteFolder.entity("Book", "flag:Boolean")],
            """
            { "source": "Book", "destination": "Book",
              "attributes": { "flag": { "value": "$source.flag", "onInvalid": "null" } } }
            """, sql: "UPDATE ZBOOK SET ZFLAG = CASE Z_PK WHEN 1 THEN 'x' WHEN 2 THEN 'yes' WHEN 3 THEN '1' END")
        #expect(try losses(all) == ["Book.flag 1", "Book.flag 1"])
    }

    @Test("A value of a merged object is lost although another rule carries those of some objects")
    func mergedInPart() throws {
        let all = try prepare(
            [
                RouteFolder.entity("Book", "title", "note", "pages:Integer 32"),
                RouteFolder.entity("Book", "title", "note", "pages:Integer 32") + RouteFolder.entity("Note", "text"),
            ],
            """
            { "source": "Book", "destination": "Book", "unique": ["title"] },
            { "source": "Book", "destination": "Note", "where": "pages > 3", "attributes": { "text": "$source.note" } }
            """, sql: "UPDATE ZBOOK SET ZTITLE = 't', ZNOTE = 'n' || Z_PK, ZPAGES = Z_PK")
        let told = try losses(all)
        #expect(told.contains("Book.note <4"), "\(told)")
    }

    // MARK: Policies

    private struct SilentPolicy: EntityMigrationPolicy {}

    @Test(
        "What only a policy's code could carry is lost until it is named; the rules beside it carry as ever",
        arguments: [
            (#""attributes": { "text": "$source.note" }"#, []),
            (#""attributes": { "text": "uppercase:($source.note)" }"#, []),
            (#""attributes": { "text": "TERNARY($source.pages > 2, $source.note, nil)" }"#, ["Book.note"]),
            (#""attributes": { "text": "'none'" }"#, ["Book.note"]),
            (
                #""automatic": false, "attributes": { "text": "$source.note", "pages": "$source.pages" }"#,
                ["Book.shelf", "Book.title"]
            ),
        ])
    func policy(rules: String, lost: [String]) throws {
        let shelf = RouteFolder.entity("Shelf", "name", RouteFolder.link("books", "Book", "shelf"))
        let link = RouteFolder.link("shelf", "Shelf", "books", toMany: false)
        let all = try prepare(
            [
                RouteFolder.entity("Book", "title", "note", "pages:Integer 32", link) + shelf,
                RouteFolder.entity("Book", "title", "text", "pages:Integer 32", link) + shelf,
            ],
            """
            { "name": "B", "source": "Book", "destination": "Book", "policy": "SilentPolicy", \(rules) },
            { "source": "Shelf", "destination": "Shelf", "automatic": false, "attributes": { "name": "$source.name" } }
            """, sql: "UPDATE ZBOOK SET ZNOTE = 'n', ZTITLE = 't', ZPAGES = Z_PK, ZSHELF = 1")
        let told = try losses(all, policies: ["SilentPolicy": { SilentPolicy() }])
        let names = told.map { String($0.split(separator: " ")[0]) }
        #expect(Set(names.map { $0.replacing("Shelf.books", with: "Book.shelf") }) == Set(lost), "\(told)")
    }

    // MARK: Links

    private static func shelves(_ more: String = "", shelf: String = "books") -> String {
        RouteFolder.entity(
            "Book", "title", "pages:Integer 32", RouteFolder.link("shelf", "Shelf", shelf, toMany: false))
            + "<entity name=\"Shelf\"><attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>"
            + RouteFolder.link(shelf, "Book", "shelf") + more + "</entity>"
    }

    @Test(
        "Links are carried by their relationship or its inverse; a choice of members loses the others",
        arguments: [
            ("$source.books", []),
            ("SUBQUERY($source.books, $b, $b.pages > 2)", ["Book.shelf <4"]),
            ("$source.books[FIRST]", ["Book.shelf <4"]),
            (
                "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Book', 'pages > 2'), $manager.sourceContext, NO)",
                ["Book.shelf 4"]
            ),
        ])
    func links(from: String, told: [String]) throws {
        let all = try prepare(
            [Self.shelves(), Self.shelves("<attribute name=\"kind\" optional=\"YES\" attributeType=\"String\"/>")],
            """
            { "name": "B", "source": "Book", "destination": "Book", "automatic": false, "attributes": { "title": "$source.title",
              "pages": "$source.pages" } },
            { "source": "Shelf", "destination": "Shelf", "automatic": false, "attributes": { "name": "$source.name" },
              "relationships": { "books": { "mapping": "B", "from": "\(from)" } } }
            """, sql: "UPDATE ZBOOK SET ZSHELF = 1, ZPAGES = Z_PK")
        // A link has two names.
        let found = Set(try losses(all).map { $0.replacing("Shelf.books", with: "Book.shelf") })
        #expect(found == Set(told), "\(found)")
    }

    @Test(
        "An order lives on in the position of each element, or in an order of the objects that stand for links",
        arguments: [(true, false, false), (false, true, false), (false, false, true)])
    func positions(hasPosition: Bool, isOrdered: Bool, isLost: Bool) throws {
        func person(_ ordered: String, _ name: String, _ other: String, _ inverse: String) -> String {
            RouteFolder.entity(
                "Person",
                RouteFolder.link(name, other, inverse).replacing("/>", with: "\(ordered)/>"))
        }
        let all = try prepare(
            [
                person(" ordered=\"YES\"", "books", "Book", "people")
                    + RouteFolder.entity("Book", RouteFolder.link("people", "Person", "books")),
                person(isOrdered ? " ordered=\"YES\"" : "", "places", "Place", "person")
                    + RouteFolder.entity("Book", RouteFolder.link("places", "Place", "book"))
                    + RouteFolder.entity(
                        "Place", "number:Integer 32", RouteFolder.link("person", "Person", "places", toMany: false),
                        RouteFolder.link("book", "Book", "places", toMany: false)),
            ],
            """
            { "name": "B", "source": "Book", "destination": "Book" }, { "name": "P", "source": "Person", "destination": "Person" },
            { "name": "L", "source": "Person", "destination": "Place",
              "forEach": { "book": "$source.books"\(hasPosition ? ", \"position\": \"place\"" : "") },
              "attributes": { "number": \(hasPosition ? "\"$place\"" : "null") },
              "relationships": { "person": { "mapping": "P", "from": "$source" },
                "book": { "mapping": "B", "from": "$book" } } }
            """, sql: "")
        let told = try losses(all)
        #expect(told.contains { $0.contains("books") } == isLost, "\(told)")
    }

    @Test("Two relationships in one place: a to-many keeps the links of both, a to-one those of one")
    func shared() throws {
        func version(_ isToMany: Bool?) -> String {
            guard let isToMany else {
                return RouteFolder.entity(
                    "Book", RouteFolder.link("writer", "Person", "written", toMany: false),
                    RouteFolder.link("editor", "Person", "edited", toMany: false))
                    + RouteFolder.entity(
                        "Person", RouteFolder.link("written", "Book", "writer"),
                        RouteFolder.link("edited", "Book", "editor"))
            }
            return RouteFolder.entity("Book", RouteFolder.link("people", "Person", "books", toMany: isToMany))
                + RouteFolder.entity("Person", RouteFolder.link("books", "Book", "people"))
        }
        let mapping = """
            { "name": "B", "source": "Book", "destination": "Book" },
            { "source": "Person", "destination": "Person",
              "relationships": { "books": { "mapping": "B", "from": "$source.written UNION $source.edited" } } }
            """
        let sql = "UPDATE ZBOOK SET ZWRITER = 1, ZEDITOR = 2"
        var all = try prepare([version(nil), version(true)], mapping, sql: sql)
        #expect(try losses(all) == [])
        try FileManager.default.removeItem(atPath: app.folder.file("App.sqlite"))
        all = try prepare([version(nil), version(false)], mapping, sql: sql)
        #expect(try losses(all).isEmpty == false)
    }

    @Test("An order is lost where the links become objects without one")
    func order() throws {
        let all = try prepare(
            [
                RouteFolder.entity("Album", RouteFolder.link("songs", "Song", "albums", isOrdered: true))
                    + RouteFolder.entity("Song", RouteFolder.link("albums", "Album", "songs")),
                RouteFolder.entity("Album", RouteFolder.link("entries", "Entry", "album"))
                    + RouteFolder.entity("Song", RouteFolder.link("entries", "Entry", "song"))
                    + RouteFolder.entity(
                        "Entry", "place:Integer 32", RouteFolder.link("album", "Album", "entries", toMany: false),
                        RouteFolder.link("song", "Song", "entries", toMany: false)),
            ],
            """
            { "name": "A", "source": "Album", "destination": "Album" }, { "name": "S", "source": "Song", "destination": "Song" },
            { "name": "E", "source": "Album", "destination": "Entry", "forEach": { "song": "$source.songs" },
              "relationships": { "album": { "mapping": "A", "from": "$source" }, "song": { "mapping": "S", "from": "$song" } } }
            """,
            sql: """
                DELETE FROM Z_1SONGS;
                INSERT INTO Z_1SONGS SELECT 1, Z_PK, 1024 + 1024 * Z_PK FROM ZSONG
                """)
        #expect(try losses(all) == ["Album.songs 1"])
    }

    // MARK: Chains

    @Test("A loss of a later step is told under the store's name, with the most that can be concerned")
    func chain() throws {
        let one = Self.shelves()
        let two = Self.shelves(shelf: "volumes").replacing(
            "name=\"volumes\"", with: "name=\"volumes\" elementID=\"books\"")
        let three =
            RouteFolder.entity(
                "Book", "title", "pages:Integer 32", RouteFolder.link("shelf", "Shelf", "volumes", toMany: false))
            + RouteFolder.entity("Shelf", "name", RouteFolder.link("volumes", "Book", "shelf", toMany: false))
        let all = try prepare(
            [one, two, three],
            """
            { "name": "B", "source": "Book", "destination": "Book" },
            { "name": "S", "source": "Shelf", "destination": "Shelf",
              "relationships": { "volumes": { "mapping": "B", "from": "$source.volumes" } } }
            """, from: 2, sql: "UPDATE ZBOOK SET ZSHELF = 1")
        let told = try losses(all)
        #expect(told == ["Shelf.books <4"], "\(told)")
        // The step itself counts.
        let history = try app.run("status", "App.sqlite", "--history", "--json")
        #expect(history.output.contains("\"rows\": 3"), "\(history.output)")
    }

    @Test("Links that have become objects end with either end of these", arguments: ["album", "song", nil])
    func endOfJoin(without end: String?) throws {
        func version(_ ends: [String]) -> String {
            func entity(_ name: String, _ end: String) -> String {
                RouteFolder.entity(
                    name, "name", ends.contains(end) ? RouteFolder.link("entries", "Entry", end) : "note")
            }
            let links = ends.map { RouteFolder.link($0, $0.capitalized, "entries", toMany: false) }
            return entity("Album", "album") + entity("Song", "song")
                + RouteFolder.entity("Entry", "place:Integer 32", links.joined())
        }
        let ends = ["album", "song"]
        let all = try prepare(
            [
                RouteFolder.entity("Album", "name", RouteFolder.link("songs", "Song", "albums"))
                    + RouteFolder.entity("Song", "name", RouteFolder.link("albums", "Album", "songs")),
                version(ends),
                version(ends.filter { $0 != end }) + RouteFolder.entity("Shelf", "name"),
            ],
            """
            { "name": "A", "source": "Album", "destination": "Album" }, { "name": "S", "source": "Song", "destination": "Song" },
            { "name": "E", "source": "Album", "destination": "Entry", "forEach": { "song": "$source.songs" },
              "relationships": { "album": { "mapping": "A", "from": "$source" }, "song": { "mapping": "S", "from": "$song" } } }
            """, sql: "DELETE FROM Z_1SONGS; INSERT INTO Z_1SONGS SELECT 1, Z_PK FROM ZSONG")
        let told = try losses(all)
        #expect(told.contains { $0.contains("songs") || $0.contains("albums") } == (end != nil), "\(told)")
    }

    @Test("A value with a whole copy and a copy in part is lost where the whole one ends")
    func thinned() throws {
        let old = RouteFolder.entity("Book", "title", "note", "pages:Integer 32")
        let two = RouteFolder.entity("Book", "title", "pages:Integer 32", "whole", "part")
        let all = try prepare(
            [old, two, RouteFolder.entity("Book", "title", "pages:Integer 32", "part")],
            """
            { "source": "Book", "destination": "Book", "attributes": {
              "whole": "$source.note", "part": "TERNARY($source.pages > 2, $source.note, nil)" } }
            """, sql: "UPDATE ZBOOK SET ZNOTE = 'n', ZPAGES = Z_PK")
        let told = try losses(all)
        #expect(told.count == 1 && told[0].hasPrefix("Book.note "), "\(told)")
    }

    @Test("Objects that a later filter leaves out are told where parts of them live on")
    func filteredLater() throws {
        let book = RouteFolder.entity("Book", "title", "pages:Integer 32", RouteFolder.link("tags", "Tag", "book"))
        let tag = RouteFolder.entity("Tag", "name", RouteFolder.link("book", "Book", "tags", toMany: false))
        let page = RouteFolder.entity("Page", "text")
        let all = try prepare(
            [book + tag, book + tag + page, book + tag + page + RouteFolder.entity("Shelf", "name")],
            """
            { "source": "Book", "destination": "Book" }, { "source": "Tag", "destination": "Tag" },
            { "name": "P", "source": "Book", "destination": "Page", "forEach": { "tag": "$source.tags" },
              "attributes": { "text": "$tag.name" } }
            """, sql: "UPDATE ZBOOK SET ZPAGES = Z_PK; UPDATE ZTAG SET ZBOOK = 1")
        try app.write(
            """
            { "source": "App 2", "destination": "App 3", "entityMappings": [
                { "source": "Book", "destination": "Book", "where": "pages > 2" },
                { "source": "Tag", "destination": "Tag" }, { "source": "Page", "destination": "Page" }] }
            """, to: "Maps/Two.json")
        let told = try losses(all)
        #expect(told.contains("Book <4"), "\(told)")
        let history = try app.run("status", "App.sqlite", "--history", "--json")
        #expect(history.output.contains("\"rows\": 2"), "\(history.output)")
    }

    @Test("Names that no model has are refused, with those that are near")
    func names() throws {
        let all = try prepare(
            [RouteFolder.entity("Book", "title", "note"), RouteFolder.entity("Book", "title")],
            sql: "UPDATE ZBOOK SET ZNOTE = 'n'")
        for (name, near) in [("Book.nots", "Book.note"), ("Bok", "Book"), ("Bok.note", "Book.note")] {
            let refused = try app.run(["migrate"] + all + ["--lose", name])
            #expect(refused.exitCode == 64 && refused.diagnostics.contains("Did you mean \(near)?"), "\(refused)")
        }
    }
}
