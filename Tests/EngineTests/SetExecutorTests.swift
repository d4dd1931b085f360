import FerryBase
import FerryMapping
import FerryModel
import FerryPlan
import TestSupport
import Testing

/// The set executor accepts every mapping without code.
@Suite("The set executor", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct SetExecutorTests {
    @Test("accepts the inferred mapping of every two neighbouring versions of the real models")
    func inferred() throws {
        var mappings = 0
        for family in InPlaceModelsTests.families {
            let versions = try FixtureModels.sources(below: family)
            for (old, new) in zip(versions, versions.dropFirst()) where old.hashes != new.hashes {
                let catalog = ModelCatalog(versions: [named(old, "Model"), named(new, "Model 2")])
                let plan = Planner(catalog: catalog, mappingModels: [], executor: .set).plan(
                    from: catalog.versions[0], to: catalog.versions[1], rows: [:], areRowsEstimated: true)
                #expect(!plan.refusals.contains { $0.message.contains("which SQL cannot run") }, "\(family)")
                let planned = plan.steps.flatMap(\.entityMappings)
                #expect(
                    planned.allSatisfy { $0.executor == .set && !$0.executorReason.isEmpty }, "\(family): \(old.name)")
                mappings += planned.count
            }
        }
        #expect(mappings > 1_000)
    }

    private func named(_ version: ModelVersion, _ name: String) -> ModelVersion {
        var version = version
        (version.name, version.bundle) = (name, nil)
        return version
    }
}
