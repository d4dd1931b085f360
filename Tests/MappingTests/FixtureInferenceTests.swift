import FerryBase
import FerryMapping
import FerryModel
import Foundation
import TestSupport
import Testing

/// Neighbouring versions of the real models.
@Suite("Inference over real models", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct FixtureInferenceTests {
    /// The folders with several versions, relative to the fixtures.
    static let bundles = Fixtures.items.filter { $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".momd") }

    /// Pairs that need a mapping model, and the properties that prevent an inferred one.
    static let impossible: [String: [String]] = [
        "models-only/nova-wallet/SubstrateDataModel.xcdatamodeld: SubstrateDataModel33": ["CDAsset.icon"],
        // These have no entity in common with the version before.
        "models-only/nova-wallet/UserDataModel.xcdatamodeld: MultiassetUserDataModel": [],
        "models-only/sworm/MigratableDataModel.xcdatamodeld: V1": [],
        "models-only/tpmigrationmanager/NoMap.xcdatamodeld: NoMap2": ["NoMap.title"],
        "models-only/tpmigrationmanager/SpecificOnly.xcdatamodeld: SpecificOnly2": ["SpecificOnly.title"],
        "xcservercoredata/XCServerCoreData.momd: XCServerCoreData2.0.0": [
            "Integration.endedTime", "Integration.queuedDate", "Integration.startedTime",
        ],
        "xcservercoredata/XCServerCoreData.xcdatamodeld: XCServerCoreData2.0.0": [
            "Integration.endedTime", "Integration.queuedDate", "Integration.startedTime",
        ],
    ]

    @Test("Every pair of neighbours is inferable, or has a reason")
    func neighbours() throws {
        var pairs = 0
        var obstacles: [String: [String]] = [:]
        for bundle in Self.bundles {
            guard let catalog = try Self.catalog(of: bundle) else { continue }
            for (source, destination) in zip(catalog.versions, catalog.versions.dropFirst()) {
                let name = "\(bundle): \(destination.name)"
                pairs += 1
                let inferred = InferredMapping.infer(source: source, destination: destination)
                // A difference in hashes must also be a listed change.
                #expect(source.hashes == destination.hashes || !inferred.changes.isEmpty, "\(name)")
                guard let mappingModel = inferred.mappingModel else {
                    #expect(inferred.obstacles.allSatisfy { $0.reason?.isEmpty == false }, "\(name)")
                    obstacles[name] = inferred.obstacles.map { "\($0.entity).\($0.property ?? "")" }
                    continue
                }
                let resolution = MappingResolution.resolve(
                    source: source, destination: destination, mappingModels: [mappingModel])
                #expect(resolution.problems.isEmpty, "\(name): \(resolution.problems.map(\.message))")
                let areKept = resolution.step.entityMappings.map(\.keepsPrimaryKey)
                #expect(!areKept.contains(false), "\(name)")
            }
        }
        #expect(pairs == 295)
        #expect(obstacles == Self.impossible)
    }

    @Test("A version is equal in its source and in its compiled form")
    func compiled() throws {
        var compared = 0
        for bundle in Self.bundles where bundle.hasSuffix(".momd") {
            let source = bundle.dropLast(".momd".count) + ".xcdatamodeld"
            guard Self.bundles.contains(String(source)), let compiled = try Self.catalog(of: bundle),
                let sources = try Self.catalog(of: String(source))
            else { continue }
            for version in compiled.versions {
                guard let other = sources.versions.first(where: { $0.hashes == version.hashes }) else { continue }
                compared += 1
                let changes = ModelDifference(from: other.model, to: version.model).changes
                #expect(changes.isEmpty, "\(bundle): \(version.name): \(changes)")
            }
        }
        #expect(compared == 16)
    }

    /// Nil for the bundle whose versions are in a form that Ferry cannot read.
    private static func catalog(of bundle: String) throws -> ModelCatalog? {
        do {
            return try ModelCatalog(paths: [Fixtures.path(bundle)])
        } catch  where error.code == .badModel {
            #expect(bundle == "magicalrecord-recipes/Recipes.xcdatamodeld")
            return nil
        }
    }
}
