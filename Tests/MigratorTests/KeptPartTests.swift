import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Copied steps that leave tables where they are.
@Suite("Tables that stay in a copied step")
struct KeptPartTests {
    @Test("The plan tells each table's treatment, and the store gets the rows of a copy of all")
    func agree() throws {
        let small = try SmallMigration(rows: 400, keepsWriter: true)
        let migrator = try small.migrator()
        let plan = try migrator.plan(.toSecond(nil))
        #expect(try treatments(of: plan) == ["ZBOOK": "altered", "ZNOTE": "altered", "ZAUTHOR": "filled"])
        let copy = URL(fileURLWithPath: small.folder.file("Copy.sqlite"))
        #expect(
            try treatments(of: migrator.plan(.toSecond(copy, .set))) == [
                "ZBOOK": "filled", "ZNOTE": "filled", "ZAUTHOR": "filled",
            ])
        _ = try migrator.migrate(.toSecond(copy, .set))
        let report = try migrator.migrate(.toSecond(nil))
        #expect(report.verification.differences.isEmpty && report.mode == .copy)
        #expect(try StoreRows.text(atPath: small.store) == StoreRows.text(atPath: copy.path))
        #expect(try Connection(path: small.store, mode: .readOnly).value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("A store with damage that a copy heals fills all tables")
    func damaged() throws {
        let small = try SmallMigration(rows: 20, keepsWriter: true)
        let store = try Connection(path: small.store, mode: .readWrite)
        try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Book'")
        let plan = try small.migrator().plan(.toSecond(nil), checksRows: true)
        let tables = try #require(plan.steps.first?.tables)
        let book = try #require(tables.first { $0.name == "ZBOOK" })
        #expect(book.treatment == .filled && book.reason?.contains("damage") == true)
        let report = try small.migrator().migrate(.toSecond(nil))
        #expect(report.verification.differences.isEmpty)
    }

