import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import Testing

@Suite("Partitions")
struct PartitioningTests {
    static let first = PlanFixture.version(
        "V1",
        [
            Entity(
                name: "Book", attributes: [Attribute(name: "authorName", type: .string, isOptional: true)],
                relationships: [
                    Relationship(
                        name: "user", destinationEntity: "User", inverseName: "books", inverseEntity: "User",
                        isOptional: true)
                ]),
            Entity(
                name: "User", attributes: [Attribute(name: "userId", type: .integer32, isOptional: true)],
                relationships: [
                    Relationship(
                        name: "books", destinationEntity: "Book", inverseName: "user", inverseEntity: "Book",
                        isOptional: true, maxCount: 0)
                ]),
        ])
    static let second = PlanFixture.version(
        "V2",
        [
            Entity(
                name: "Author", attributes: [Attribute(name: "name", type: .string, isOptional: true)],
                relationships: [
                    Relationship(
                        name: "books", destinationEntity: "Book", inverseName: "author", inverseEntity: "Book",
                        isOptional: true, maxCount: 0)
                ]),
            Entity(
                name: "Book",
                relationships: [
                    Relationship(
                        name: "author", destinationEntity: "Author", inverseName: "books", inverseEntity: "Author",
                        isOptional: true),
                    Relationship(
                        name: "user", destinationEntity: "User", inverseName: "books", inverseEntity: "User",
                        isOptional: true),
                ]),
            Entity(
                name: "User", attributes: [Attribute(name: "userId", type: .integer32, isOptional: true)],
                relationships: [
                    Relationship(
                        name: "books", destinationEntity: "Book", inverseName: "user", inverseEntity: "Book",
                        isOptional: true, maxCount: 0)
                ]),
        ])

    static let book = EntityMapping(
        name: "BookToBook", source: "Book", destination: "Book",
        relationships: ["author": .destinations(ofMapping: "BookAuthor", from: .variable("source"))])
    static let author = EntityMapping(
        name: "BookAuthor", source: "Book", destination: "Author", unique: ["name"],
        attributes: ["name": .value(.keyPath(.variable("source"), [.key("authorName")]))])
    static let user = EntityMapping(name: "UserToUser", source: "User", destination: "User")

    func plan(_ mappingModels: [MappingModel]) throws -> MigrationPlan {
        try PlanFixture.plan([Self.first, Self.second], mappingModels, from: "V1", to: "V2")
    }

    @Test("contain mappings that depend on each other; kept keys are no dependency")
    func components() throws {
        let plan = try plan([PlanFixture.mappingModel("V1", "V2", [Self.user, Self.book, Self.author])])
        #expect(plan.refusals.isEmpty)
        #expect(plan.partitionNames == [["UserToUser"], ["BookAuthor", "BookToBook"]])
    }

    @Test("a filtered mapping is a dependency, because the dropped objects are unknown")
    func filtered() throws {
        var user = Self.user
        user.filter = .comparison(
            .init(left: .keyPath(.evaluatedObject, [.key("userId")]), comparator: .notEqual, right: .constant(.null)))
        let plan = try plan([PlanFixture.mappingModel("V1", "V2", [user, Self.book, Self.author])])
        #expect(plan.partitionNames.count == 1)
    }

    @Test("several mapping models of one step are one partition each")
    func perMappingModel() throws {
        let plan = try plan([
            PlanFixture.mappingModel("V1", "V2", [Self.author, Self.book], name: "books"),
            PlanFixture.mappingModel("V1", "V2", [Self.user], name: "users"),
        ])
        #expect(plan.partitionNames == [["BookAuthor", "BookToBook"], ["UserToUser"]])
    }

    @Test("a given split is followed")
    func given() throws {
        let plan = try plan([
            PlanFixture.mappingModel(
                "V1", "V2", [Self.user, Self.book, Self.author],
                partitions: [["BookAuthor"], ["BookToBook"], ["UserToUser"]])
        ])
        #expect(plan.partitionNames == [["BookAuthor"], ["BookToBook"], ["UserToUser"]])
    }

    @Test("a given split that breaks a dependency is refused with that dependency")
    func broken() throws {
        let plan = try plan([
            PlanFixture.mappingModel(
                "V1", "V2", [Self.user, Self.book, Self.author], partitions: [["BookToBook"], ["BookAuthor"]])
        ])
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.code == .badMapping)
        #expect(refusal.message.contains("BookToBook") && refusal.message.contains("BookAuthor"))
        #expect(refusal.message.contains("author"))
    }

    @Test("a given split that names an unknown mapping is refused")
    func unknown() throws {
        let plan = try plan([
            PlanFixture.mappingModel(
                "V1", "V2", [Self.user, Self.book, Self.author], partitions: [["Nobody"]])
        ])
        #expect(plan.refusals.first?.message.contains("Nobody") == true)
    }
}
