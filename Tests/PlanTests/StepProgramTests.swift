import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerryStore
import Foundation
import Testing

/// The operations of a copied step, decided from the models, the mappings and the known facts about the store.
@Suite("The program of a step")
struct StepProgramTests {
    private static func one(_ name: String, _ entity: String, inverse: String) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true)
    }

    private static func many(_ name: String, _ entity: String, inverse: String, isOrdered: Bool = false) -> Relationship
    {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            isOrdered: isOrdered, maxCount: 0)
    }

    private static func text(_ name: String) -> Attribute { Attribute(name: name, type: .string, isOptional: true) }

    /// Books with tags and a user; in the second version a cover is an object of its own.
    private static let first = PlanFixture.version(
        "V1",
        [
            Entity(
                name: "Book", attributes: [text("cover"), text("title")],
                relationships: [many("tags", "Tag", inverse: "books"), one("user", "User", inverse: "books")]),
            Entity(
                name: "Tag", attributes: [text("name")], relationships: [many("books", "Book", inverse: "tags")]),
            Entity(
                name: "User", attributes: [text("name")],
                relationships: [many("books", "Book", inverse: "user", isOrdered: true)]),
        ])
    private static let second = PlanFixture.version(
        "V2",
        [
            Entity(
                name: "Asset", attributes: [text("name")], relationships: [one("coverOf", "Book", inverse: "cover")]),
            Entity(
                name: "Book", attributes: [text("title")],
                relationships: [
                    one("cover", "Asset", inverse: "coverOf"), many("tags", "Tag", inverse: "books"),
                    one("user", "User", inverse: "books"),
                ]),
            Entity(
                name: "Tag", attributes: [text("name")], relationships: [many("books", "Book", inverse: "tags")]),
            Entity(
                name: "User", attributes: [text("name")],
                relationships: [many("books", "Book", inverse: "user", isOrdered: true)]),
        ])

    private static let cover = EntityMapping(
        name: "BookCover", source: "Book", destination: "Asset",
        attributes: ["name": .value(.keyPath(.variable("source"), [.key("cover")]))],
        relationships: ["coverOf": .destinations(ofMapping: "BookToBook", from: .variable("source"))])

    private static func step(_ book: EntityMapping, _ others: [EntityMapping] = []) throws -> StepPlan {
        let tag = EntityMapping(name: "TagToTag", source: "Tag", destination: "Tag")
        let user = EntityMapping(name: "UserToUser", source: "User", destination: "User")
        let plan = try PlanFixture.plan(
            [first, second], [PlanFixture.mappingModel("V1", "V2", [book, tag, user] + others)], from: "V1", to: "V2")
        try #require(plan.refusals.isEmpty, "\(plan.refusals)")
        var step = try #require(plan.steps.first)
        // The program that fills all tables.
        step.keptPart = nil
        return step
    }

    private static func program(_ step: StepPlan, damage: [StoreDamage] = []) throws -> StepProgram {
        try StepProgram(
            step, source: try StoreLayout.canonical(for: first.model, foundTriggers: .assumed),
            destination: try StoreLayout.canonical(for: second.model, foundTriggers: .assumed), damage: damage)
    }

    private static let book = EntityMapping(name: "BookToBook", source: "Book", destination: "Book")

    @Test("lists keys, sources of relationships, join tables and operations in their order")
    func whole() throws {
        let step = try Self.step(Self.book, [Self.cover])
        let program = try Self.program(step)
        #expect(program.text(of: step.resolved) == Self.whole)
        #expect(try Self.program(step) == program)
    }

    private static let whole = """
        keys
          BookToBook: -
          TagToTag: -
          UserToUser: -
          BookCover: -
        columns
          BookToBook
            ZTITLE: ZTITLE
          TagToTag
            ZNAME: ZNAME
          UserToUser
            ZNAME: ZNAME
          BookCover
            ZNAME: ZCOVER
        relationships
          Asset.coverOf in ZASSET.ZCOVEROF
            BookCover to BookToBook, by a rule, key looked up
          Book.cover in ZBOOK.ZCOVER
            BookToBook to BookCover, by a rule, key looked up
          Book.tags in Z_2TAGS (Z_2BOOKS, Z_3TAGS)
            BookToBook to TagToTag, from tags in Z_1TAGS (Z_1BOOKS, Z_2TAGS), after the rows
          Book.user in ZBOOK.ZUSER
            BookToBook to UserToUser, from user in ZBOOK.ZUSER, key ZUSER, positions own
        join tables
          Z_2TAGS: as Z_1TAGS
        operations
          rows:0 rows:3
          rows:1
          rows:2
          join:Z_2TAGS
          settle:Asset.coverOf
          settle:Book.cover
          settle:Book.tags
          settle:Book.user
          index:ZASSET_ZCOVEROF_INDEX
          index:ZBOOK_ZCOVER_INDEX
          index:ZBOOK_ZUSER_INDEX
          index:Z_2TAGS_Z_3TAGS_INDEX
          highestKeys

        """

    @Test("looks keys and links up where some of them dangle")
    func damaged() throws {
        let step = try Self.step(Self.book, [Self.cover])
        let damage = try [("danglingKey", "user"), ("danglingKey", "tags"), ("missingOrder", "user")].map {
            kind, name in
            try JSONDecoder().decode(
                StoreDamage.self,
                from: Data(#"{ "kind": "\#(kind)", "entity": "Book", "property": "\#(name)", "rows": 3 }"#.utf8))
        }
        let program = try Self.program(step, damage: damage)
        let text = program.text(of: step.resolved)
        #expect(text.contains("BookToBook to UserToUser, from user in ZBOOK.ZUSER, key looked up, positions own"))
        #expect(program.fills.joinTables.count == 1 && program.fills.joinTables[0].origin == nil)
        #expect(program.fills.damage.carried.count == 3)
    }

    @Test("looks each link up where a filter drops objects at one end")
    func filtered() throws {
        var book = Self.book
        book.filter = try Predicate.parse("title != nil")
        let step = try Self.step(book)
        #expect(try Self.program(step).text(of: step.resolved) == Self.filtered)
    }

    private static let filtered = """
        keys
          BookToBook: -
          TagToTag: -
          UserToUser: -
        columns
          BookToBook
            ZTITLE: ZTITLE
          TagToTag
            ZNAME: ZNAME
          UserToUser
            ZNAME: ZNAME
        relationships
          Book.tags in Z_2TAGS (Z_2BOOKS, Z_3TAGS)
            BookToBook to TagToTag, from tags in Z_1TAGS (Z_1BOOKS, Z_2TAGS), after the rows
          Book.user in ZBOOK.ZUSER
            BookToBook to UserToUser, from user in ZBOOK.ZUSER, key ZUSER, positions own
        join tables
          Z_2TAGS: asWalked
        operations
          rows:0
          rows:1
          rows:2
          links:Book.tags:0
          settle:Book.tags
          settle:Book.user
          index:ZASSET_ZCOVEROF_INDEX
          index:ZBOOK_ZCOVER_INDEX
          index:ZBOOK_ZUSER_INDEX
          index:Z_2TAGS_Z_3TAGS_INDEX
          highestKeys

        """
}
