import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import Testing

/// Mapping models that were given are used, whatever the names of versions say.
@Suite("Given mapping models")
struct GivenMappingTests {
    private func version(_ name: String, _ attributes: String...) -> ModelVersion {
        PlanFixture.version(
            name,
            [
                Entity(
                    name: "Device",
                    attributes: attributes.map { Attribute(name: $0, type: .string, isOptional: true) })
            ])
    }

    private func mapping(_ source: String, _ destination: String, _ values: [String: String] = [:]) throws
        -> MappingModel
    {
        var mapping = EntityMapping(name: "Devices", source: "Device", destination: "Device")
        for (name, value) in values { mapping.attributes[name] = .value(try Expression.parse(value)) }
        return PlanFixture.mappingModel(source, destination, [mapping])
    }

    @Test("A version whose name sorts last, with a mapping model to an earlier name, is not passed over")
    func misleadingName() throws {
        let versions = [version("v2", "label"), version("v3", "label", "repo"), version("zero", "name")]
        let models = [try mapping("zero", "v2", ["label": "$source.name"])]
        var target = versions
        target[1].isCurrent = true
        let plan = try PlanFixture.plan(target, models, from: "zero", to: "v3")
        #expect(plan.refusals.isEmpty && plan.chain == ["zero", "v2", "v3"], "\(plan.chain) \(plan.refusals)")
        #expect(plan.losses.isEmpty)
    }

    @Test("A mapping model that cannot run yet is part of the route, and refused with its own reason")
    func refusedMapping() throws {
        func version(_ name: String, _ entity: String, _ identifier: String? = nil) -> ModelVersion {
            PlanFixture.version(
                name,
                [
                    Entity(
                        name: entity, attributes: [Attribute(name: "name", type: .string, isOptional: true)],
                        renamingIdentifier: identifier)
                ])
        }
        // Without the mapping model nothing leads from Part to the others, and its end sorts behind the target.
        let versions = [version("v1", "Part"), version("v2", "Piece", "Item"), version("v3", "Item")]
        for (policy, open, word) in [("Pol", false, "Pol"), (nil, true, "fill me")] as [(String?, Bool, String)] {
            var part = EntityMapping(name: "P", source: "Part", destination: "Item", policyClassName: policy)
            if open { part.unreadable = [.init(part: "the filter predicate", reason: "? fill me", isOpen: true)] }
            let models = [PlanFixture.mappingModel("v1", "v3", [part])]
            let plan = try PlanFixture.plan(versions, models, from: "v1", to: "v2")
            #expect(plan.chain == ["v1", "v3", "v2"], "\(plan.refusals)")
            #expect(plan.refusals.count == 1 && plan.refusals.first?.message.contains(word) == true)
        }
    }

    @Test("A mapping model in the middle of the way is used from a version that inference reaches")
    func middle() throws {
        let versions = [
            version("a9", "name"), version("b1", "label", "repo"), version("z1", "name", "note"),
            version("z2", "label"),
        ]
        var current = versions
        current[1].isCurrent = true
        let models = [try mapping("z1", "z2", ["label": "$source.name"])]
        let plan = try PlanFixture.plan(current, models, from: "a9", to: "b1")
        #expect(plan.refusals.isEmpty && plan.chain == ["a9", "z1", "z2", "b1"], "\(plan.chain) \(plan.refusals)")
    }

    @Test("A mapping model that leads back is passed over with a warning")
    func leadsBack() throws {
        let versions = [version("v1", "name"), version("v2", "name", "label"), version("v3", "name", "label", "repo")]
        let plan = try PlanFixture.plan(versions, [try mapping("v2", "v1")], from: "v2", to: "v3")
        #expect(plan.refusals.isEmpty && plan.chain == ["v2", "v3"])
        #expect(plan.warnings.map(\.code) == [.mappingNotUsed])
    }

