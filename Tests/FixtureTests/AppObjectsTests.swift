import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Objects that were added to a real store beside its entities, over two steps with the whole of Ferry.
@Suite("A store with objects of its app", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct AppObjectsTests {
    private let mappings = ["Books1to2.json", "Books2to3.json"]

    private func family(_ statements: String...) throws -> Family {
        let family = try Family("objcio-bookmigration")
        let store = try Connection(path: family.url("Model1.sqlite").path, mode: .readWrite)
        for sql in statements { try store.execute(sql) }
        return family
    }

    @Test("keeps independent objects, and leaves behind the remains of an earlier version")
    func carried() throws {
        let family = try family(
            "CREATE TABLE settings (name TEXT PRIMARY KEY, value)", "INSERT INTO settings VALUES ('a', x'00ff')",
            "CREATE TABLE ZOLD ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER )",
            "INSERT INTO ZOLD VALUES (1, 9, 1)", "ALTER TABLE ZBOOK ADD COLUMN ZGONE VARCHAR",
            "UPDATE ZBOOK SET ZGONE = 'x'")
        let migrator = try family.migrator("Model1.sqlite", models: ["Model.xcdatamodeld"], mappings: mappings)
        let plan = try migrator.plan(.allowingLosses { $0.target = "Model3" }, checksRows: true)
        #expect(plan.refusals.isEmpty)
        #expect(plan.warnings.contains { $0.message.hasPrefix("ZOLD ") })
        #expect(plan.warnings.contains { $0.message.hasPrefix("ZBOOK.ZGONE ") })
        try family.migrate(
            "Model1.sqlite", models: ["Model.xcdatamodeld"], mappings: mappings, to: "Model3")
        let store = try family.open("Model1.sqlite")
        #expect(try store.rows("SELECT * FROM settings") == [[.text("a"), .blob([0, 255])]])
        #expect(try store.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ZOLD'") == 0)
    }

    @Test("is refused by name, in the plan too, if one of them needs a changed table")
    func refused() throws {
        let family = try family("CREATE VIEW titles AS SELECT ZTITLE FROM ZBOOK WHERE Z_ENT = 1")
        let original = try family.bytes("Model1.sqlite")
        let migrator = try family.migrator("Model1.sqlite", models: ["Model.xcdatamodeld"], mappings: mappings)
        let plan = try migrator.plan(.allowingLosses { $0.target = "Model3" })
        #expect(plan.refusals.map(\.code) == [.unknownObject])
        let error = #expect(throws: FerryError.self) { try migrator.migrate(.allowingLosses { $0.target = "Model3" }) }
        #expect(error?.code == .unknownObject)
        #expect(error?.message.contains("titles") == true)
        #expect(try family.bytes("Model1.sqlite") == original)
    }
}
