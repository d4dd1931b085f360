internal import Foundation
internal import TestSupport
internal import Testing

/// Links that have no place any more, where a relationship has room for one object and had several.
@Suite("Narrowed links")
struct NarrowedLinksTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    private struct Plan: Decodable {
        struct Loss: Decodable {
            var entity: String; var property: String?; var values, rows: Int64?; var because: String
        }
        var losses: [Loss]
    }

    private static func link(_ name: String, _ entity: String, _ inverse: String?, many: Bool) -> String {
        "<relationship name=\"\(name)\" optional=\"YES\" \(many ? "toMany=\"YES\"" : "maxCount=\"1\"") "
            + "deletionRule=\"Nullify\" destinationEntity=\"\(entity)\""
            + (inverse.map { " inverseName=\"\($0)\" inverseEntity=\"\(entity)\"" } ?? "") + "/>"
    }

    /// Books and authors, whether each has several of the other; nil for a side that is not there.
    private func version(_ number: Int, books: Bool?, authors: Bool?, more: String = "") throws {
        let book = authors.map { Self.link("authors", "Author", books == nil ? nil : "books", many: $0) } ?? ""
        let author = books.map { Self.link("books", "Book", authors == nil ? nil : "authors", many: $0) } ?? ""
        try app.model(
            "App", "App \(number)",
            RouteFolder.entity("Book", book) + "<entity name=\"Author\">\(author)\(more)</entity>")
        try app.current("App", "App \(number)")
    }

    private func mapping(_ author: String = "{}") throws {
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
                { "source": "Book", "destination": "Book" },
                { "source": "Author", "destination": "Author", "relationships": \(author) }] }
            """, to: "map.json")
    }

    /// Two versions, whether books and authors have several of each other, a mapping model, and a store of the first.
    private func prepare(
        from old: (books: Bool?, authors: Bool?), to new: (books: Bool?, authors: Bool?)
    ) throws {
        try version(1, books: old.books, authors: old.authors)
        try version(2, books: new.books, authors: new.authors)
        try mapping()
        try app.generate("App", "App 1")
    }

    private func losses() throws -> [String] {
        let outcome = try app.run(
            "plan", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "map.json", "--json")
        return try JSONDecoder().decode(Plan.self, from: Data(outcome.output.utf8)).losses.map {
            "\($0.entity).\($0.property ?? "") \($0.rows.map(String.init) ?? "?")"
        }
    }

    /// Authors 1, 2 and 3 of books: 1 of two, 2 of the second of these as well, 3 of none.
    private func related(_ table: String, _ book: String, _ author: String) throws {
        try app.execute(
            "DELETE FROM \(table); INSERT INTO \(table) (\(book), \(author)) VALUES (1, 1), (2, 1), (2, 2)")
    }

    @Test("A to-many relationship that becomes to-one loses the links beyond the first of each object")
    func toOne() throws {
        try prepare(from: (true, true), to: (true, false))
        try related("Z_1BOOKS", "Z_2BOOKS", "Z_1AUTHORS")
        #expect(try losses() == ["Book.authors 1"])
        let words = ["App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "map.json"]
        let refused = try app.run(["migrate"] + words + ["--refuse-loss"])
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose Book.authors"), "\(refused)")
        let done = try app.run(["migrate"] + words + ["--refuse-loss", "--lose", "Book.authors"])
        #expect(done.exitCode == 0 && done.diagnostics.contains("Book.authors is lost, 1 value: "), "\(done)")
        #expect(try app.count("SELECT count(ZAUTHORS) FROM ZBOOK") == 2)
    }

    @Test("A foreign key in the place of many on either side: each side that has several loses some")
    func oneToOne() throws {
        try prepare(from: (true, true), to: (false, false))
        try related("Z_1BOOKS", "Z_2BOOKS", "Z_1AUTHORS")
        #expect(try losses() == ["Author.books ?", "Book.authors ?"])
        try app.execute("DELETE FROM Z_1BOOKS WHERE Z_1AUTHORS = 2")
        #expect(try losses() == ["Author.books ?"])
    }

    @Test("One-to-many that becomes one-to-one loses what is beyond the first of each")
    func foreignKey() throws {
        try prepare(from: (true, false), to: (false, false))
        try app.execute("UPDATE ZBOOK SET ZAUTHORS = CASE Z_PK WHEN 4 THEN 2 ELSE 1 END")
        #expect(try losses() == ["Author.books 2"])
    }

    @Test("A relationship without inverse that gets a to-one inverse loses what leads to the same object")
    func newInverse() throws {
        try prepare(from: (nil, false), to: (false, false))
        try app.execute("UPDATE ZBOOK SET ZAUTHORS = CASE Z_PK WHEN 4 THEN NULL ELSE 1 END")
        #expect(try losses() == ["Book.authors 2"])
    }

    @Test("No links are lost where no object has several, or where another relationship takes all")
    func keptLinks() throws {
        try prepare(from: (true, false), to: (false, false))
        try app.execute("UPDATE ZBOOK SET ZAUTHORS = Z_PK")
        #expect(try losses().isEmpty)
        try app.execute("UPDATE ZBOOK SET ZAUTHORS = 1")
        #expect(try losses() == ["Author.books 3"])
        try version(2, books: false, authors: false, more: Self.link("all", "Book", nil, many: true))
        try mapping(#"{ "all": { "mapping": "BookToBook", "from": "$source.books" } }"#)
        #expect(try losses().isEmpty)
    }
}
