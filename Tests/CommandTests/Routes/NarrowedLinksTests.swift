internal import Foundation
internal import TestSupport
internal import Testing

/// Links that are lost when a to-many relationship with several objects becomes to-one.
@Suite("Narrowed links")
struct NarrowedLinksTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    /// Writes books and authors: true for a to-many side, false for to-one, nil for no relationship.
    private func version(_ number: Int, books: Bool?, authors: Bool?, more: String = "") throws {
        let book = authors.map { RouteFolder.link("authors", "Author", books == nil ? nil : "books", toMany: $0) } ?? ""
        let author = books.map { RouteFolder.link("books", "Book", authors == nil ? nil : "authors", toMany: $0) } ?? ""
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

    /// Writes two versions, a mapping model, and a store of the first version.
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
        return try PlannedLoss.all(in: outcome.output).map {
            "\($0.name) \($0.rows.map(String.init) ?? "?")"
        }
    }

    /// Relates authors 1, 2 and 3 to books: 1 to two, 2 to the second of these as well, 3 to none.
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
        let refused = try app.run(["migrate"] + words)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose Book.authors"), "\(refused)")
        let done = try app.run(["migrate"] + words + ["--lose", "Book.authors"])
        #expect(done.exitCode == 0 && done.diagnostics.contains("Book.authors is lost, 1 value: "), "\(done)")
        #expect(try app.count("SELECT count(ZAUTHORS) FROM ZBOOK") == 2)
    }

    @Test("A foreign key that replaces a many-to-many relationship: each side with several objects loses some")
    func oneToOne() throws {
        try prepare(from: (true, true), to: (false, false))
        try related("Z_1BOOKS", "Z_2BOOKS", "Z_1AUTHORS")
        let both = try losses()
        #expect(both == ["Author.books 3", "Book.authors 3"], "\(both)")
        try app.execute("DELETE FROM Z_1BOOKS WHERE Z_1AUTHORS = 2")
        let one = try losses()
        #expect(one == ["Author.books 2"], "\(one)")
    }

    @Test("A one-to-many relationship that becomes one-to-one loses all links but the first of each object")
    func foreignKey() throws {
        try prepare(from: (true, false), to: (false, false))
        try app.execute("UPDATE ZBOOK SET ZAUTHORS = CASE Z_PK WHEN 4 THEN 2 ELSE 1 END")
        #expect(try losses() == ["Author.books 2"])
    }

    @Test("A relationship that gets a to-one inverse loses links to the same object")
    func newInverse() throws {
        try prepare(from: (nil, false), to: (false, false))
        try app.execute("UPDATE ZBOOK SET ZAUTHORS = CASE Z_PK WHEN 4 THEN NULL ELSE 1 END")
        #expect(try losses() == ["Book.authors 2"])
    }

    @Test("No links are lost where no object has several, or where another relationship takes them all")
    func keptLinks() throws {
        try prepare(from: (true, false), to: (false, false))
        try app.execute("UPDATE ZBOOK SET ZAUTHORS = Z_PK")
        #expect(try losses().isEmpty)
        try app.execute("UPDATE ZBOOK SET ZAUTHORS = 1")
        let one = try losses()
        #expect(one == ["Author.books 3"], "\(one)")
        try version(2, books: false, authors: false, more: RouteFolder.link("all", "Book", nil))
        try mapping(#"{ "all": { "mapping": "BookToBook", "from": "$source.books" } }"#)
        #expect(try losses().isEmpty)
    }
}
