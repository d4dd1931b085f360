internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// A real store through three real model versions, with the built program alone.
@Suite("The program on a real store", .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
struct BookMigrationTests {
    private static let books = "objcio-bookmigration"

    private let folder: TemporaryFolder
    private let store: String
    private let words: [String]

    init() throws {
        folder = try TemporaryFolder()
        store = try Fixtures.copyStore(Self.books + "/Model1.sqlite", into: folder)
        try FileManager.default.copyItem(
            atPath: Fixtures.path(Self.books + "/Model1_to_Model2.xcmappingmodel"),
            toPath: folder.file("Model1_to_Model2.xcmappingmodel"))
        try Self.authors.write(toFile: folder.file("authors.json"), atomically: true, encoding: .utf8)
        try Self.files.write(toFile: folder.file("files.json"), atomically: true, encoding: .utf8)
        words = [
            "migrate", store, "--models", Fixtures.path(Self.books + "/Model.xcdatamodeld"), "--mappings",
            folder.file("authors.json"), "--mappings", folder.file("files.json"), "--to", "Model3", "--lose",
            "Book.fileURL",
            "--json",
        ]
    }

    /// Replaces `MHWBookToBookPolicy`.
    private static let authors = """
        {
          "source": "Model1", "destination": "Model2", "extends": "Model1_to_Model2.xcmappingmodel",
          "entityMappings": [
            { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "authorName != nil",
              "unique": ["name"], "attributes": { "name": "$source.authorName" } },
            { "name": "BookToBook", "source": "Book", "destination": "Book",
              "relationships": { "users": { "mapping": "UserToUser", "from": "$source.user" },
                                 "authors": { "mapping": "BookAuthor", "from": "$source" } } }
          ]
        }
        """

    private static let files = """
        {
          "source": "Model2", "destination": "Model3",
          "entityMappings": [
            { "name": "UserToUser", "source": "User", "destination": "User" },
            { "name": "AuthorToAuthor", "source": "Author", "destination": "Author" },
            { "name": "BookToBook", "source": "Book", "destination": "Book" },
            { "name": "BookFile", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
              "attributes": { "fileURL": "$source.fileURL" },
              "relationships": { "book": { "mapping": "BookToBook", "from": "$source" },
                                 "user": { "mapping": "UserToUser", "from": "$user" } } }
          ]
        }
        """

    @Test("Authors are found or created, files made for each book and user, and a rollback restores the old bytes")
    func migratesAndRollsBack() throws {
        let content = try digest(counters: false)
        let titles = try rows("SELECT Z_PK, typeof(ZTITLE), ZTITLE FROM ZBOOK ORDER BY Z_PK")
        let urls = try rows("SELECT typeof(ZFILEURL), ZFILEURL FROM ZBOOK ORDER BY Z_PK")

        let migrated = try FerryBinary.run(words, in: folder.path)
        #expect(migrated.exitCode == 0, "\(migrated.diagnostics) \(migrated.output)")
        #expect(try count("SELECT count(*) FROM ZBOOK") == 4)
        #expect(try count("SELECT count(*) FROM ZUSER") == 3)
        #expect(try count("SELECT count(*) FROM ZAUTHOR WHERE ZNAME = 'Franz Kafka'") == 1)
        #expect(try booksOfKafka() == 2)
        #expect(
            try rows("SELECT u.Z_PK, count(f.Z_PK) FROM ZUSER u LEFT JOIN ZFILE f ON f.ZUSER = u.Z_PK GROUP BY 1")
                == [[.integer(1), .integer(0)], [.integer(2), .integer(0)], [.integer(3), .integer(4)]])
        #expect(try rows("SELECT DISTINCT ZUSERID FROM ZUSER") == [[.integer(1)]])
        #expect(
            try count("SELECT count(*) FROM ZFILE f JOIN ZBOOK b ON f.ZBOOK = b.Z_PK")
                == count("SELECT count(*) FROM ZFILE"))
        #expect(try rows("SELECT Z_PK, typeof(ZTITLE), ZTITLE FROM ZBOOK ORDER BY Z_PK") == titles)
        #expect(try rows("SELECT typeof(ZFILEURL), ZFILEURL FROM ZFILE ORDER BY ZBOOK") == urls)
        #expect(try rows("PRAGMA integrity_check") == [[.text("ok")]])

        let again = try FerryBinary.run(words, in: folder.path)
        #expect(again.exitCode == 0 && again.output.contains("\"upToDate\""))

        let back = try FerryBinary.run(["rollback", store], in: folder.path)
        #expect(back.exitCode == 0, "\(back.diagnostics)")
        #expect(try digest(counters: false) == content)
    }

    @Test("The mapping model alone is refused for its policy class, with the two remedies")
    func refusesPolicy() throws {
        let before = try digest()
        let outcome = try FerryBinary.run(
            [
                "migrate", store, "--models", Fixtures.path(Self.books + "/Model.xcdatamodeld"), "--mappings",
                folder.file("Model1_to_Model2.xcmappingmodel"), "--to", "Model2", "--json",
            ], in: folder.path)
        #expect(outcome.exitCode == 2)
        #expect(outcome.output.contains("MHWBookToBookPolicy"))
        #expect(outcome.output.contains("\"outcome\": \"refused\""))
        #expect(try digest() == before)
    }

    @Test("A store that another program is writing to is refused as in use")
    func refusesStoreInUse() throws {
        let writer = try Connection(path: store, mode: .readWrite)
        try writer.execute("BEGIN IMMEDIATE")
        let outcome = try FerryBinary.run(words, in: folder.path)
        try writer.execute("ROLLBACK")
        #expect(outcome.exitCode == 2)
        #expect(outcome.output.contains("\"storeInUse\""))
    }

    // MARK: Queries

    private func rows(_ sql: String) throws -> [[Value]] { try Connection(path: store, mode: .readOnly).rows(sql) }

    private func count(_ sql: String) throws -> Int64? { try rows(sql).first?.first?.integer }

    /// Author is entity 1, so the join table's column `Z_1…` holds its key.
    private func booksOfKafka() throws -> Int64? {
        let table =
            try rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*'")[0][0].text ?? ""
        let column = try rows("SELECT name FROM pragma_table_info('\(table)') WHERE name GLOB 'Z_1*'")[0][0].text ?? ""
        return try count(
            "SELECT count(*) FROM \(table) JOIN ZAUTHOR ON \(column) = ZAUTHOR.Z_PK WHERE ZNAME = 'Franz Kafka'")
    }

    private func digest(counters: Bool = true) throws -> String {
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: store)))
        if !counters { DatabaseHeader.blankCounters(&bytes) }
        return SHA256.hash(bytes).hexadecimal
    }
}
