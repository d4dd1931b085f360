import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import Testing

@Suite("The choice of a chain's versions")
struct ChainRouteTests {
    private let versions = PlanFixture.versions(["V1", "V2", "V3", "V4"])

    private static func list(_ names: String...) -> ChainRoute {
        ChainRoute(choice: .versions(names), origin: "Chain.txt")
    }

    // MARK: A list

    @Test("A list may leave versions out; a step without a mapping model is inferred")
    func skips() throws {
        let models = [PlanFixture.mappingModel("V3", "V4")]
        let plan = try PlanFixture.plan(versions, models, from: "V1", to: "V4", route: Self.list("V1", "V3", "V4"))
        #expect(plan.refusals.isEmpty)
        #expect(plan.chain == ["V1", "V3", "V4"])
        #expect(plan.steps.map(\.isInferred) == [true, false])
        #expect(plan.links.map(\.reason).allSatisfy { $0.hasPrefix("chosen; ") })
    }

    @Test("A store begins at its own version in a list, and a target ends the list")
    func part() throws {
        let list = Self.list("V1", "V2", "V3", "V4")
        #expect(try PlanFixture.plan(versions, [], from: "V2", to: "V3", route: list).chain == ["V2", "V3"])
    }

    @Test(
        "A list with a version that cannot be reached is refused with the version",
        arguments: [
            (["V2", "V4"], "version V1, which is not in Chain.txt"),
            (["V1", "V3"], "Chain.txt does not lead from V1"),
            (["V4", "V1"], "Chain.txt does not lead from V1"),
            (["V1", "V9", "V4"], "In Chain.txt: There is no model version 'V9'"),
            (["V1", "V3", "V1", "V4"], "V1 cannot follow V3"),
        ])
    func refusesList(names: [String], words: String) throws {
        let route = ChainRoute(choice: .versions(names), origin: "Chain.txt")
        let plan = try PlanFixture.plan(versions, [], from: "V1", to: "V4", route: route)
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.message.contains(words), "\(refusal.message)")
        #expect(!refusal.remedy.isEmpty)
    }

    @Test("A version that cannot follow is named with the reason")
    func cannotFollow() throws {
        var versions = versions
        versions[2] = PlanFixture.version(
            "V3", [Entity(name: "Book", attributes: [Attribute(name: "inV1", type: .date)])])
        let plan = try PlanFixture.plan(versions, [], from: "V1", to: "V4", route: Self.list("V1", "V3", "V4"))
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.code == .unreachable)
        #expect(
            refusal.message.hasPrefix("V3 cannot follow V1, as Chain.txt says: no mapping model leads from V1 to V3"))
        #expect(refusal.message.contains("Book.inV1"))
    }

    // MARK: A closure

    @Test("A closure receives each version with its possible successors, and may leave the rest to the search")
    func asks() throws {
        let asked = Locked<[VersionQuestion]>([])
        let route = ChainRoute(
            choice: .next { question in
                asked.withLock { $0.append(question) }
                return question.version == "V1" ? "V3" : nil
            })
        let models = [PlanFixture.mappingModel("V1", "V4")]
        let plan = try PlanFixture.plan(versions, models, from: "V1", to: "V4", route: route)
        #expect(plan.refusals.isEmpty)
        #expect(plan.chain == ["V1", "V3", "V4"])
        #expect(asked.withLock { $0.map(\.version) } == ["V1", "V3"])
        #expect(asked.withLock { $0.map(\.candidates) } == [["V4", "V2"], ["V4"]])
        #expect(asked.withLock { $0.allSatisfy { $0.target == "V4" } })
    }

    @Test("A closure's answer that is no version, or that makes a cycle, is refused", arguments: ["V9", "V1"])
    func refusesAnswer(name: String) throws {
        let route = ChainRoute(choice: .next { _ in name })
        let plan = try PlanFixture.plan(versions, [], from: "V1", to: "V4", route: route)
        #expect(plan.refusals.first?.message.contains(name) == true)
    }

    @Test("A closure's error is the cause of the refusal")
    func passesOnErrors() throws {
        struct Own: Error {}
        let plan = try PlanFixture.plan(
            versions, [], from: "V1", to: "V4", route: ChainRoute(choice: .next { _ in throw Own() }))
        #expect(plan.refusals.first?.cause is Own)
    }

    // MARK: Inference turned off

    @Test("Without inference a step without mapping model is refused, and mapping models still apply")
    func noInference() throws {
        let route = ChainRoute(infers: false)
        let models = [PlanFixture.mappingModel("V1", "V2"), PlanFixture.mappingModel("V2", "V4")]
        #expect(try PlanFixture.plan(versions, models, from: "V1", to: "V4", route: route).chain == ["V1", "V2", "V4"])
        let plan = try PlanFixture.plan(versions, [models[0]], from: "V1", to: "V4", route: route)
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.code == .unreachable)
        #expect(refusal.message.contains("none may be inferred"))
        let listed = ChainRoute(choice: .versions(["V1", "V3"]), origin: "Chain.txt", infers: false)
        let other = try PlanFixture.plan(versions, [], from: "V1", to: "V3", route: listed)
        #expect(other.refusals.first?.message.contains("V3 cannot follow V1") == true)
    }

    @Test("Of two versions with equal hashes, a list or a closure passes the first that it names")
    func equalHashesOnTheWay() throws {
        func version(_ name: String, _ attribute: Attribute) -> ModelVersion {
            PlanFixture.version(name, [Entity(name: "Book", attributes: [attribute])])
        }
        // The last version drops the renaming identifier, as apps do after the renaming.
        let all = [
            version("V1", Attribute(name: "title", type: .string)),
            version("V2", Attribute(name: "heading", type: .string, renamingIdentifier: "title")),
            version("V3", Attribute(name: "heading", type: .string)),
        ]
        let asked = ChainRoute(choice: .next { $0.version == "V1" ? "V2" : "V3" })
        for route in [Self.list("V1", "V2", "V3"), Self.list("V1", "V2"), asked] {
            let plan = try PlanFixture.plan(all, [], from: "V1", to: "V3", route: route)
            #expect(plan.refusals.isEmpty && plan.chain == ["V1", "V3"] && plan.losses.isEmpty)
            #expect(plan.steps.last?.resolved.destination.model.versionIdentifiers == ["V3"])
            let book = try #require(plan.steps.last?.resolved.entityMappings.first)
            #expect(book.attributes.first { $0.name == "heading" }?.expression != nil)
        }
        // The chain uses the named version; Core Data would lose the same attribute.
        let straight = try PlanFixture.plan(all, [], from: "V1", to: "V3", route: Self.list("V1", "V3"))
        #expect(straight.losses.map(\.name) == ["Book.title"])
    }

    // MARK: Backwards

    private static let shelves = [
        PlanFixture.version("V1", [Entity(name: "Book", attributes: [Attribute(name: "title", type: .string)])]),
        PlanFixture.version(
            "V2",
            [
                Entity(
                    name: "Book",
                    attributes: [
                        Attribute(name: "heading", type: .string, renamingIdentifier: "title"),
                        Attribute(name: "copies", type: .integer32, isOptional: true),
                    ]),
                Entity(name: "Note"),
            ]),
    ]

    @Test("An older target is refused, also with a mapping model to it, and the error names the option")
    func backward() throws {
        let back = PlanFixture.mappingModel("V2", "V1")
        for models in [[], [back]] {
            let refusal = try #require(
                try PlanFixture.plan(Self.shelves, models, from: "V2", to: "V1").refusals.first)
            #expect(refusal.code == .backward && refusal.remedy.description.contains("allowsDowngrade = true"))
        }
    }

    @Test("With a permitted downgrade the step is inferred, and the lost rows come first")
    func downgrade() throws {
        let plan = try PlanFixture.plan(
            Self.shelves, [], from: "V2", to: "V1", route: ChainRoute(allowsDowngrade: true))
        #expect(plan.refusals.isEmpty && plan.chain == ["V2", "V1"])
        // Note has no rows, so none are lost; only the store knows the number of books with copies.
        #expect(
            plan.allWarnings.map(\.message)
                == ["Book.copies is lost, at most 7 values: V1 does not have it."])
        #expect(plan.links.map(\.reason) == ["inferred backwards: there is no mapping model"])
        let book = try #require(plan.steps[0].resolved.entityMappings.first)
        #expect(book.attributes.first { $0.name == "title" }?.expression != nil)
    }

    @Test("Mapping models to an older version are preferred to inference")
    func mappedBack() throws {
        let plan = try PlanFixture.plan(
            Self.shelves,
            [
                PlanFixture.mappingModel(
                    "V2", "V1",
                    [
                        EntityMapping(
                            name: "BookToBook", source: "Book", destination: "Book",
                            attributes: ["title": .value(.keyPath(.variable("source"), [.key("heading")]))])
                    ])
            ], from: "V2", to: "V1", route: ChainRoute(allowsDowngrade: true))
        #expect(plan.refusals.isEmpty, "\(plan.refusals)")
        #expect(plan.steps.map(\.isInferred) == [false])
        #expect(plan.losses.map(\.name) == ["Book.copies"])
    }

    @Test("A permitted downgrade does not change a chain to a newer version")
    func forward() throws {
        let plan = try PlanFixture.plan(
            Self.shelves, [], from: "V1", to: "V2", route: ChainRoute(allowsDowngrade: true))
        #expect(plan.chain == ["V1", "V2"] && plan.losses.isEmpty)
    }

    @Test("What forEach takes is lost for objects that are no elements, also where their path begins at SELF")
    func readByIteration() throws {
        func relationship(_ name: String, _ entity: String, _ inverse: String, maxCount: Int) -> Relationship {
            Relationship(
                name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
                maxCount: maxCount)
        }
        let kind = Attribute(name: "kind", type: .string, isOptional: true)
        let title = Attribute(name: "title", type: .string, isOptional: true)
        let old = PlanFixture.version(
            "V1",
            [
                Entity(name: "Shelf", relationships: [relationship("books", "Book", "shelf", maxCount: 0)]),
                Entity(
                    name: "Book", attributes: [kind, title],
                    relationships: [relationship("shelf", "Shelf", "books", maxCount: 1)]),
            ])
        let new = PlanFixture.version(
            "V2", [Entity(name: "Book", attributes: [kind]), Entity(name: "Label", attributes: [title])])
        let labels = EntityMapping(
            name: "ShelfToLabel", source: "Shelf", destination: "Label",
            iteration: .init(variable: "book", elements: try Expression.parse("books")),
            attributes: ["title": .value(try Expression.parse("$book.title"))])
        let books = EntityMapping(name: "BookToBook", source: "Book", destination: "Book")
        let plan = try PlanFixture.plan(
            [old, new], [PlanFixture.mappingModel("V1", "V2", [labels, books])], from: "V1", to: "V2")
        #expect(plan.refusals.isEmpty, "\(plan.refusals)")
        // Only the rows tell how many books are on no shelf.
        #expect(plan.losses.map(\.name) == ["Book.shelf", "Book.title"], "\(plan.losses.map(\.sentence))")
        #expect(plan.losses.first { $0.name == "Book.title" }?.cause == .carriedInPart(by: ["ShelfToLabel"]))
    }

    // MARK: Nodes

    @Test("Versions with equal hashes are one node; the end is the requested version, else the last")
    func equalHashes() throws {
        var twin = versions[1]
        twin.name = "V2b"
        twin.path = "/models/Model.xcdatamodeld/V2b.xcdatamodel"
        twin.model.versionIdentifiers = ["twin"]
        let all = versions + [twin]
        for (target, identifier) in [("V2", "V2"), ("V2b", "twin")] {
            for models in [[], [PlanFixture.mappingModel("V1", "V2")], [PlanFixture.mappingModel("V1", "V2b")]] {
                let plan = try PlanFixture.plan(all, models, from: "V1", to: target)
                #expect(plan.refusals.isEmpty && plan.chain == ["V1", target])
                #expect(plan.steps.last?.resolved.destination.model.versionIdentifiers == [identifier])
            }
        }
        let list = Self.list("V1", "V2", "V3")
        let through = try PlanFixture.plan(all, [], from: "V1", to: "V3", route: list)
        #expect(through.chain == ["V1", "V2b", "V3"])
    }

    @Test("A compiled mapping model leads between the versions that have its hashes")
    func compiled() throws {
        var model = PlanFixture.mappingModel("", "", name: "Compiled")
        model.sourceHashes = versions[0].hashes
        model.destinationHashes = versions[2].hashes
        let plan = try PlanFixture.plan(versions, [model], from: "V1", to: "V4")
        #expect(plan.chain == ["V1", "V3", "V4"])
        #expect(plan.steps.map(\.isInferred) == [false, true])
        model.sourceHashes = ["Book": Array(repeating: 0, count: 32)]
        let refusal = try #require(try PlanFixture.plan(versions, [model], from: "V1", to: "V4").refusals.first)
        #expect(refusal.code == .noSuchVersion && refusal.message.contains("Compiled"))
    }

    // MARK: Reasons

    @Test("The explanation names the preferred and the rejected choices, and the steps that cannot be inferred")
    func explains() throws {
        let models = [PlanFixture.mappingModel("V1", "V3"), PlanFixture.mappingModel("V2", "V4")]
        let plan = try PlanFixture.plan(versions, models, from: "V1", to: "V4")
        #expect(plan.chain == ["V1", "V3", "V4"])
        #expect(plan.links.map(\.isInferred) == [false, true])
        #expect(
            plan.links.map(\.reason) == [
                "by mapping model V1toV3", "inferred: there is no mapping model",
            ])
        #expect(
            plan.notes == [
                "Versions are ordered by name, bundles by path.",
                "V1 → V3 → V4 was preferred to V1 → V2 → V3 → V4: mapping models are used where possible (1 inferred), "
                    + "then the fewest steps (2).",
                "Not used: V2toV4 (V2 → V4).",
            ])
    }
}
