import FerryBase
import FerryEngine
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

@Suite("A step in place has the result of the copied step")
struct InPlaceCasesTests {
    private let books = [
        "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPAGES) VALUES (1, 1, 1, 'One', 10), (2, 1, 5, NULL, 20), (7, 1, 1, 'Seven', NULL)",
        "UPDATE Z_PRIMARYKEY SET Z_MAX = 9 WHERE Z_NAME = 'Book'",
    ]
    private let book = ManagedObjectModel(.made("Book", [.text("title"), .number("pages")]))

    @Test("with attributes added, without and with a default value")
    func additions() throws {
        var copies = Attribute.number("copies")
        copies.defaultValue = .integer(3)
        let step = try InPlaceStep(
            book, ManagedObjectModel(.made("Book", [.text("title"), .number("pages"), .text("note"), copies])),
            rows: books)
        let store = try step.compare()
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZCOPIES = 3 AND ZNOTE IS NULL") == 3)
        #expect(try store.integer("SELECT Z_MAX FROM Z_PRIMARYKEY") == 9)
        // Core Data's tables have no default values.
        let sql = try store.value("SELECT sql FROM sqlite_master WHERE name = 'ZBOOK'")?.text ?? ""
        #expect(!sql.uppercased().contains("DEFAULT"))
    }

    @Test("with an added attribute with external storage and a default value")
    func externalDefault() throws {
        let cover = Attribute(
            name: "cover", type: .binary, isOptional: true, defaultValue: .blob([7, 8]), allowsExternalStorage: true)
        let step = try InPlaceStep(
            book, ManagedObjectModel(.made("Book", [.text("title"), .number("pages"), cover])), rows: books)
        let store = try step.compare()
        // Values that are stored in the row begin with 01.
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZCOVER = x'010708'") == 3)
    }

    @Test("with an attribute renamed")
    func rename() throws {
        try InPlaceStep(
            book, ManagedObjectModel(.made("Book", [.text("heading", id: "title"), .number("pages")])), rows: books
        ).compare()
    }

    @Test("with two attributes that exchange their names")
    func exchange() throws {
        let model = ManagedObjectModel(.made("Book", [.text("title"), .text("note"), .number("pages")]))
        let step = try InPlaceStep(
            model,
            ManagedObjectModel(
                .made("Book", [.text("title", id: "note"), .text("note", id: "title"), .number("pages"), .text("new")])),
            rows: books + ["UPDATE ZBOOK SET ZNOTE = 'note'"])
        let store = try step.compare()
        #expect(try store.value("SELECT ZNOTE FROM ZBOOK WHERE Z_PK = 1") == .text("One"))
    }

    @Test("with an attribute renamed, and a new one with the old name")
    func renameAndAdd() throws {
        let step = try InPlaceStep(
            book,
            ManagedObjectModel(.made("Book", [.text("heading", id: "title"), .text("title"), .number("pages")])),
            rows: books)
        let store = try step.compare()
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZTITLE IS NULL") == 3)
    }

    @Test("with an attribute dropped")
    func drop() throws {
        try InPlaceStep(book, ManagedObjectModel(.made("Book", [.number("pages")])), rows: books).compare()
    }

    @Test("with attributes of another type", arguments: [AttributeType.double, .integer64, .decimal, .boolean])
    func types(type: AttributeType) throws {
        try InPlaceStep(
            book, ManagedObjectModel(.made("Book", [.text("title"), .number("pages", type)])), rows: books
        ).compare()
    }

    @Test("with an optional attribute made mandatory with a default value")
    func mandatory() throws {
        let title = Attribute(name: "title", type: .string, defaultValue: .text("none"))
        let store = try InPlaceStep(
            book, ManagedObjectModel(.made("Book", [title, .number("pages")])), rows: books
        ).compare()
        #expect(try store.value("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 2") == .text("none"))
    }

    @Test("with an entity renamed, and a new one with the old name")
    func entityNames() throws {
        let step = try InPlaceStep(
            book,
            ManagedObjectModel(
                .made("Book", [.text("other")]), .made("Volume", id: "Book", [.text("title"), .number("pages")])),
            rows: books)
        let store = try step.compare()
        #expect(try store.integer("SELECT count(*) FROM ZVOLUME WHERE Z_ENT = 2") == 3)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK") == 0)
    }

