import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

struct StoreCreationTests {
    @Test("A new store has the header of Core Data's, and its layout is read unchanged")
    func roundTrip() throws {
        let store = try StoreBuilder(LayoutRulesTests.shelves, maximumKeys: ["Book": 7])
        #expect(try store.connection.integer("PRAGMA page_size") == 4096)
        #expect(try store.connection.integer("PRAGMA auto_vacuum") == 2)
        let actual = try StoreLayout.actual(for: LayoutRulesTests.shelves, on: store.connection)
        #expect(actual.entityNumbers == store.layout.entityNumbers)
        #expect(actual.tables == store.layout.tables)
        #expect(actual.joinTables == store.layout.joinTables)
        #expect(actual.relationshipStorage == store.layout.relationshipStorage)
        #expect(actual.attributeColumns == store.layout.attributeColumns)
        #expect(actual.indexes == store.layout.indexes)
        let rows = try store.connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY 1")
        #expect(
            rows == [
                [.integer(1), .text("Author"), .integer(0), .integer(0)],
                [.integer(2), .text("Book"), .integer(0), .integer(7)],
                [.integer(3), .text("Novel"), .integer(2), .integer(0)],
                [.integer(4), .text("Note"), .integer(0), .integer(0)],
                [.integer(5), .text("Portrait"), .integer(0), .integer(0)],
                [.integer(6), .text("Shelf"), .integer(0), .integer(0)],
            ])
    }

    @Test("A store that is made twice has the same SQL, and reads back under another schema name")
    func attached() throws {
        let plain = try StoreBuilder(LayoutRulesTests.shelves)
        let folder = try TemporaryFolder()
        let path = folder.file("it's.sqlite")
        let new = try Connection(path: path, mode: .create)
        try StoreCreation.prepare(new)
        try StoreCreation.createTables(of: plain.layout, on: new, hasModelCache: true)
        try StoreCreation.writeEntityNumbers(of: plain.layout, maximumKeys: [:], on: new)
        try StoreMetadata.read(from: plain.connection).write(to: new)
        for index in plain.layout.indexes { try new.execute(index.sql) }
        let connection = try Connection(path: folder.file("scratch.sqlite"), mode: .create)
        try connection.attach(path: path, as: "destination")
        #expect(try connection.integer("PRAGMA destination.page_size") == 4096)
        #expect(try connection.integer("PRAGMA destination.auto_vacuum") == 2)
        let actual = try StoreLayout.actual(for: LayoutRulesTests.shelves, on: connection, schema: "destination")
        #expect(actual.indexes == plain.layout.indexes)
        #expect(try DatabaseDump.text(path) == DatabaseDump.text(plain.path))
        #expect(try DatabaseDump.digest(path) == DatabaseDump.digest(plain.path))
    }

    @Test("The model cache's table is created only on request")
    func modelCache() throws {
        let with = try StoreBuilder(LayoutRulesTests.shelves)
        let without = try StoreBuilder(LayoutRulesTests.shelves, hasModelCache: false)
        #expect(try ModelCache.hasTable(with.connection))
        #expect(try ModelCache.model(in: with.connection) == nil)
        #expect(try !ModelCache.hasTable(without.connection))
        #expect(try ModelCache.version(in: without.connection) == nil)
    }
}
