import FerryBase
import FerryEngine
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import TestSupport
import Testing

@Suite("A composed chain has the result of its steps")
struct CompositionCasesTests {
    private let books = [
        "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPAGES) VALUES (1, 1, 1, 'One', 10), (2, 1, 5, NULL, 20), (7, 1, 1, 'Seven', NULL)",
        "UPDATE Z_PRIMARYKEY SET Z_MAX = 9 WHERE Z_NAME = 'Book'",
    ]
    private let book = ManagedObjectModel(.made("Book", [.text("title"), .number("pages")]))

    private func mandatory(_ name: String, _ type: AttributeType, _ value: DefaultValue) -> Attribute {
        Attribute(name: name, type: type, defaultValue: value)
    }

    @Test("with an attribute dropped, and one of the same name added again")
    func dropAndAdd() throws {
        let store = try ComposedChain(
            [book, ManagedObjectModel(.made("Book", [.number("pages")])), book], rows: books
        ).compare()
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZTITLE IS NULL") == 3)
    }

    @Test(
        "with a default value that only an intermediate version has",
        arguments: [
            (AttributeType.date, DefaultValue.real(42.5)), (.decimal, .real(0.1)), (.float, .real(0.1)),
            (.uuid, .blob(Array(1...16))), (.string, .text("none")), (.boolean, .integer(1)), (.binary, .blob([1, 2])),
            (.integer64, .integer(.max)),
        ])
    func defaultOnTheWay(type: AttributeType, value: DefaultValue) throws {
        let store = try ComposedChain(
            [
                book,
                ManagedObjectModel(.made("Book", [.text("title"), .number("pages"), mandatory("extra", type, value)])),
                ManagedObjectModel(.made("Book", [.text("title"), .number("pages"), .number("extra", type)])),
            ], rows: books
        ).compare()
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZEXTRA IS NOT NULL") == 3)
    }

    @Test("with a default value that follows an optional version without one")
    func defaultTooLate() throws {
        let store = try ComposedChain(
            [
                book,
                ManagedObjectModel(.made("Book", [.text("title"), .number("pages"), .text("note")])),
                ManagedObjectModel(
                    .made(
                        "Book",
                        [
                            .text("title"), .number("pages"),
                            Attribute(name: "note", type: .string, isOptional: true, defaultValue: .text("late")),
                        ])),
            ], rows: books
        ).compare()
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZNOTE IS NULL") == 3)
    }

    @Test("with an attribute renamed, and a new one of the old name")
    func rename() throws {
        let store = try ComposedChain(
            [
                book,
                ManagedObjectModel(.made("Book", [.text("heading", id: "title"), .number("pages")])),
                ManagedObjectModel(.made("Book", [.text("heading"), .text("title"), .number("pages")])),
            ], rows: books
        ).compare()
        #expect(try store.value("SELECT ZHEADING FROM ZBOOK WHERE Z_PK = 7") == .text("Seven"))
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZTITLE IS NULL") == 3)
    }

    @Test("with an optional attribute made mandatory with a default value, and optional again")
    func mandatoryOnTheWay() throws {
        let store = try ComposedChain(
            [
                book,
                ManagedObjectModel(.made("Book", [mandatory("title", .string, .text("none")), .number("pages")])),
                book,
            ], rows: books
        ).compare()
        #expect(try store.value("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 2") == .text("none"))
    }

    @Test("with an entity renamed, and its name used again")
    func entityName() throws {
        let store = try ComposedChain(
            [
                book,
                ManagedObjectModel(.made("Volume", id: "Book", [.text("title"), .number("pages")])),
                ManagedObjectModel(
                    .made("Book", [.text("other")]), .made("Volume", [.text("title"), .number("pages")])),
            ], rows: books
        ).compare()
        #expect(try store.integer("SELECT count(*) FROM ZVOLUME WHERE Z_ENT = 2") == 3)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK") == 0)
        #expect(try store.rows("SELECT Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT") == [[.integer(0)], [.integer(9)]])
    }