    @Test("with two entities that exchange their names")
    func entitiesExchanged() throws {
        let step = try InPlaceStep(
            ManagedObjectModel(.made("Book", [.text("title")]), .made("Film", [.text("name")])),
            ManagedObjectModel(
                .made("Book", id: "Film", [.text("name")]), .made("Film", id: "Book", [.text("title")])),
            rows: [
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'b')",
                "INSERT INTO ZFILM (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (4, 2, 1, 'f')",
            ])
        let store = try step.compare()
        #expect(try store.value("SELECT ZNAME FROM ZBOOK WHERE Z_PK = 4") == .text("f"))
    }

    @Test("with indexes that exchange their names together with tables and columns")
    func indexesExchanged() throws {
        func model(_ swapped: Bool) -> ManagedObjectModel {
            func pair(_ first: String, _ second: String) -> [Attribute] {
                [.text(first, id: swapped ? second : nil), .text(second, id: swapped ? first : nil)]
            }
            let owner = Entity.made(
                "Owner", [], [.many("books", "Book", inverse: "owner"), .many("films", "Film", inverse: "owner")])
            return ManagedObjectModel(
                .made(
                    "Book", id: swapped ? "Film" : nil, pair("code", "isbn") + (swapped ? [.text("new")] : []),
                    [.one("owner", "Owner", inverse: swapped ? "films" : "books")], unique: [["code"], ["isbn"]]),
                .made(
                    "Film", id: swapped ? "Book" : nil, pair("code", "isbn"),
                    [.one("owner", "Owner", inverse: swapped ? "books" : "films")], unique: [["code"], ["isbn"]]),
                swapped
                    ? .made(
                        "Owner", [],
                        [.many("books", "Film", inverse: "owner"), .many("films", "Book", inverse: "owner")]) : owner)
        }
        let store = try InPlaceStep(
            model(false), model(true),
            rows: [
                "INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1)",
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZCODE, ZISBN, ZOWNER) VALUES (1, 1, 1, 'bc', 'bi', 1)",
                "INSERT INTO ZFILM (Z_PK, Z_ENT, Z_OPT, ZCODE, ZISBN, ZOWNER) VALUES (2, 2, 1, 'fc', 'fi', 1)",
            ]
        ).compare()
        #expect(try store.rows("SELECT ZCODE, ZISBN FROM ZBOOK") == [[.text("fi"), .text("fc")]])
    }

    // MARK: Numbers and hierarchies

    private func library(_ extra: [Entity] = []) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [""],
            entities: [
                .made(
                    "Book", [.text("title")],
                    [.one("author", "Person", inverse: "books"), .many("tags", "Tag", inverse: "books")]),
                .made("Person", [.text("name")], [.many("books", "Book", inverse: "author")]),
                .made("Writer", parent: "Person", [.text("style")]),
                .made("Tag", [.text("word")], [.many("books", "Book", inverse: "tags")]),
            ] + extra)
    }

    private let shelf = [
        "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZSTYLE) VALUES (1, 2, 1, 'Ann', NULL), (2, 3, 1, 'Ben', 'dry')",
        "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR, Z2_AUTHOR) VALUES (1, 1, 1, 'a', 1, 2), (2, 1, 1, 'b', 2, 3), (3, 1, 1, 'c', NULL, NULL)",
        "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZWORD) VALUES (1, 4, 1, 'x'), (2, 4, 1, 'y')",
        "INSERT INTO Z_1TAGS (Z_1BOOKS, Z_4TAGS) VALUES (1, 1), (1, 2), (3, 2)",
    ]

    @Test("with a new entity that changes the numbers of all others")
    func shifted() throws {
        let step = try InPlaceStep(library(), library([.made("Atlas", [.text("scale")])]), rows: shelf)
        let store = try step.compare()
        #expect(try store.rows("SELECT ZAUTHOR, Z3_AUTHOR FROM ZBOOK WHERE Z_PK = 2") == [[.integer(2), .integer(4)]])
        #expect(try store.integer("SELECT count(*) FROM Z_2TAGS") == 3)
    }

    @Test("with an entity removed, together with its rows, keys and links")
    func removed() throws {
        let model = library()
        var entities = model.entities
        entities["Writer"] = nil
        let step = try InPlaceStep(
            model, ManagedObjectModel(versionIdentifiers: [""], entities: Array(entities.values)), rows: shelf)
        let store = try step.compare()
        #expect(try store.integer("SELECT count(*) FROM ZPERSON") == 1)
        #expect(try store.value("SELECT ZAUTHOR FROM ZBOOK WHERE Z_PK = 2") == .null)

        entities = model.entities
        entities["Tag"] = nil
        entities["Book"]?.relationships.removeAll { $0.name == "tags" }
        try InPlaceStep(
            model, ManagedObjectModel(versionIdentifiers: [""], entities: Array(entities.values)), rows: shelf
        ).compare()
    }

    @Test("with an attribute moved up to the parent, and down to the child")
    func moved() throws {
        let below = ManagedObjectModel(
            .made("Person", [.text("name")]), .made("Poet", parent: "Person", [.text("style")]),
            .made("Writer", parent: "Person", [.text("style"), .text("genre")]))
        let above = ManagedObjectModel(
            .made("Person", [.text("name"), .text("style")]), .made("Poet", parent: "Person"),
            .made("Writer", parent: "Person", [.text("genre")]))
        try InPlaceStep(
            below, above,
            rows: [
                "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZSTYLE, ZSTYLE1, ZGENRE) VALUES (1, 1, 1, 'a', NULL, NULL, NULL), (2, 2, 1, 'b', 'p', NULL, NULL), (3, 3, 1, 'c', NULL, 'w', 'g')"
            ]
        ).compare()
        try InPlaceStep(
            above, below,
            rows: [
                "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZSTYLE, ZGENRE) VALUES (1, 1, 1, 'a', 's', NULL), (2, 2, 1, 'b', 'p', NULL), (3, 3, 1, 'c', 'w', 'g')"
            ]
        ).compare()
    }

    @Test("with a new parent of an entity, and with an entity that leaves its hierarchy")
    func hierarchies() throws {
        let alone = ManagedObjectModel(
            .made("Book", [.text("title")], [.one("author", "Writer", inverse: "books")]),
            .made("Writer", [.text("name")], [.many("books", "Book", inverse: "author")]))
        let below = ManagedObjectModel(
            .made("Book", [.text("title")], [.one("author", "Writer", inverse: "books")]),
            .made("Person", abstract: true, [.text("name")]),
            .made("Writer", parent: "Person", [], [.many("books", "Book", inverse: "author")]))
        let rows = [
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR) VALUES (1, 1, 1, 'a', 3)",
            "INSERT INTO ZWRITER (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (3, 2, 1, 'w')",
        ]
        try InPlaceStep(alone, below, rows: rows).compare()

        let split = ManagedObjectModel(
            .made("Person", [.text("name")]), .made("Poet", [.text("name"), .text("style")]))
        let joined = ManagedObjectModel(
            .made("Person", [.text("name")]), .made("Poet", parent: "Person", [.text("style")]))
        try InPlaceStep(
            joined, split,
            rows: [
                "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZSTYLE) VALUES (1, 1, 1, 'a', NULL), (2, 2, 1, 'b', 's')"
            ]
        ).compare()
    }

    @Test("with new subentities of a to-one relationship's destination")
    func subentitiesAdded() throws {
        let before = ManagedObjectModel(
            .made("Book", [.text("title")], [.one("author", "Person", inverse: "books")]),
            .made("Person", [.text("name")], [.many("books", "Book", inverse: "author")]))
        let after = ManagedObjectModel(
            .made("Author", parent: "Person"),
            .made("Book", [.text("title")], [.one("author", "Person", inverse: "books")]),
            .made("Person", [.text("name")], [.many("books", "Book", inverse: "author")]))
        let rows = [
            "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (5, 2, 1, 'p')",
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR) VALUES (1, 1, 1, 'a', 5), (2, 1, 1, 'b', NULL)",
        ]
        let store = try InPlaceStep(before, after, rows: rows).compare()
        #expect(try store.integer("SELECT Z2_AUTHOR FROM ZBOOK WHERE Z_PK = 1") == 2)
    }

    // MARK: Indexes

    @Test("with indexes and uniqueness constraints added, renamed and dropped")
    func indexes() throws {
        let byTitle = FetchIndex(name: "byTitle", elements: [.init(property: "title")])
        let byPages = FetchIndex(name: "byPages", elements: [.init(property: "pages")])
        let before = ManagedObjectModel(
            .made("Book", [.text("title"), .number("pages"), .text("isbn")], unique: [["isbn"]], indexes: [byTitle]))
        let after = ManagedObjectModel(
            .made(
                "Book", [.text("title"), .number("pages"), .text("code", id: "isbn")], unique: [["code"], ["title"]],
                indexes: [byPages]))
        let step = try InPlaceStep(before, after, rows: books + ["UPDATE ZBOOK SET ZISBN = Z_PK"])
        try step.compare()
        try step.store.connection.execute("UPDATE ZBOOK SET ZTITLE = 'same'")
        let old = try DatabaseDump.text(step.store.path)
        let error = #expect(throws: FerryError.self) {
            try StepRun.inStore(step.step, on: step.store.connection, options: step.options)
        }
        #expect(error?.code == .rowFailed)
        #expect(!step.store.connection.isInTransaction)
        #expect(try DatabaseDump.text(step.store.path) == old)
    }
}
