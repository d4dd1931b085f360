import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

/// Real chains of mapping models with several chunk sizes: one destination.
@Suite("Chunk sizes on real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct ChunkSizeTests {
    struct Chain: Sendable, CustomTestStringConvertible {
        var family: String
        var store: String
        var models: [String]
        var mappings: [String]
        var target: String
        var chunkSizes: [ChunkSize] = [.rows(1), .rows(7), .rows(1000), .automatic]
        var testDescription: String { "\(family)/\(store)" }
    }

    static let chains = [
        Chain(
            family: "objcio-bookmigration", store: "Model1.sqlite", models: ["Model.xcdatamodeld"],
            mappings: ["Books1to2.json", "Books2to3.json"], target: "Model3"),
        Chain(
            family: "objcio-moody", store: "Moody 2.moody", models: ["Moody.xcdatamodeld"],
            mappings: RealChainTests.moodyMappings, target: "Moody 6"),
        Chain(
            family: "coredataplus-samplemodel", store: "SampleModel_V2.sqlite", models: ["SampleModel.xcdatamodeld"],
            mappings: ["Makers.json"], target: "SampleModel3"),
        Chain(
            family: "translationcatalog", store: "test_multi_language_core_data.sqlite",
            models: (1...3).map { "CatalogModel_\($0).xcdatamodeld" },
            mappings: ["Model_1_to_2.xcmappingmodel", "Model_2_to_3.xcmappingmodel"],
            target: "CatalogModel_3/CatalogModel"),
        // With 11,000 posts single-row chunks would take too long.
        Chain(
            family: "wibosco-posts", store: "CoreDataMigration_Example_1.sqlite",
            models: ["CoreDataMigration_Example.xcdatamodeld"],
            mappings: ["Migration1to2.xcmappingmodel", "Colors.json"], target: "CoreDataMigration_Example 3",
            chunkSizes: [.rows(1000), .automatic]),
    ]

    @Test("A real chain gives one store, with any chunk size", arguments: chains)
    func agree(_ chain: Chain) throws {
        var digests: Set<String> = []
        for chunkSize in chain.chunkSizes {
            let family = try Family(chain.family)
            let migrator = try family.migrator(chain.store, models: chain.models, mappings: chain.mappings)
            _ = try migrator.migrate(
                Configuration.allowingLosses {
                    $0.target = chain.target
                    $0.chunks.size = chunkSize
                    $0.executor = .set
                    $0.verification = .quick
                    $0.snapshots.form = .none
                    $0.now = { Date(timeIntervalSinceReferenceDate: 700_000_000) }
                })
            digests.insert(try DatabaseDump.digest(family.folder.file(chain.store)))
        }
        #expect(digests.count == 1)
    }
}
