import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Every unbroken chain of real mapping models, from each store of its first version.
@Suite("Chains of real mapping models", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct RealChainTests {
    static let moodyMappings = [
        "Moody 2-Moody 3.xcmappingmodel", "Moody 3-Moody 4.xcmappingmodel", "Moody 4-Moody 5.xcmappingmodel",
        "Continents.json",
    ]

    @Test("Moody migrates from each of its versions to the last one", arguments: 1...5)
    func moody(from version: Int) throws {
        let family = try Family("objcio-moody")
        // The first two versions have no mapping model: that step is inferred.
        let store = version == 1 ? "Moody.moody" : "Moody \(version).moody"
        let moods = try family.open(store).integer("SELECT count(*) FROM ZMOOD")
        let report = try family.migrate(
            store, models: ["Moody.xcdatamodeld"], mappings: Self.moodyMappings, to: "Moody 6")
        #expect(report.chain.count == 7 - version)
        let after = try family.open(store)
        #expect(try after.integer("SELECT count(*) FROM ZMOOD") == moods)
        let orphans = try after.integer(
            "SELECT count(*) FROM ZMOOD WHERE ZCOUNTRY IS NOT NULL AND ZCOUNTRY NOT IN (SELECT Z_PK FROM ZCOUNTRY)")
        #expect(orphans == 0)
        #expect(try after.integer("SELECT count(*) = count(DISTINCT ZNUMERICISO3166CODE) FROM ZCONTINENT") == 1)
    }

    @Test("Moody's policy is refused by name without a stand-in")
    func moodyPolicy() throws {
        let family = try Family("objcio-moody")
        let migrator = try family.migrator(
            "Moody 5.moody", models: ["Moody.xcdatamodeld"], mappings: ["Moody 5-Moody 6.xcmappingmodel"])
        let error = #expect(throws: FerryError.self) { try migrator.migrate(.allowingLosses { $0.target = "Moody 6" }) }
        #expect(error?.code == .missingPolicy)
        #expect(error?.message.contains("Country5ToCountry6Policy") == true)
    }

    @Test("Posts get colours, each with its post", arguments: ["", " 2"])
    func posts(version: String) throws {
        let family = try Family("wibosco-posts")
        let store = version.isEmpty ? "CoreDataMigration_Example_1.sqlite" : "CoreDataMigration_Example_2.sqlite"
        let posts = try family.open(store).integer("SELECT count(*) FROM ZPOST") ?? 0
        try family.migrate(
            store, models: ["CoreDataMigration_Example.xcdatamodeld"],
            mappings: ["Migration1to2.xcmappingmodel", "Colors.json"], to: "CoreDataMigration_Example 3")
        let after = try family.open(store)
        #expect(posts > 1000)
        #expect(try after.integer("SELECT count(*) FROM ZPOST") == posts)
        let pairs = try after.integer(
            "SELECT count(*) FROM ZPOST p JOIN ZCOLOR c ON c.Z_PK = p.ZCOLOR AND c.ZPOST = p.Z_PK WHERE c.ZHEX IS NOT NULL"
        )
        #expect(pairs == posts)
    }

    @Test("A catalogue of translations migrates through bundles of one model each", arguments: ["", "_v2"])
    func translations(suffix: String) throws {
        let family = try Family("translationcatalog")
        let store = "test_multi_language_core_data\(suffix).sqlite"
        let before = try family.open(store).rows("SELECT Z_PK, ZNAME FROM ZEXPRESSIONENTITY ORDER BY Z_PK")
        let bundles = (1...3).map { "CatalogModel_\($0).xcdatamodeld" }
        try family.migrate(
            store, models: bundles, mappings: ["Model_1_to_2.xcmappingmodel", "Model_2_to_3.xcmappingmodel"],
            to: "CatalogModel_3/CatalogModel")
        let after = try family.open(store).rows("SELECT Z_PK, ZNAME FROM ZEXPRESSIONENTITY ORDER BY Z_PK")
        #expect(!before.isEmpty && before == after)
    }

    @Test("Cars get makers and previous owners")
    func cars() throws {
        let family = try Family("coredataplus-samplemodel")
        try family.migrate(
            "SampleModel_V2.sqlite", models: ["SampleModel.xcdatamodeld"], mappings: ["Makers.json"],
            to: "SampleModel3")
        let store = try family.open("SampleModel_V2.sqlite")
        #expect(try store.integer("SELECT count(*) FROM ZCAR") == 125)
        #expect(try store.integer("SELECT count(*) FROM ZMAKER") == 10)
        #expect(try store.integer("SELECT count(*) FROM ZCAR WHERE ZCREATEDBY IN (SELECT Z_PK FROM ZMAKER)") == 125)
        let join = try #require(
            try store.value("SELECT name FROM sqlite_master WHERE name IN ('Z_1PREVIOUSOWNERS', 'Z_5PREVIOUSCARS')")?
                .text)
        let owners = "SELECT Z_PK, ZOWNER FROM ZCAR WHERE ZOWNER IS NOT NULL"
        let pairs = "SELECT Z_1PREVIOUSCARS, Z_5PREVIOUSOWNERS FROM \(join)"
        #expect(try store.integer("SELECT count(*) FROM (\(owners))") == 118)
        #expect(try store.integer("SELECT count(*) FROM (\(owners) EXCEPT \(pairs))") == 0)
        #expect(try store.integer("SELECT count(*) FROM (\(pairs) EXCEPT \(owners))") == 0)
    }
}
