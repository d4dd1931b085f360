import FerryBase
import FerryMapping
import FerryModel
import FerryPlan
import Testing

@Suite("The chain of steps")
struct ChainTests {
    @Test("goes over every version that mapping models lead through")
    func chain() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        let plan = try PlanFixture.plan(
            versions, [PlanFixture.mappingModel("V2", "V3"), PlanFixture.mappingModel("V1", "V2")], from: "V1", to: "V3"
        )
        #expect(plan.refusals.isEmpty)
        #expect(plan.chain == ["V1", "V2", "V3"])
        #expect(plan.steps.map(\.mode) == [.copy, .copy])
    }

    @Test("takes the shorter of two ways")
    func shortest() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        let models = [("V1", "V2"), ("V2", "V3"), ("V1", "V3")].map { PlanFixture.mappingModel($0.0, $0.1) }
        #expect(try PlanFixture.plan(versions, models, from: "V1", to: "V3").chain == ["V1", "V3"])
    }

    @Test("is empty when the store has the target's hashes already")
    func upToDate() throws {
        let versions = PlanFixture.versions(["V1"])
        let plan = try PlanFixture.plan(versions, [], from: "V1", to: "V1")
        #expect(plan.steps.isEmpty && plan.refusals.isEmpty)
    }

    @Test("names the edge that is missing")
    func missingEdge() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3", "V4"])
        let models = [PlanFixture.mappingModel("V1", "V2"), PlanFixture.mappingModel("V3", "V4")]
        let plan = try PlanFixture.plan(versions, models, from: "V1", to: "V4")
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.code == .unreachable)
        #expect(refusal.message.contains("no mapping model leads from V2 to V3"))
        #expect(!refusal.remedy.isEmpty)
    }

    @Test("refuses to go back")
    func backward() throws {
        let versions = PlanFixture.versions(["V1", "V2"])
        let plan = try PlanFixture.plan(versions, [PlanFixture.mappingModel("V1", "V2")], from: "V2", to: "V1")
        #expect(plan.refusals.first?.code == .backward)
    }

    @Test("refuses a mapping model for a version that nobody gave")
    func unknownVersion() throws {
        let versions = PlanFixture.versions(["V1", "V2"])
        let plan = try PlanFixture.plan(versions, [PlanFixture.mappingModel("V1", "V9")], from: "V1", to: "V2")
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.code == .noSuchVersion)
        #expect(refusal.message.contains("V1toV9"))
    }

    @Test("counts a mapping model that another one extends only once")
    func extended() throws {
        let versions = PlanFixture.versions(["V1", "V2"])
        let base = PlanFixture.mappingModel("V1", "V2", name: "base")
        var extending = PlanFixture.mappingModel("V1", "V2", name: "extending")
        extending.extendedPaths = [base.path]
        let plan = try PlanFixture.plan(versions, [base, extending], from: "V1", to: "V2")
        #expect(plan.refusals.isEmpty)
        #expect(plan.steps.first?.resolved.mappingModels.map(\.name) == ["extending"])
    }

    @Test("knows the rows of the first step only")
    func rows() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        let models = [PlanFixture.mappingModel("V1", "V2"), PlanFixture.mappingModel("V2", "V3")]
        let plan = try PlanFixture.plan(versions, models, from: "V1", to: "V3")
        let mappings = plan.steps.map { $0.partitions[0].entityMappings[0] }
        #expect(mappings.map(\.rows) == [7, 0])
        #expect(mappings.map(\.isEstimated) == [false, true])
    }
}
