import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import Testing

@Suite("The chain of steps")
struct ChainTests {
    @Test("passes every version that mapping models connect")
    func chain() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        let plan = try PlanFixture.plan(
            versions, [PlanFixture.mappingModel("V2", "V3"), PlanFixture.mappingModel("V1", "V2")], from: "V1", to: "V3"
        )
        #expect(plan.refusals.isEmpty)
        #expect(plan.chain == ["V1", "V2", "V3"])
        #expect(plan.steps.map(\.mode) == [.inPlace, .inPlace])
    }

    @Test("takes the shorter of two paths")
    func shortest() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        let models = [("V1", "V2"), ("V2", "V3"), ("V1", "V3")].map { PlanFixture.mappingModel($0.0, $0.1) }
        #expect(try PlanFixture.plan(versions, models, from: "V1", to: "V3").chain == ["V1", "V3"])
    }

    @Test("is empty when the store already has the target's hashes")
    func upToDate() throws {
        let versions = PlanFixture.versions(["V1"])
        let plan = try PlanFixture.plan(versions, [], from: "V1", to: "V1")
        #expect(plan.steps.isEmpty && plan.refusals.isEmpty)
    }

    @Test("names the missing step that cannot be inferred, and the reason")
    func missingEdge() throws {
        var versions = PlanFixture.versions(["V1", "V2", "V3", "V4"])
        for (index, type) in [AttributeType.string, .string, .date, .date].enumerated() {
            versions[index] = PlanFixture.version(
                versions[index].name,
                [
                    Entity(
                        name: "Book",
                        attributes: [Attribute(name: "in\(index)", type: .string), Attribute(name: "year", type: type)]
                    )
                ])
        }
        let models = [PlanFixture.mappingModel("V1", "V2"), PlanFixture.mappingModel("V3", "V4")]
        let plan = try PlanFixture.plan(versions, models, from: "V1", to: "V4")
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.code == .unreachable)
        #expect(refusal.message.contains("no mapping model leads from V2 to V3"))
        #expect(refusal.message.contains("Book.year: Source and destination attribute types are incompatible"))
        #expect(refusal.place.property == "year")
        #expect(!refusal.remedy.isEmpty)
    }

    @Test("has one inferred mapping where no mapping model applies")
    func inferred() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        let plan = try PlanFixture.plan(versions, [], from: "V1", to: "V3")
        #expect(plan.refusals.isEmpty)
        #expect(plan.chain == ["V1", "V3"])
        #expect(plan.steps.map(\.isInferred) == [true])
        #expect(plan.partitionNames == [["IEM_Transform_Book"]])
        #expect(plan.steps.map { $0.resolved.mappingModels.map(\.name) } == [["inferred"]])
    }

    @Test("prefers mapping models to inference, and mixes both")
    func explicitFirst() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3", "V4"])
        let models = [PlanFixture.mappingModel("V1", "V2"), PlanFixture.mappingModel("V2", "V4")]
        let plan = try PlanFixture.plan(versions, models, from: "V1", to: "V4")
        #expect(plan.chain == ["V1", "V2", "V4"])
        #expect(plan.steps.map(\.isInferred) == [false, false])
        let mixed = try PlanFixture.plan(versions, [models[1]], from: "V1", to: "V4")
        #expect(mixed.chain == ["V1", "V2", "V4"])
        #expect(mixed.steps.map(\.isInferred) == [true, false])
    }

    @Test("avoids a step that cannot be inferred where a mapping model leads past it")
    func around() throws {
        let types: [AttributeType] = [.string, .date, .string]
        let versions = types.enumerated().map { index, type in
            PlanFixture.version(
                "V\(index + 1)",
                [
                    Entity(
                        name: "Book",
                        attributes: [
                            Attribute(name: "year", type: type), Attribute(name: "in\(index)", type: .string),
                        ])
                ])
        }
        let plan = try PlanFixture.plan(versions, [PlanFixture.mappingModel("V1", "V3")], from: "V1", to: "V3")
        #expect(plan.refusals.isEmpty)
        #expect(plan.chain == ["V1", "V3"])
    }

    @Test("does not infer between versions without an entity in common")
    func nothingInCommon() throws {
        let versions = ["Book", "Car"].map { PlanFixture.version("V\($0)", [Entity(name: $0)]) }
        let refusal = try #require(try PlanFixture.plan(versions, [], from: "VBook", to: "VCar").refusals.first)
        #expect(refusal.code == .unreachable && refusal.message.contains("no entity in common"))
    }

    @Test("infers directly from a store's own model that no file has")
    func cachedModel() throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        let plan = Planner(catalog: ModelCatalog(versions: [versions[0], versions[2]]), mappingModels: []).plan(
            from: versions[1], to: versions[2], rows: [:], areRowsEstimated: false)
        #expect(plan.refusals.isEmpty && plan.steps.count == 1)
    }

    @Test("refuses a downgrade")
    func backward() throws {
        let versions = PlanFixture.versions(["V1", "V2"])
        let plan = try PlanFixture.plan(versions, [PlanFixture.mappingModel("V1", "V2")], from: "V2", to: "V1")
        #expect(plan.refusals.first?.code == .backward)
    }

    @Test("refuses a mapping model for an unknown version")
    func unknownVersion() throws {
        let versions = PlanFixture.versions(["V1", "V2"])
        let plan = try PlanFixture.plan(versions, [PlanFixture.mappingModel("V1", "V9")], from: "V1", to: "V2")
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.code == .noSuchVersion)
        #expect(refusal.message.contains("V1toV9"))
    }

    @Test("counts a mapping model only once if another one extends it")
    func extended() throws {
        let versions = PlanFixture.versions(["V1", "V2"])
        let base = PlanFixture.mappingModel("V1", "V2", name: "base")
        var extending = PlanFixture.mappingModel("V1", "V2", name: "extending")
        extending.extendedPaths = [base.path]
        let plan = try PlanFixture.plan(versions, [base, extending], from: "V1", to: "V2")
        #expect(plan.refusals.isEmpty)
        #expect(plan.steps.first?.resolved.mappingModels.map(\.name) == ["extending"])
    }

    @Test("knows the rows of later steps if every object gives exactly one", arguments: [false, true])
    func rows(filtered: Bool) throws {
        let versions = PlanFixture.versions(["V1", "V2", "V3"])
        let first = EntityMapping(
            name: "BookToBook", source: "Book", destination: "Book", filter: filtered ? .constant(true) : nil)
        let models = [PlanFixture.mappingModel("V1", "V2", [first]), PlanFixture.mappingModel("V2", "V3")]
        let plan = try PlanFixture.plan(versions, models, from: "V1", to: "V3")
        #expect(plan.steps.map { $0.rows?.count(of: "Book") } == [7, filtered ? nil : 7])
        #expect(plan.steps.map { $0.sourceRows == nil } == [false, filtered])
    }
}
