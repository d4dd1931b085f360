import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import TestSupport
import Testing

/// Expressions that a mapping may have and that SQLite's parser cannot read: one function of Ferry's runs them.
@Suite("Deep expressions")
struct ExpressionDepthTests {
    private func plan(
        title: String? = nil, filter: String? = nil, _ executor: ExecutorChoice = .automatic
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

    @Test("Nested operations are statements of SQL at any depth", arguments: [1, 10, 32, 60])
    func executors(_ count: Int) throws {
        let plan = try plan(title: nested(count), filter: "\(nested(count)) == 'A'", .set)
        #expect(plan.refusals.isEmpty, "\(plan.refusals)")
        let mapping = try #require(plan.steps.first?.entityMappings.first)
        #expect(mapping.executor == .set)
    }

    @Test("A step is planned on a thread of 512 KiB, at any depth of its expressions")
    func smallThread() throws {
        let made = try SmallThread.run {
            let sum = Array(repeating: "$source.inV1.length", count: 150).joined(separator: " + ")
            return try self.plan(title: nested(60), filter: "\(sum) > 3 AND \(nested(60)) == 'A'")
        }
        #expect(made.refusals.isEmpty && made.steps.count == 1, "\(made.refusals)")
    }
}
