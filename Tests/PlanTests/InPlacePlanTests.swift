import FerryMapping
import FerryModel
import FerryPlan
import FerryStore
import Testing

/// The operations of a step in place, decided from the models and the names in the store.
@Suite("The plan of a step in place")
struct InPlacePlanTests {
    private static func one(_ name: String, _ entity: String, inverse: String, id: String? = nil) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            renamingIdentifier: id)
    }

    private static func many(_ name: String, _ entity: String, inverse: String) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            maxCount: 0)
    }

    private static func text(_ name: String, id: String? = nil) -> Attribute {
        Attribute(name: name, type: .string, isOptional: true, renamingIdentifier: id)
    }

    private static func number(_ name: String, _ type: AttributeType = .integer32, id: String? = nil) -> Attribute {
        Attribute(name: name, type: type, isOptional: true, renamingIdentifier: id)
    }

    /// Books of an author, with tags.
    private static let first = PlanFixture.version(
        "V1",
        [
            Entity(
                name: "Author", attributes: [text("name")], relationships: [many("books", "Book", inverse: "author")]),
            Entity(
                name: "Book", attributes: [number("pages"), text("title")],
                relationships: [one("author", "Author", inverse: "books"), many("tags", "Tag", inverse: "books")]),
            Entity(name: "Draft", attributes: [text("title")]),
            Entity(name: "Tag", attributes: [text("name")], relationships: [many("books", "Book", inverse: "tags")]),
        ])

    private static func plan(_ entities: [Entity]) throws -> (step: ResolvedStep, make: () throws -> StepProgram) {
        let second = PlanFixture.version("V2", entities)
        let plan = try PlanFixture.plan([first, second], [], from: "V1", to: "V2")
        try #require(plan.refusals.isEmpty, "\(plan.refusals)")
        let step = try #require(plan.steps.first)
        #expect(step.mode == .inPlace, "\(step.needsCopyBecause ?? "")")
        let source = try StoreLayout.canonical(for: first.model, foundTriggers: .assumed)
        let destination = try StoreLayout.canonical(for: second.model, foundTriggers: .assumed)
        return (
            step.resolved,
            {
                try StepProgram(
                    inPlace: step.resolved, source: source, schema: InPlaceSchema(of: source), destination: destination)
            }
        )
    }

    /// A renamed attribute, one of another type, and a default value.
    private static let changed = [
        Entity(
            name: "Author", attributes: [text("name")],
            relationships: [many("books", "Book", inverse: "author")]),
        Entity(
            name: "Book",
            attributes: [
                text("heading", id: "title"), number("length", .double, id: "pages"),
                Attribute(name: "state", type: .integer16, isOptional: false, defaultValue: .integer(7)),
            ], relationships: [one("author", "Author", inverse: "books"), many("tags", "Tag", inverse: "books")]),
        Entity(name: "Label", attributes: [text("word")]),
        Entity(name: "Tag", attributes: [text("name")], relationships: [many("books", "Book", inverse: "tags")]),
    ]

    @Test("lists tables, the sources of their columns, links and statements in their order")
    func whole() throws {
        let (step, make) = try Self.plan(Self.changed)
        let plan = try make()
        let source = try StoreLayout.canonical(for: step.source.model, foundTriggers: .assumed)
        #expect(plan.textInPlace(of: step, from: source) == Self.whole)
        #expect(try make() == plan)
    }

    private static let whole = """
        tables
          ZAUTHOR: ZAUTHOR, altered
            IEM_Copy_Author, 1 to 1
              ZNAME: ZNAME
          ZBOOK: from ZBOOK, since column ZPAGES is dropped or changes its type
            IEM_Transform_Book, 2 to 2
              ZSTATE: :v0 [:v0 integer(7)]
              ZAUTHOR: ZAUTHOR
              ZLENGTH: ferry_to_double(ZPAGES)
              ZHEADING: ZTITLE
          ZLABEL: empty
          ZTAG: ZTAG, altered
            IEM_Copy_Tag, 4 to 4
              ZNAME: ZNAME
        join tables
          Z_2TAGS: Z_2TAGS, altered
        statements
          UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM ZAUTHOR), 0)) WHERE Z_ENT = 1
          UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM ZBOOK), 0)) WHERE Z_ENT = 2
          UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM ZTAG), 0)) WHERE Z_ENT = 4
          DROP TABLE ZDRAFT
          ALTER TABLE ZBOOK RENAME TO ferry_1
          CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZSTATE INTEGER, ZAUTHOR INTEGER, ZLENGTH FLOAT, ZHEADING VARCHAR )
          CREATE TABLE ZLABEL ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZWORD VARCHAR )
          INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZSTATE, ZAUTHOR, ZLENGTH, ZHEADING) SELECT Z_PK, Z_ENT, Z_OPT, :v0, ZAUTHOR, ferry_to_double(ZPAGES), ZTITLE FROM ferry_1 WHERE +Z_ENT IN (2) [:v0 integer(7)]
          DROP TABLE ferry_1
          UPDATE Z_PRIMARYKEY SET Z_ENT = -Z_ENT WHERE Z_ENT < 16000
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (1, :v0, 0, ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -1), 0)) [:v0 text("Author")]
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (2, :v0, 0, ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -2), 0)) [:v0 text("Book")]
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (3, :v0, 0, 0) [:v0 text("Label")]
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (4, :v0, 0, ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -4), 0)) [:v0 text("Tag")]
          DELETE FROM Z_PRIMARYKEY WHERE Z_ENT < 0
          CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)
        written
          ZBOOK
          ZLABEL

        """
}
