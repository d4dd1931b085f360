import FerryBase
import FerryMapping
import FerryModel
import FerryPlan
import Testing

@Suite("The choice of executors")
struct ExecutorChoiceTests {
    /// Returns the plan from V1 to V3: the first step by a mapping model with a policy, the second inferred.
    private func plan(policy: String? = nil, _ executor: ExecutorChoice) throws -> MigrationPlan {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        var mapping = EntityMapping(name: "BookToBook", source: "Book", destination: "Book")
        mapping.policyClassName = policy
        let models = policy == nil ? [] : [PlanFixture.mappingModel("V1", "V2", [mapping])]
        let planner = Planner(
            catalog: ModelCatalog(versions: versions), mappingModels: models,
            policies: KnownPolicies(["BookPolicy": []]), executor: executor)
        return planner.plan(from: versions[0], to: versions[2], rows: ["Book": 7], areRowsEstimated: false)
    }

    @Test("A step with a policy is not composed with its neighbour, and gives the reason; later row counts are unknown")
    func apart() throws {
        let plan = try plan(policy: "App.BookPolicy", .automatic)
        #expect(plan.refusals.isEmpty && plan.steps.count == 2)
        #expect(plan.steps[1].isApartBecause?.contains("migration policy BookPolicy") == true)
        let mapping = try #require(plan.steps[0].entityMappings.first)
        #expect(mapping.executor == .row && mapping.executorReason.contains("BookPolicy"))
        #expect(plan.steps[1].sourceRows == nil && plan.steps[1].mode == .inPlace)
    }

    @Test("With copies requested, a step that could run in place is a copy by statements, in as few steps")
    func copied() throws {
        let plan = try plan(.row)
        #expect(plan.refusals.isEmpty && plan.steps.count == 1)
        let step = try #require(plan.steps.first)
        #expect(step.mode == .copy && step.needsCopyBecause == "the row executor was requested")
        #expect(step.entityMappings.map(\.executor) == [.set])
        #expect(try self.plan(.automatic).isInPlace)
    }

    @Test("Copies by statements alone are refused for a policy")
    func refused() throws {
        let refusal = try #require(try plan(policy: "BookPolicy", .set).refusals.first)
        #expect(refusal.code == .unsupported && refusal.place.entityMapping == "BookToBook")
    }
}
