import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Real stores over chains of real versions, in one pass and step by step.
@Suite("Composed chains of real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct ComposedFixtureTests {
    struct Chain: Sendable, CustomTestStringConvertible {
        var family: String
        var store: String
        var models: [String]
        var mappings: [String] = []
        var target: String?
        var testDescription: String { "\(family): \(store)" }
    }

    private static let everyday: [Chain] = [
        Chain(
            family: "wire-zmessaging", store: "store2-80-0.wiredatabase", models: ["zmessaging.xcdatamodeld"]),
        Chain(
            family: "duckduckgo-bookmarks", store: "Bookmarks_V1.sqlite", models: ["BookmarksModel.xcdatamodeld"]),
        Chain(
            family: "jeffreybergier-migrationtests", store: "Example_v1.0.0.sqlite", models: ["Model.xcdatamodeld"]),
        Chain(family: "easylife", store: "EasyLife.sqlite", models: ["EasyLife.xcdatamodeld"]),
        Chain(family: "scout", store: "Scout-v1.sqlite", models: ["Scout.xcdatamodeld"]),
        Chain(
            family: "coredataplus-samplemodel", store: "SampleModel_V1.sqlite", models: ["SampleModel.xcdatamodeld"],
            target: "SampleModel2"),
        Chain(
            family: "objcio-moody", store: "Moody.moody", models: ["Moody.xcdatamodeld"],
            mappings: RealChainTests.moodyMappings, target: "Moody 6"),
        Chain(
            family: "wibosco-posts", store: "CoreDataMigration_Example_1.sqlite",
            models: ["CoreDataMigration_Example.xcdatamodeld"],
            mappings: ["Migration1to2.xcmappingmodel", "Colors.json"], target: "CoreDataMigration_Example 3"),
        Chain(
            family: "translationcatalog", store: "test_multi_language_core_data.sqlite",
            models: (1...3).map { "CatalogModel_\($0).xcdatamodeld" },
            mappings: ["Model_1_to_2.xcmappingmodel", "Model_2_to_3.xcmappingmodel"],
            target: "CatalogModel_3/CatalogModel"),
    ]

    /// With `FERRY_SWEEP=1` also the whole chain of wire, step by step.
    static let chains: [Chain] =
        everyday
        + (Sweep.isFull
            ? [
                Chain(
                    family: "wire-zmessaging", store: "store1-25.wiredatabase", models: ["zmessaging.xcdatamodeld"])
            ] : [])

    @Test("have the results of their separate steps", arguments: chains)
    func equal(chain: Chain) throws {
        let family = try Family(chain.family)
        if chain.family == "easylife" {
            // One version is stored beside its bundle and is moved back into it.
            let older = "EasyLife 1.3.0 (older).xcdatamodel"
            try FileManager.default.copyItem(
                at: family.url("from-history/\(older)"), to: family.url("EasyLife.xcdatamodeld/\(older)"))
        }
        let migrator = try family.migrator(chain.store, models: chain.models, mappings: chain.mappings)
        let catalog = try ModelCatalog(paths: chain.models.map { family.folder.file($0) })
        let target = try chain.target.map { try catalog.version(named: $0) } ?? #require(catalog.currentVersion())
        var dumps: [String] = []
        for composes in [true, false] {
            let output = family.folder.file("composes-\(composes).sqlite")
            var configuration = Configuration.allowingLosses {
                $0.target = chain.target
                $0.output = URL(fileURLWithPath: output)
                $0.composition = composes
                $0.now = { Date(timeIntervalSinceReferenceDate: 700_000_000) }
            }
            // Passes every version in turn, unless mapping models determine the chain.
            if chain.mappings.isEmpty { configuration.chain = .versions(catalog.names(to: target)) }
            configuration.joinTables = StoreLayout.saidJoins(of: target.model)
            let report = try migrator.migrate(configuration)
            #expect(report.verification.differences.isEmpty)
            dumps.append(try DatabaseDump.digest(output, sortsColumns: true))
        }
        #expect(dumps[0] == dumps[1])
    }

    @Test("The whole chain of wire is one pass")
    func wire() throws {
        let family = try Family("wire-zmessaging")
        let migrator = try family.migrator("store1-25.wiredatabase", models: ["zmessaging.xcdatamodeld"], mappings: [])
        let output = family.folder.file("New.sqlite")
        let catalog = try ModelCatalog(paths: [family.folder.file("zmessaging.xcdatamodeld")])
        let target = try #require(catalog.currentVersion())
        var configuration = Configuration.allowingLosses { $0.output = URL(fileURLWithPath: output) }
        configuration.chain = .versions(catalog.names(to: target))
        configuration.joinTables = StoreLayout.saidJoins(of: target.model)
        let report = try migrator.migrate(configuration)
        #expect(report.chain.count > 80 && Set(report.entityMappings.map(\.step)) == [1])
        let store = try Connection(path: output, mode: .readOnly)
        #expect(try store.value("PRAGMA integrity_check") == .text("ok"))
        #expect(try store.integer("SELECT count(*) FROM ZMESSAGE") == 1746)
    }
}

extension ModelCatalog {
    /// Returns the names of all versions up to a target.
    fileprivate func names(to target: ModelVersion) -> [String] {
        let place = versions.lastIndex { $0.hashes == target.hashes } ?? versions.endIndex - 1
        var seen: Set<[String: [UInt8]]> = []
        return versions[...place].filter { seen.insert($0.hashes).inserted }.map { displayName(of: $0) }
    }
}
