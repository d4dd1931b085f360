import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("objcio's books", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct BookMigrationTests {
    static let models = ["Model.xcdatamodeld"]
    /// The two forms of the last step: one mapping file, or Core Data's own mapping model split into two.
    static let lastSteps = [
        ["Books2to3.json"], ["Books2to3WithoutUsers.json", "Model2_to_Model3_User.xcmappingmodel"],
    ]

    @Test("migrate over two steps, with authors found or created and a file per book and user", arguments: lastSteps)
    func migrates(lastStep: [String]) throws {
        let family = try Family("objcio-bookmigration")
        let before = try family.open("Model1.sqlite").rows("SELECT ZTITLE, ZFILEURL FROM ZBOOK ORDER BY ZTITLE")
        let report = try family.migrate(
            "Model1.sqlite", models: Self.models, mappings: ["Books1to2.json"] + lastStep, to: "Model3")
        #expect(report.chain == ["Model1", "Model2", "Model3"])
        let store = try family.open("Model1.sqlite")
        #expect(try store.integer("SELECT count(*) FROM ZBOOK") == 4)
        #expect(try store.integer("SELECT count(*) FROM ZUSER") == 3)
        let books = try store.rows(
            """
            SELECT a.ZNAME, count(*) FROM ZAUTHOR a JOIN Z_1BOOKS j ON j.Z_1AUTHORS = a.Z_PK
            GROUP BY a.Z_PK ORDER BY a.ZNAME
            """)
        #expect(
            books == [
                [.text("Franz Kafka"), .integer(2)], [.text("Thomas Bernhard"), .integer(1)],
                [.text("Witold Gombrowicz"), .integer(1)],
            ])
        let files = try store.rows("SELECT ZUSER, count(*), count(DISTINCT ZBOOK) FROM ZFILE GROUP BY ZUSER")
        #expect(files == [[.integer(3), .integer(4), .integer(4)]])
        let after = try store.rows(
            "SELECT b.ZTITLE, f.ZFILEURL FROM ZFILE f JOIN ZBOOK b ON b.Z_PK = f.ZBOOK ORDER BY b.ZTITLE")
        #expect(after == before)
    }

    @Test("are restored by a rollback byte for byte, except the counters in the header")
    func rollsBack() throws {
        let family = try Family("objcio-bookmigration")
        let original = try family.bytes("Model1.sqlite")
        try family.migrate(
            "Model1.sqlite", models: Self.models, mappings: ["Books1to2.json", "Books2to3.json"], to: "Model3")
        #expect(try family.bytes("Model1.sqlite") != original)
        _ = try StoreFiles(family.url("Model1.sqlite")).rollback()
        func content(_ file: Data) -> [UInt8] {
            var bytes = Array(file)
            DatabaseHeader.blankCounters(&bytes)
            return bytes
        }
        #expect(try content(family.bytes("Model1.sqlite")) == content(original))
    }

    @Test("are refused without a stand-in for the policy, and stay unchanged")
    func refusesPolicy() throws {
        let family = try Family("objcio-bookmigration")
        let original = try family.bytes("Model1.sqlite")
        let migrator = try family.migrator(
            "Model1.sqlite", models: Self.models, mappings: ["Model1_to_Model2.xcmappingmodel"])
        let error = #expect(throws: FerryError.self) { try migrator.migrate(.allowingLosses { $0.target = "Model2" }) }
        #expect(error?.code == .missingPolicy)
        #expect(error?.message.contains("MHWBookToBookPolicy") == true)
        #expect(error?.message.contains("BookToBook") == true)
        #expect(
            error?.remedy.description.contains("extends") == true && error?.remedy.description.contains("Swift") == true
        )
        #expect(try family.bytes("Model1.sqlite") == original)
    }

    @Test("are reported as up to date by a second migration")
    func upToDate() throws {
        let family = try Family("objcio-bookmigration")
        let mappings = ["Books1to2.json", "Books2to3.json"]
        try family.migrate("Model1.sqlite", models: Self.models, mappings: mappings, to: "Model3")
        let once = try family.bytes("Model1.sqlite")
        let report = try family.migrate("Model1.sqlite", models: Self.models, mappings: mappings, to: "Model3")
        #expect(report.outcome == .upToDate)
        #expect(try family.bytes("Model1.sqlite") == once)
    }
}