    @Test("with an entity removed, and one of its name added again")
    func entityRemoved() throws {
        let film = Entity.made("Film", [.text("name")])
        let with = ManagedObjectModel(.made("Book", [.text("title"), .number("pages")]), film)
        let store = try ComposedChain(
            [with, ManagedObjectModel(film), with], rows: books + ["INSERT INTO ZFILM VALUES (4, 2, 1, 'f')"]
        ).compare()
        #expect(try store.integer("SELECT count(*) FROM ZBOOK") == 0)
        #expect(try store.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == 0)
    }

    private func related(_ author: Relationship, _ books: Relationship) -> ManagedObjectModel {
        ManagedObjectModel(
            .made("Author", [.text("name")], [books]), .made("Book", [.text("title")], [author]))
    }

    private let authors = [
        "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ann'), (2, 1, 1, 'Ben')",
        "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR) VALUES (1, 2, 1, 'a', 2), (2, 2, 1, 'b', 1), (3, 2, 1, 'c', 2), (4, 2, 1, 'd', NULL)",
    ]

    @Test("with a to-one relationship made to-many, and that ordered")
    func toManyAndOrdered() throws {
        let store = try ComposedChain(
            [
                related(.one("author", "Author", inverse: "books"), .many("books", "Book", inverse: "author")),
                related(
                    .many("authors", "Author", inverse: "books", id: "author"),
                    .many("books", "Book", inverse: "authors")),
                related(
                    .many("authors", "Author", inverse: "books"),
                    .many("books", "Book", inverse: "authors", ordered: true)),
            ], rows: authors
        ).compare()
        #expect(
            try store.rows("SELECT Z_2BOOKS, Z_FOK_2BOOKS FROM Z_1BOOKS WHERE Z_1AUTHORS = 2 ORDER BY 1")
                == [[.integer(1), .integer(2048)], [.integer(3), .integer(3072)]])
    }

    @Test("with an order that is made, kept and dropped")
    func orders() throws {
        let plain = related(.one("author", "Author", inverse: "books"), .many("books", "Book", inverse: "author"))
        let sorted = related(
            .one("author", "Author", inverse: "books"), .many("books", "Book", inverse: "author", ordered: true))
        func noted(_ model: ManagedObjectModel) -> ManagedObjectModel {
            var entities = model.entities
            entities["Book"]?.attributes.append(.text("note"))
            return ManagedObjectModel(versionIdentifiers: [""], entities: Array(entities.values))
        }
        try ComposedChain([plain, sorted, noted(sorted)], rows: authors).compare()
        try ComposedChain([plain, sorted, noted(plain)], rows: authors).compare()
        let placed = authors + ["UPDATE ZBOOK SET Z_FOK_AUTHOR = 9000 - 100 * Z_PK WHERE ZAUTHOR IS NOT NULL"]
        try ComposedChain([sorted, noted(sorted), sorted], rows: placed).compare()
        // The second step drops the order, and the third makes one from keys; one pass would carry the old order over.
        try ComposedChain([sorted, noted(plain), sorted], rows: placed).compare(passes: 2)
    }

    @Test("with an order that is made before some of its objects are deleted")
    func orderWithLosses() throws {
        func model(_ ordered: Bool, _ novels: Bool) -> ManagedObjectModel {
            ManagedObjectModel(
                versionIdentifiers: [""],
                entities: [
                    .made("Author", [], [.many("books", "Book", inverse: "author", ordered: ordered)]),
                    .made("Book", [], [.one("author", "Author", inverse: "books")]),
                ] + (novels ? [.made("Novel", parent: "Book")] : []))
        }
        let rows = [
            "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1)",
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR) VALUES (1, 2, 1, 1), (2, 3, 1, 1), (3, 2, 1, 1)",
        ]
        let store = try ComposedChain([model(false, true), model(true, true), model(true, false)], rows: rows)
            .compare(passes: 2)
        #expect(
            try store.rows("SELECT Z_FOK_AUTHOR FROM ZBOOK ORDER BY Z_PK") == [[.integer(2048)], [.integer(4096)]])
    }

    @Test("with a uniqueness constraint that only an intermediate version has")
    func uniqueOnTheWay() throws {
        let models = [
            book,
            ManagedObjectModel(.made("Book", [.text("title"), .number("pages")], unique: [["title"]])), book,
        ]
        let chain = try ComposedChain(models, rows: books)
        try chain.compare()
        let check = try #require(try chain.plan().steps.first?.needsUniqueValues.first)
        #expect(check.entity == "Book" && check.names == ["title"] && check.mappings.map(\.source) == ["Book"])
    }

    @Test("with numeric types that widen step by step, and separately over a type that is too small")
    func numbers() throws {
        func model(_ type: AttributeType) -> ManagedObjectModel {
            ManagedObjectModel(.made("Book", [.text("title"), .number("pages", type)]))
        }
        try ComposedChain([model(.integer16), model(.integer32), model(.integer64)], rows: books).compare()
        try ComposedChain([model(.integer64), model(.float), model(.double)], rows: books).compare(passes: 2)
        try ComposedChain([model(.boolean), model(.integer32), model(.decimal)], rows: books).compare(passes: 2)
    }

    @Test("with entities that move between hierarchies, and entity numbers that change and change back")
    func hierarchies() throws {
        let plain = ManagedObjectModel(.made("Book", [.text("title")]), .made("Person", [.text("name")]))
        let below = ManagedObjectModel(
            .made("Atlas"), .made("Being", abstract: true), .made("Book", [.text("title")]),
            .made("Person", parent: "Being", [.text("name")]), .made("Poet", parent: "Person", [.text("style")]))
        let rows = [
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'a')",
            "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (5, 2, 1, 'p')",
        ]
        try ComposedChain([plain, below, plain], rows: rows).compare()
        // Step by step, the new table of Poet takes over the highest key of Person's table; one pass would not.
        let apart = ManagedObjectModel(.made("Book", [.text("title")]), .made("Poet", [.text("style")]))
        try ComposedChain([plain, below, apart], rows: rows).compare(passes: 2)
    }

    @Test("by mapping models with filters and expressions, between inferred steps")
    func mappingModels() throws {
        func model(_ extra: String) -> ManagedObjectModel {
            ManagedObjectModel(.made("Book", [.text("title"), .number("pages"), .text(extra)]))
        }
        let mapping = EntityMapping(
            name: "BookToBook", source: "Book", destination: "Book",
            filter: .comparison(
                .init(
                    left: .keyPath(.variable("source"), [.key("heading")]), comparator: .notEqual,
                    right: .constant(.null))),
            attributes: [
                "title": .value(.keyPath(.variable("source"), [.key("heading")])),
                "pages": .value(
                    .predefined(
                        "add:to:", [.keyPath(.variable("source"), [.key("pages")]), .constant(.integer(1))])),
            ])
        let mappingModel = MappingModel(
            name: "Middle", path: "/Middle.json", sourceVersion: "V2", destinationVersion: "V3",
            entityMappings: [mapping])
        let chain = try ComposedChain(
            [
                book, ManagedObjectModel(.made("Book", [.text("heading", id: "title"), .number("pages")])),
                model("third"), model("fourth"),
            ], mappingModels: [mappingModel], rows: books)
        let store = try chain.compare()
        #expect(
            try store.rows("SELECT ZTITLE, ZPAGES FROM ZBOOK ORDER BY Z_PK") == [
                [.text("One"), .integer(11)], [.text("Seven"), .null],
            ])
        let step = try #require(try chain.plan().steps.first)
        #expect(step.versions == ["V1", "V2", "V3", "V4"] && step.mode == .copy)
        #expect(step.mappingModelNames == ["inferred", "Middle"])
    }

    @Test("with statistics of tables and indexes that a step rebuilt")
    func statistics() throws {
        let indexed = ManagedObjectModel(
            .made(
                "Book", [.text("title"), .number("pages")],
                indexes: [FetchIndex(name: "byTitle", elements: [.init(property: "title")])]),
            .made("Film", [.text("name")]))
        let plain = ManagedObjectModel(.made("Book", [.number("pages")]), .made("Film", [.text("name")]))
        try ComposedChain([indexed, plain, indexed], rows: books + ["ANALYZE"]).compare()
        let bare = ManagedObjectModel(
            .made("Book", [.text("title"), .number("pages")]), .made("Film", [.text("name")]))
        try ComposedChain([indexed, bare, indexed], rows: books + ["ANALYZE"]).compare()
    }
}
