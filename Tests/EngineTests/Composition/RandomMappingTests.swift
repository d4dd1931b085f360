import FerryBase
import FerryMapping
import FerryModel
import FerryPlan
import FerryStore
import Foundation
import RandomModels
import TestSupport
import Testing

@Suite("Random mappings")
struct RandomMappingTests {
    /// A few seeds in every run; many with `FERRY_SWEEP=1`.
    static let seeds: Range<UInt64> = Sweep.isFull ? 0..<400 : 0..<16

    private static func models(_ seed: UInt64) -> [ManagedObjectModel]? {
        var versions = RandomVersions(seed: seed)
        let models = versions.inferableModels(2)
        return models.allSatisfy { StoreLayout.refusals(for: $0).isEmpty } ? models : nil
    }

    private static func mapping(_ seed: UInt64, _ models: [ManagedObjectModel]) throws -> String? {
        let folder = try TemporaryFolder()
        let path = folder.file("mapping.json")
        let versions = zip(["V1", "V2"], models).map { ModelVersion(of: $1, name: $0) }
        return try RandomMapping(seed: seed, from: versions[0], to: versions[1]).write(to: path) {
            let planner = Planner(
                catalog: ModelCatalog(versions: versions), mappingModels: [try MappingFile.load(path: path)])
            return planner.plan(from: versions[0], to: versions[1], rows: [:], areRowsEstimated: true).refusals.isEmpty
        }
    }

    @Test("give the same by SQL and by Swift, and pass verification", arguments: seeds)
    func equal(seed: UInt64) throws {
        guard let models = Self.models(seed), let text = try Self.mapping(seed, models) else { return }
        let folder = try TemporaryFolder()
        let path = folder.file("mapping.json")
        try FileLayer().replace(path, with: Array(text.utf8))
        let chain = try ComposedChain(models, rows: 12, seed: seed, mappingModels: [try MappingFile.load(path: path)])
        try chain.compare(passes: nil, ways: [.copy])
    }

    @Test("have conditions, computed values, found objects and elements, and depend on the seed alone")
    func variety() throws {
        let texts = try (0..<160 as Range<UInt64>).compactMap { seed in
            try Self.models(seed).flatMap { try Self.mapping(seed, $0) }
        }
        #expect(texts.count > 80)
        for key in ["\"where\"", "\"unique\"", "\"forEach\"", "\"relationships\"", "TERNARY", "uppercase:"] {
            #expect(texts.contains { $0.contains(key) }, "\(key)")
        }
        let again = try (0..<20 as Range<UInt64>).compactMap { seed in
            try Self.models(seed).flatMap { try Self.mapping(seed, $0) }
        }
        #expect(!again.isEmpty && again == Array(texts.prefix(again.count)))
    }
}