    @Test("A mapping model from whose end nothing leads on is refused where passing it over loses something")
    func deadEnd() throws {
        let dead = PlanFixture.version(
            "v2", [Entity(name: "Device", attributes: [Attribute(name: "repo", type: .date, isOptional: true)])])
        let versions = [version("v1", "name"), dead, version("v3", "repo")]
        let models = [try mapping("v1", "v2")]
        let plan = try PlanFixture.plan(versions, models, from: "v1", to: "v3")
        #expect(plan.refusals.map(\.code) == [.ambiguousChain], "\(plan.chain)")
        #expect(plan.refusals.first?.message.contains("v1tov2") == true)
        let chosen = try PlanFixture.plan(
            versions, models, from: "v1", to: "v3",
            route: ChainRoute(choice: .versions(["v1", "v3"]), origin: "the list"))
        #expect(chosen.refusals.isEmpty && chosen.chain == ["v1", "v3"])
    }

    @Test("Two ways that each lose what the other keeps are refused")
    func open() throws {
        let versions = [version("v2", "label"), version("v3", "label", "extra"), version("zero", "name", "extra")]
        var current = versions
        current[1].isCurrent = true
        let models = [try mapping("zero", "v2", ["label": "$source.name"])]
        let plan = try PlanFixture.plan(current, models, from: "zero", to: "v3")
        #expect(plan.refusals.map(\.code) == [.ambiguousChain])
        let message = plan.refusals.first?.message ?? ""
        #expect(message.contains("loses Device.extra") && message.contains("loses Device.name"), "\(message)")
    }

    // MARK: Order

    @Test("Versions whose names mislead are passed in the order of their models")
    func orderByModels() throws {
        func renamed(_ name: String, _ attribute: String, from old: String?) -> ModelVersion {
            var version = version(name, attribute)
            let entity = Entity(
                name: "Device",
                attributes: [
                    Attribute(name: attribute, type: .string, isOptional: true, renamingIdentifier: old)
                ])
            version.model = ManagedObjectModel(versionIdentifiers: [name, "x"], entities: [entity])
            version.hashes = VersionHash.hashes(of: version.model)
            return version
        }
        // The values move on by renamings that one mapping over all of them would not see.
        var versions = [
            renamed("Partner 5", "one", from: nil), renamed("Zeta", "two", from: "one"),
            renamed("Beta", "three", from: "two"), renamed("Alpha", "four", from: "three"),
        ]
        versions[3].isCurrent = true
        let plan = try PlanFixture.plan(versions, [], from: "Partner 5", to: "Alpha")
        #expect(plan.refusals.isEmpty && plan.losses.isEmpty, "\(plan.chain) \(plan.refusals)")
        #expect(plan.chain == ["Partner 5", "Zeta", "Beta", "Alpha"])
        #expect(plan.notes.contains { $0.contains("follows from the models") }, "\(plan.notes)")
    }

    @Test("Versions with equal hashes are shown under the name that stands in sequence")
    func equalHashes() throws {
        // 2.98 and 2.100 are equal, and each step renames what the next one carries on.
        func renamed(_ name: String, _ attribute: String, from old: String?) -> ModelVersion {
            PlanFixture.version(
                name,
                [
                    Entity(
                        name: "Device",
                        attributes: [
                            Attribute(name: attribute, type: .string, isOptional: true, renamingIdentifier: old)
                        ])
                ])
        }
        var versions = [
            renamed("2.97", "one", from: nil), renamed("2.98", "two", from: "one"),
            renamed("2.99", "three", from: "two"),
            renamed("2.100", "two", from: "one"), renamed("2.101", "four", from: "three"),
        ]
        versions[3].hashes = versions[1].hashes
        let plan = try PlanFixture.plan(versions, [], from: "2.97", to: "2.101")
        #expect(plan.refusals.isEmpty && plan.losses.isEmpty, "\(plan.losses)")
        #expect(plan.chain == ["2.97", "2.98", "2.99", "2.101"], "\(plan.chain)")
    }

    @Test("Distances count the properties that a model does not continue")
    func distances() throws {
        let models = [version("a", "x", "y").model, version("b", "x").model, version("c", "y", "x", "z").model]
        let distances = ModelDistances(models)
        func lost(from source: Int, to destination: Int) -> Int {
            let own = distances.properties(of: source)
            return own.count - distances.continued(own, of: source, in: destination).count
        }
        #expect(lost(from: 0, to: 1) == 1 && lost(from: 1, to: 0) == 0)
        #expect(lost(from: 0, to: 2) == 0 && lost(from: 2, to: 0) == 1)
    }
}
