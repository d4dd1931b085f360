import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import Testing

/// Expressions that a mapping may have and SQLite's parser cannot read.
@Suite("Deep expressions")
struct ExpressionDepthTests {
    private func plan(
        title: String? = nil, filter: String? = nil, _ executor: ExecutorChoice = .auto
    ) throws -> MigrationPlan {
        let versions = PlanFixture.versions(["V1", "V2"])
        var mapping = EntityMapping(name: "BookToBook", source: "Book", destination: "Book")
        if let title { mapping.attributes["inV2"] = .value(try Expression.parse(title)) }
        if let filter { mapping.filter = try Predicate.parse(filter) }
        let planner = Planner(
            catalog: ModelCatalog(versions: versions),
            mappingModels: [PlanFixture.mappingModel("V1", "V2", [mapping])], executor: executor)
        return planner.plan(from: versions[0], to: versions[1], rows: ["Book": 7], areRowsEstimated: false)
    }

    private func nested(_ count: Int) -> String {
        String(repeating: "uppercase:(", count: count) + "$source.inV1" + String(repeating: ")", count: count)
    }

    @Test("A few operations within each other are SQLite's, many go through Swift, and the plan says why")
    func executors() throws {
        for (count, executor) in [(1, EntityMappingPlan.Executor.set), (10, .set), (32, .row), (60, .row)] {
            let plan = try plan(title: nested(count))
            #expect(plan.refusals.isEmpty, "\(plan.refusals)")
            let mapping = try #require(plan.steps.first?.partitions.first?.entityMappings.first)
            #expect(mapping.executor == executor, "\(count)")
            if executor == .row { #expect(mapping.reason.contains("inV2")) }
        }
        let refusal = try #require(try plan(title: nested(32), .set).refusals.first)
        #expect(refusal.code == .unsupported && refusal.place.entityMapping == "BookToBook")
    }

    @Test("A predicate that deep is refused, whoever would carry the rows", arguments: [ExecutorChoice.auto, .row])
    func predicates(_ executor: ExecutorChoice) throws {
        #expect(try plan(filter: "\(nested(10)) == 'A'", executor).refusals.isEmpty)
        let refusal = try #require(try plan(filter: "\(nested(32)) == 'A'", executor).refusals.first)
        #expect(refusal.code == .unsupported && refusal.message.contains("where"))
    }
}
