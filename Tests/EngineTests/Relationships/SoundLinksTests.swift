import FerryBase
import FerryEngine
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Objects made for each link of a join table, whose keys are all that is asked for.
@Suite("One object for each link")
struct SoundLinksTests {
    private static let books = 1_500
    private static let users = 15_000

    private static let source = ManagedObjectModel(
        .made("Book", [.text("title")], [.many("users", "User", inverse: "books")]),
        .made("User", [.text("name")], [.many("books", "Book", inverse: "users")]))

    private static let destination = ManagedObjectModel(
        .made("Book", [.text("title")], [.many("files", "File", inverse: "book")]),
        .made(
            "File", [.text("title")], [.one("book", "Book", inverse: "files"), .one("user", "User", inverse: "files")]),
        .made("User", [.text("name")], [.many("files", "File", inverse: "user")]))

    private static let mapping = """
        { "source": "Model", "destination": "Model 2", "entityMappings": [
            { "name": "UserToUser", "source": "User", "destination": "User" },
            { "name": "BookToBook", "source": "Book", "destination": "Book" },
            { "name": "BookFile", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
              "attributes": { "title": "$source.title" },
              "relationships": { "book": { "mapping": "BookToBook", "from": "$source" },
                                 "user": { "mapping": "UserToUser", "from": "$user" } } } ] }
        """

    /// Books of four users each, who stand anywhere in their table.
    private func store() throws -> StoreBuilder {
        let store = try StoreBuilder(
            Self.source, maximumKeys: ["Book": Int64(Self.books), "User": Int64(Self.users)])
        let numbers = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k <"
        try store.execute(
            "\(numbers) \(Self.books)) INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) SELECT k, 1, 1, 'Book ' || k FROM n",
            """
            \(numbers) \(Self.users))
            INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT k, 2, 1, printf('%.300c', 'n') || k FROM n
            """,
            """
            \(numbers) \(Self.books * 4)) INSERT INTO Z_1USERS (Z_1BOOKS, Z_2USERS)
            SELECT (k + 3) / 4, 1 + k * 7919 % \(Self.users) FROM n
            """)
        return store
    }

    private func run(_ store: StoreBuilder, damage: [StoreDamage]?) throws -> (files: Connection, read: Double) {
        let faults = FaultPlan()
        let step = try TracedStep(
            store, Self.mapping, from: Self.source, to: Self.destination, chunk: 500, damage: damage,
            vfs: VFS(temporaryFolder: store.folder.path, faults: faults))
        let size = try #require(
            FileManager.default.attributesOfItem(atPath: store.path)[.size] as? Int64, "the store has a size")
        let read = faults.bytesRead.filter { store.path.hasSuffix($0.key) || $0.key.hasSuffix("/Store.sqlite") }
        let files = try Connection(path: step.run.destinationPath, mode: .readOnly)
        return (files, Double(read.values.reduce(0, +)) / Double(size))
    }

    private func wrong(_ files: Connection, in store: StoreBuilder) throws -> Int64? {
        try files.attach(path: store.path, as: "old", mode: .readOnly)
        return try files.integer(
            """
            SELECT count(*) FROM (
                SELECT ZBOOK, ZUSER FROM main.ZFILE EXCEPT SELECT Z_1BOOKS, Z_2USERS FROM old.Z_1USERS)
            """)
    }

    @Test("Where every link is sound, no row of what it leads to is read for its key")
    func sound() throws {
        let store = try store()
        let (files, read) = try run(store, damage: [])
        #expect(read > 0 && read < 1.6, "\(read) times the store")
        #expect(try files.integer("SELECT count(*) FROM ZFILE") == Int64(Self.books * 4))
        #expect(try wrong(files, in: store) == 0)
    }

    @Test("A link that leads nowhere makes no object")
    func dangling() throws {
        let store = try store()
        try store.execute("INSERT INTO Z_1USERS (Z_1BOOKS, Z_2USERS) VALUES (3, 900001)")
        let (files, _) = try run(store, damage: nil)
        #expect(try files.integer("SELECT count(*) FROM ZFILE") == Int64(Self.books * 4))
        #expect(try wrong(files, in: store) == 0)
    }
}
