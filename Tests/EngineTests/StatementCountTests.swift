import FerryEngine
import FerryMapping
import FerryModel
import FerrySQLite
import TestSupport
import Testing

/// The number of a run's statements depends on chunks and entity mappings, never on rows.
@Suite("The number of statements")
struct StatementCountTests {
    private static let source = ManagedObjectModel(
        .made("Book", [.text("author"), .text("json"), .text("title")], [.many("users", "User", inverse: "books")]),
        .made("Shelf", [.number("place")]),
        .made("User", [.text("name")], [.many("books", "Book", inverse: "users")]))

    /// One mapping of each kind: copied, computed, found or created, exploded, and one object for each link.
    private static let destination = ManagedObjectModel(
        .made("Author", [.text("name")], [.many("written", "Book", inverse: "authors")]),
        .made(
            "Book", [.text("heading"), .number("length")],
            [
                .many("authors", "Author", inverse: "written"), .many("files", "File", inverse: "book"),
                .many("tags", "Tag", inverse: "tagged"), .many("users", "User", inverse: "books"),
            ]),
        .made(
            "File", [.text("title")],
            [.one("book", "Book", inverse: "files"), .one("user", "User", inverse: "files")]),
        .made("Shelf", [.number("place")]),
        .made("Tag", [.text("name")], [.many("tagged", "Book", inverse: "tags")]),
        .made(
            "User", [.text("name")],
            [.many("books", "Book", inverse: "users"), .many("files", "File", inverse: "user")]
        ))

    private static let mapping = """
        { "source": "Model", "destination": "Model 2", "entityMappings": [
            { "name": "UserToUser", "source": "User", "destination": "User" },
            { "name": "ShelfToShelf", "source": "Shelf", "destination": "Shelf",
              "attributes": { "place": "$source.place * 2" } },
            { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "author != nil",
              "unique": ["name"], "attributes": { "name": "$source.author" } },
            { "name": "BookTag", "source": "Book", "forEach": { "tag": "JSON($source.json, 'tags')" },
              "destination": "Tag", "unique": ["name"], "attributes": { "name": "$tag.name" } },
            { "name": "BookToBook", "source": "Book", "destination": "Book",
              "attributes": { "heading": "uppercase($source.title)", "length": "$source.title.length" },
              "relationships": { "authors": { "mapping": "BookAuthor", "from": "$source" },
                                 "tags": { "mapping": "BookTag", "from": "$source" } } },
            { "name": "BookFile", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
              "attributes": { "title": "$source.title" },
              "relationships": { "book": { "mapping": "BookToBook", "from": "$source" },
                                 "user": { "mapping": "UserToUser", "from": "$user" } } } ] }
        """

    /// Returns books, each with an author of some, a tag of its own and a tag of all, and two users.
    private static func rows(_ count: Int) -> [String] {
        let numbers = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < \(count))"
        return [
            """
            \(numbers) INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR, ZJSON)
            SELECT k, 1, 1, 'Book ' || k, 'Author ' || (k % 7),
                '{"tags": [{"name": "all"}, {"name": "' || k || '"}]}' FROM n
            """,
            "\(numbers) INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT, ZPLACE) SELECT k, 2, 1, k FROM n",
            "\(numbers) INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT k, 3, 1, 'User ' || k FROM n",
            "\(numbers) INSERT INTO Z_1USERS SELECT k, k FROM n UNION ALL SELECT k, k % \(count) + 1 FROM n",
        ]
    }

    private func statements(rows: Int, chunk: Int) throws -> [String] {
        let store = try StoreBuilder(Self.source, maximumKeys: ["Book": Int64(rows)])
        for sql in Self.rows(rows) { try store.connection.execute(sql) }
        let step = try TracedStep(store, Self.mapping, from: Self.source, to: Self.destination, chunk: chunk)
        #expect(step.report.counts.first { $0.name == "BookFile" }?.written == Int64(rows * 2))
        return step.statements
    }

    @Test("is the same for ten times the rows in chunks of ten times the size")
    func goesByChunks() throws {
        #expect(try statements(rows: 120, chunk: 40) == statements(rows: 1_200, chunk: 400))
    }

    @Test("grows by the same number for each further chunk of every mapping")
    func growsByChunks() throws {
        let counts = try [2, 4, 6].map { try statements(rows: $0 * 40, chunk: 40).count }
        #expect(counts[2] - counts[1] == counts[1] - counts[0])
        // Two more chunks take far fewer statements than the eighty more rows of each table.
        #expect(counts[1] - counts[0] < 2 * 100)
    }
}
