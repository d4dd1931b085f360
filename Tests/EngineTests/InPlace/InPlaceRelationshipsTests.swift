import FerryBase
import FerryEngine
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

@Suite("A step in place has the result of the copied step, with relationships")
struct InPlaceRelationshipsTests {
    private func related(_ author: Relationship, _ books: Relationship) -> ManagedObjectModel {
        ManagedObjectModel(
            .made("Author", [.text("name")], [books]), .made("Book", [.text("title")], [author]))
    }

    private let authors = [
        "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ann'), (2, 1, 1, 'Ben')",
        "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR) VALUES (1, 2, 1, 'a', 2), (2, 2, 1, 'b', 1), (3, 2, 1, 'c', 2), (4, 2, 1, 'd', NULL)",
    ]

    @Test("with a to-one relationship made to-many, ordered or not", arguments: [false, true])
    func toMany(ordered: Bool) throws {
        let step = try InPlaceStep(
            related(.one("author", "Author", inverse: "books"), .many("books", "Book", inverse: "author")),
            related(
                .many("authors", "Author", inverse: "books", id: "author"),
                .many("books", "Book", inverse: "authors", ordered: ordered)), rows: authors)
        let store = try step.compare()
        #expect(try store.integer("SELECT count(*) FROM Z_1BOOKS") == 3)
    }

    @Test("with a relationship made ordered, and unordered again")
    func ordered() throws {
        let plain = related(.one("author", "Author", inverse: "books"), .many("books", "Book", inverse: "author"))
        let sorted = related(
            .one("author", "Author", inverse: "books"), .many("books", "Book", inverse: "author", ordered: true))
        let store = try InPlaceStep(plain, sorted, rows: authors).compare()
        #expect(
            try store.rows("SELECT Z_PK, Z_FOK_AUTHOR FROM ZBOOK WHERE ZAUTHOR = 2 ORDER BY Z_PK")
                == [[.integer(1), .integer(2048)], [.integer(3), .integer(3072)]])
        try InPlaceStep(sorted, plain, rows: authors + ["UPDATE ZBOOK SET Z_FOK_AUTHOR = 2048 * Z_PK"]).compare()
    }

    @Test("with a many-to-many relationship made ordered, renamed and dropped")
    func manyToMany() throws {
        func model(_ books: Relationship?, _ authors: Relationship?) -> ManagedObjectModel {
            ManagedObjectModel(
                .made("Author", [.text("name")], [books].compactMap { $0 }),
                .made("Book", [.text("title")], [authors].compactMap { $0 }))
        }
        let plain = model(.many("books", "Book", inverse: "authors"), .many("authors", "Author", inverse: "books"))
        let rows = [
            "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ann'), (2, 1, 1, 'Ben')",
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 2, 1, 'a'), (2, 2, 1, 'b')",
            "INSERT INTO Z_1BOOKS (Z_1AUTHORS, Z_2BOOKS) VALUES (1, 2), (1, 1), (2, 1)",
        ]
        try InPlaceStep(
            plain,
            model(
                .many("books", "Book", inverse: "authors", ordered: true), .many("authors", "Author", inverse: "books")),
            rows: rows
        ).compare()
        try InPlaceStep(
            plain,
            model(
                .many("works", "Book", inverse: "makers", id: "books"),
                .many("makers", "Author", inverse: "works", id: "authors")),
            rows: rows
        ).compare()
        try InPlaceStep(plain, model(nil, nil), rows: rows).compare()
    }

    @Test("with the second side of a many-to-many relationship made ordered, too")
    func bothSidesOrdered() throws {
        func model(ordered: Bool) -> ManagedObjectModel {
            related(
                .many("authors", "Author", inverse: "books", ordered: ordered),
                .many("books", "Book", inverse: "authors", ordered: true))
        }
        let store = try InPlaceStep(
            model(ordered: false), model(ordered: true),
            rows: [
                "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ann'), (2, 1, 1, 'Ben')",
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 2, 1, 'a'), (2, 2, 1, 'b')",
                "INSERT INTO Z_1BOOKS (Z_1AUTHORS, Z_2BOOKS, Z_FOK_2BOOKS) VALUES (1, 2, 5), (1, 1, 6), (2, 1, 7)",
            ]
        ).compare()
        #expect(
            try store.rows("SELECT Z_FOK_2BOOKS, Z_FOK_1AUTHORS FROM Z_1BOOKS ORDER BY 1") == [
                [.integer(5), .integer(2048)], [.integer(6), .integer(2048)], [.integer(7), .integer(3072)],
            ])
    }

    @Test("with the to-one side of an ordered relationship made to-many, which keeps the order")
    func orderedToMany() throws {
        let store = try InPlaceStep(
            related(
                .one("author", "Author", inverse: "books"), .many("books", "Book", inverse: "author", ordered: true)),
            related(
                .many("authors", "Author", inverse: "books", id: "author"),
                .many("books", "Book", inverse: "authors", ordered: true)),
            rows: authors + ["UPDATE ZBOOK SET Z_FOK_AUTHOR = 9000 - Z_PK WHERE ZAUTHOR IS NOT NULL"]
        ).compare()
        #expect(try store.integer("SELECT Z_FOK_2BOOKS FROM Z_1BOOKS WHERE Z_2BOOKS = 3") == 8997)
    }

    @Test("with an ordered relationship renamed on both sides, which keeps its order")
    func orderedRenamed() throws {
        let before = related(
            .one("author", "Author", inverse: "books"), .many("books", "Book", inverse: "author", ordered: true))
        let after = related(
            .one("writer", "Author", inverse: "works", id: "author"),
            .many("works", "Book", inverse: "writer", ordered: true, id: "books"))
        let store = try InPlaceStep(
            before, after, rows: authors + ["UPDATE ZBOOK SET Z_FOK_AUTHOR = 9000 - Z_PK WHERE ZAUTHOR IS NOT NULL"]
        ).compare()
        #expect(try store.integer("SELECT Z_FOK_WRITER FROM ZBOOK WHERE Z_PK = 3") == 8997)
    }

    @Test("with a one-to-one relationship renamed on both sides")
    func oneToOne() throws {
        func model(_ author: String, _ book: String, ids: Bool) -> ManagedObjectModel {
            related(
                .one(author, "Author", inverse: book, id: ids ? "author" : nil),
                .one(book, "Book", inverse: author, id: ids ? "book" : nil))
        }
        try InPlaceStep(
            model("author", "book", ids: false), model("writer", "work", ids: true),
            rows: [
                "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBOOK) VALUES (1, 1, 1, 'Ann', 3), (2, 1, 1, 'Ben', NULL)",
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR) VALUES (3, 2, 1, 'a', 1)",
            ]
        ).compare()
    }
}