    @Test("History of kept, filled and dropped entities is that of a copy of all, and what is dropped is reported")
    func history() throws {
        let folder = try TemporaryFolder()
        let (store, migrator) = try historyStore(in: folder)
        #expect(
            try treatments(of: migrator.plan(.toSecond(nil))) == [
                "ZBOOK": "altered", "ZAUTHOR": "filled", "ZNOTE": "filled", "ZSHELF": "kept",
                "ZGONE": "dropped",
            ])
        let copy = URL(fileURLWithPath: folder.file("Copy.sqlite"))
        let whole = try migrator.migrate(.toSecond(copy, .set))
        let report = try migrator.migrate(.toSecond(nil))
        let changes = "SELECT Z_PK, ZENTITY, ZENTITYPK, ZCOLUMNS FROM ACHANGE ORDER BY Z_PK"
        let rows = try [store, copy.path].map { try Connection(path: $0, mode: .readOnly).rows(changes) }
        #expect(rows[0] == rows[1] && rows[0].count == 2)
        let dropped = [whole, report].map { $0.healed.filter { $0.kind == .droppedHistory } }
        #expect(dropped[0].map(\.entity) == ["Gone"] && dropped[0].map(\.rows) == [1])
        #expect(dropped[1].map(\.entity) == ["Gone"] && dropped[1].map(\.rows) == [1])
        let highest = "SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_NAME"
        let numbers = try [store, copy.path].map { try Connection(path: $0, mode: .readOnly).rows(highest) }
        #expect(numbers[0] == numbers[1])
    }

    @Test("The pages of dropped and rewritten tables do not stay in the new store")
    func freePages() throws {
        let folder = try TemporaryFolder()
        let (store, migrator) = try historyStore(in: folder)
        func pages(_ path: String) throws -> [Int64?] {
            let connection = try Connection(path: path, mode: .readOnly)
            return try ["page_count", "freelist_count"].map { try connection.integer("PRAGMA \($0)") }
        }
        let before = try #require(pages(store)[0])
        try Connection(path: store, mode: .readWrite).execute(
            """
            WITH RECURSIVE keys(key) AS (VALUES (1000) UNION ALL SELECT key + 1 FROM keys WHERE key < 5000)
            INSERT INTO ZGONE (Z_PK, Z_ENT, Z_OPT, ZNAME)
            SELECT key, (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Gone'), 1, 'A name as long as others ' || key
            FROM keys;
            UPDATE Z_PRIMARYKEY SET Z_MAX = 5000 WHERE Z_NAME = 'Gone'
            """)
        #expect(try pages(store)[0] ?? 0 > before + 30)
        for place in [URL(fileURLWithPath: folder.file("Copy.sqlite")), nil] {
            _ = try migrator.migrate(.toSecond(place))
            let after = try pages(place?.path ?? store)
            #expect(after[0] ?? .max <= before + 10 && after[1] ?? .max <= 2, "\(after), before \(before)")
        }
    }

    private func historyStore(
        in folder: TemporaryFolder, books: Int64 = 60, shelves: Int64 = 400
    ) throws -> (store: String, Migrator) {
        func text(_ names: String...) -> String {
            names.map { "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>" }.joined()
        }
        func link(_ name: String, to entity: String, inverse: String, isToMany: Bool) -> String {
            "<relationship name=\"\(name)\" optional=\"YES\" \(isToMany ? "toMany=\"YES\"" : "maxCount=\"1\"") "
                + "deletionRule=\"Nullify\" destinationEntity=\"\(entity)\" inverseName=\"\(inverse)\" "
                + "inverseEntity=\"\(entity)\"/>"
        }
        func entity(_ name: String, _ content: String) -> String { "<entity name=\"\(name)\">\(content)</entity>" }
        try folder.writeVersion(
            "App 1",
            entity("Book", text("title", "writer")) + entity("Gone", text("name"))
                + entity("Note", text("text", "place")) + entity("Shelf", text("name")))
        try folder.writeVersion(
            "App 2",
            entity("Author", text("name") + link("books", to: "Book", inverse: "author", isToMany: true))
                + entity(
                    "Book", text("title", "writer") + link("author", to: "Author", inverse: "books", isToMany: false))
                + entity("Note", text("text")) + entity("Shelf", text("name")))
        let mapping = """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "name": "Author", "source": "Book", "destination": "Author", "where": "writer != nil",
                "unique": ["name"], "attributes": { "name": "$source.writer" } },
              { "name": "Book", "source": "Book", "destination": "Book",
                "relationships": { "author": { "mapping": "Author", "from": "$source" } } },
              { "name": "Note", "source": "Note", "destination": "Note" },
              { "name": "Shelf", "source": "Shelf", "destination": "Shelf" } ] }
            """
        try FileLayer().replace(folder.file("map.json"), with: Array(mapping.utf8))
        let (bundle, store) = (folder.file("App.xcdatamodeld"), folder.file("App.sqlite"))
        try StoreGenerator(
            ModelCatalog(paths: [bundle]).version(named: "App 1"),
            options: .init(rows: 60, rowsOfEntity: ["Book": books, "Shelf": shelves], seed: 3)
        )
        .generate(at: store, files: FileLayer())
        try Connection(path: store, mode: .readWrite).execute(
            """
            CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
                ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB );
            CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT );
            INSERT INTO ATRANSACTION VALUES (1, 16002, NULL, 1.5);
            INSERT INTO ACHANGE VALUES (1, 16001, NULL, 0, 1, 1, 1, NULL), (2, 16001, NULL, 0, 2, 1, 1, NULL),
                (3, 16001, NULL, 0, 3, 2, 1, NULL);
            INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 3), (16002, 'TRANSACTION', 0, 1)
            """)
        return (
            store,
            try Migrator(
                store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: bundle))],
                mappings: [URL(fileURLWithPath: folder.file("map.json"))])
        )
    }
}
