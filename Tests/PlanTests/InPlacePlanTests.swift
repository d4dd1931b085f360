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

    private static func many(_ name: String, _ entity: String, inverse: String, isOrdered: Bool = false) -> Relationship
    {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            isOrdered: isOrdered, maxCount: 0)
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

    /// A renamed attribute, one of another type, a default value, an order, and a foreign key that becomes links.
    private static let changed = [
        Entity(
            name: "Author", attributes: [text("name")],
            relationships: [many("books", "Book", inverse: "author", isOrdered: true)]),
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
        #expect(plan.textInPlace(of: step) == Self.whole)
        #expect(try make() == plan)
    }

    private static let whole = """
        tables
          ZAUTHOR: ZAUTHOR, altered
            IEM_Transform_Author, 1 to 1
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
          ALTER TABLE ZBOOK RENAME TO ferry_1
          CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZSTATE INTEGER, ZAUTHOR INTEGER, Z_FOK_AUTHOR INTEGER, ZLENGTH FLOAT, ZHEADING VARCHAR )
          CREATE TABLE ZLABEL ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZWORD VARCHAR )
          INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZSTATE, ZAUTHOR, ZLENGTH, ZHEADING) SELECT Z_PK, Z_ENT, Z_OPT, :v0, ZAUTHOR, ferry_to_double(ZPAGES), ZTITLE FROM ferry_1 WHERE +Z_ENT IN (2) [:v0 integer(7)]
          DROP TABLE ferry_1
          DROP TABLE ZDRAFT
          UPDATE ZBOOK SET Z_FOK_AUTHOR = 1024 + 1024 * p.place FROM (SELECT Z_PK AS k, row_number() OVER (PARTITION BY ZAUTHOR ORDER BY Z_PK) AS place FROM ZBOOK WHERE ZAUTHOR IS NOT NULL) AS p WHERE ZBOOK.Z_PK = p.k
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

    /// Entity numbers change, a foreign key becomes links, and columns keep their values under other names.
    private static let moved = [
        Entity(name: "Atlas", attributes: [text("name")]),
        Entity(name: "Author", attributes: [text("name")], relationships: [many("books", "Book", inverse: "authors")]),
        Entity(
            name: "Book",
            attributes: [
                text("heading", id: "title"), number("pages"),
                Attribute(name: "state", type: .integer16, isOptional: false, defaultValue: .integer(7)),
            ],
            relationships: [
                Relationship(
                    name: "authors", destinationEntity: "Author", inverseName: "books", inverseEntity: "Author",
                    isOptional: true, maxCount: 0, renamingIdentifier: "author"),
                many("tags", "Tag", inverse: "books"),
            ]),
        Entity(name: "Draft", attributes: [text("title")]),
        Entity(name: "Tag", attributes: [text("name")], relationships: [many("books", "Book", inverse: "tags")]),
    ]

    @Test("lists links from former foreign keys, and values for rows that stay in their tables")
    func links() throws {
        let (step, make) = try Self.plan(Self.moved)
        let plan = try make()
        #expect(plan.textInPlace(of: step) == Self.links)
        #expect(plan.moves.computations.isEmpty)
    }

    private static let links = """
        tables
          ZATLAS: empty
          ZAUTHOR: ZAUTHOR, altered
            IEM_Transform_Author, 1 to 2
              ZNAME: ZNAME
          ZBOOK: from ZBOOK, since column ZAUTHOR is dropped or changes its type
            IEM_Transform_Book, 2 to 3
              ZPAGES: ZPAGES
              ZSTATE: :v0 [:v0 integer(7)]
              ZHEADING: ZTITLE
          ZDRAFT: ZDRAFT, altered
            IEM_Copy_Draft, 3 to 4
              ZTITLE: ZTITLE
          ZTAG: ZTAG, altered
            IEM_Copy_Tag, 4 to 5
              ZNAME: ZNAME
        join tables
          Z_2BOOKS: from ZBOOK.ZAUTHOR of 2
          Z_3TAGS: Z_2TAGS, altered
        statements
          UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM ZAUTHOR), 0)) WHERE Z_ENT = 1
          UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM ZBOOK), 0)) WHERE Z_ENT = 2
          UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM ZDRAFT), 0)) WHERE Z_ENT = 3
          UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM ZTAG), 0)) WHERE Z_ENT = 4
          ALTER TABLE ZBOOK RENAME TO ferry_1
          ALTER TABLE Z_2TAGS RENAME TO Z_3TAGS
          CREATE TABLE ZATLAS ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )
          CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPAGES INTEGER, ZSTATE INTEGER, ZHEADING VARCHAR )
          CREATE TABLE Z_2BOOKS ( Z_2AUTHORS INTEGER, Z_3BOOKS INTEGER, PRIMARY KEY (Z_2AUTHORS, Z_3BOOKS) )
          INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZPAGES, ZSTATE, ZHEADING) SELECT Z_PK, CASE Z_ENT WHEN 2 THEN 3 END, Z_OPT, ZPAGES, :v0, ZTITLE FROM ferry_1 WHERE +Z_ENT IN (2) [:v0 integer(7)]
          INSERT OR IGNORE INTO Z_2BOOKS (Z_2AUTHORS, Z_3BOOKS) SELECT s.ZAUTHOR, s.Z_PK FROM ferry_1 AS s JOIN ZAUTHOR AS t ON t.Z_PK = s.ZAUTHOR WHERE +s.Z_ENT = 2 AND +t.Z_ENT = 1
          DROP TABLE ferry_1
          UPDATE ZAUTHOR SET Z_ENT = 2 WHERE +Z_ENT IN (1)
          UPDATE ZDRAFT SET Z_ENT = 4 WHERE +Z_ENT IN (3)
          UPDATE ZTAG SET Z_ENT = 5 WHERE +Z_ENT IN (4)
          ALTER TABLE Z_3TAGS RENAME COLUMN Z_2BOOKS TO Z_3BOOKS1
          ALTER TABLE Z_3TAGS RENAME COLUMN Z_4TAGS TO Z_5TAGS
          UPDATE Z_PRIMARYKEY SET Z_ENT = -Z_ENT WHERE Z_ENT < 16000
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (1, :v0, 0, 0) [:v0 text("Atlas")]
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (2, :v0, 0, ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -1), 0)) [:v0 text("Author")]
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (3, :v0, 0, ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -2), 0)) [:v0 text("Book")]
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (4, :v0, 0, ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -3), 0)) [:v0 text("Draft")]
          INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (5, :v0, 0, ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -4), 0)) [:v0 text("Tag")]
          DELETE FROM Z_PRIMARYKEY WHERE Z_ENT < 0
          PRAGMA writable_schema = ON
          UPDATE sqlite_master SET name = CASE name WHEN :v0 THEN :v1 END, sql = CASE name WHEN :v0 THEN :v2 END WHERE type = 'index' AND name IN (:v0) [:v0 text("Z_2TAGS_Z_4TAGS_INDEX"), :v1 text("Z_3TAGS_Z_5TAGS_INDEX"), :v2 text("CREATE INDEX Z_3TAGS_Z_5TAGS_INDEX ON Z_3TAGS (Z_5TAGS, Z_3BOOKS1)")]
          PRAGMA writable_schema = RESET
          CREATE TABLE ferry_2 (x)
          DROP TABLE ferry_2
          CREATE INDEX Z_2BOOKS_Z_3BOOKS_INDEX ON Z_2BOOKS (Z_3BOOKS, Z_2AUTHORS)
        written
          ZATLAS
          ZAUTHOR
          ZBOOK
          ZDRAFT
          ZTAG
          Z_2BOOKS

        """

    @Test("computes new values of rows from the columns of the store")
    func computes() throws {
        let book = Entity(
            name: "Volume", attributes: [Self.number("length", .double, id: "pages"), Self.text("title")],
            relationships: [Self.many("tags", "Tag", inverse: "books")], renamingIdentifier: "Book")
        let tag = Entity(
            name: "Tag", attributes: [Self.text("name")], relationships: [Self.many("books", "Volume", inverse: "tags")]
        )
        let (_, make) = try Self.plan([book, tag])
        let computations = try make().moves.computations
        #expect(computations.map(\.entity) == ["Book"])
        #expect(computations.map(\.rows) == ["main.ZBOOK WHERE Z_PK > :low AND Z_PK <= :high AND Z_ENT = 2"])
        #expect(
            computations.flatMap { $0.columns.map { "\($0.property): \($0.sql)" } } == [
                "length: ferry_to_double(ZPAGES)"
            ])
    }
}
