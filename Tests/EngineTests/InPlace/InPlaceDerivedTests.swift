import FerryEngine
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// What follows from the rows of a store: derived attributes, in place and in a copy.
@Suite("Derived attributes, in place")
struct InPlaceDerivedTests {
    private func derived(_ name: String, _ text: String, _ type: AttributeType = .integer64) -> Attribute {
        Attribute(name: name, type: type, isOptional: true, derivationExpression: text)
    }

    private func model(
        book: [Attribute], page: [Attribute] = [.number("words")], first: Entity? = nil, label: String = "Label"
    ) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [""],
            entities: [
                .made(
                    "Book", [.text("title")] + book,
                    [
                        .many("pages", "Page", inverse: "book"), .one("label", label, inverse: nil),
                        .many("tags", "Tag", inverse: "books"),
                    ]), .made(label, id: "Label", [.number("code")]),
                .made("Page", page, [.one("book", "Book", inverse: "pages")]),
                .made("Tag", [.number("weight", .double)], [.many("books", "Book", inverse: "tags")]),
            ] + (first.map { [$0] } ?? []))
    }

    private let rows = [
        "INSERT INTO ZLABEL (Z_PK, Z_ENT, Z_OPT, ZCODE) VALUES (1, 2, 1, 70)",
        "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZWEIGHT) VALUES (1, 4, 1, 1.5), (2, 4, 1, 2.5)",
        "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZLABEL) VALUES (1, 1, 1, 'a', 1), (2, 1, 1, 'b', NULL)",
        "INSERT INTO ZPAGE (Z_PK, Z_ENT, Z_OPT, ZWORDS, ZBOOK) VALUES (1, 3, 1, 10, 1), (2, 3, 1, 20, 1)",
        "INSERT INTO Z_1TAGS (Z_1BOOKS, Z_4TAGS) VALUES (1, 1), (1, 2), (2, 1)",
    ]

    private var all: [Attribute] {
        [
            derived("code", "label.code", .integer32), derived("count", "pages.@count"),
            derived("sum", "pages.words.@sum"), derived("weight", "tags.weight.@sum", .double),
            derived("tagged", "tags.@count"), derived("same", "title", .string), derived("saved", "now()", .date),
        ]
    }

    private func values(_ connection: Connection) throws -> [[Value]] {
        try connection.rows(
            "SELECT ZCODE, ZCOUNT, ZSUM, ZWEIGHT, ZTAGGED, ZSAME, ZSAVED FROM ZBOOK ORDER BY Z_PK")
    }

    private func expected(saved: Value) -> [[Value]] {
        [
            [.integer(70), .integer(2), .integer(30), .real(4), .integer(2), .text("a"), saved],
            [.null, .integer(0), .integer(0), .real(1.5), .integer(1), .text("b"), saved],
        ]
    }

    @Test("New derived attributes get their values and triggers; when an object was saved is not known")
    func added() throws {
        let step = try InPlaceStep(model(book: []), model(book: all), rows: rows)
        let result = try step.compare()
        #expect(try values(result) == expected(saved: .null))
        let triggers = try result.integer("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")
        #expect(triggers == Int64(try StoreLayout.canonical(for: model(book: all)).triggers.count))
        // They keep the values right under the names and numbers that are new.
        try StoreBuilder.registerCoreDatasFunctions(on: result)
        try result.execute(
            "UPDATE ZPAGE SET ZBOOK = 2, ZWORDS = 5 WHERE Z_PK = 2; DELETE FROM Z_1TAGS WHERE Z_4TAGS = 2;"
                + "UPDATE ZLABEL SET ZCODE = 71; UPDATE ZBOOK SET ZTITLE = 'c', Z_OPT = 2 WHERE Z_PK = 1")
        #expect(
            try values(result) == [
                [
                    .integer(71), .integer(1), .integer(10), .real(1.5), .integer(1), .text("c"),
                    .real(StoreBuilder.savingTime),
                ], [.null, .integer(1), .integer(5), .real(1.5), .integer(1), .text("b"), .null],
            ])
        // The files go with the step.
        withExtendedLifetime(step) {}
    }

    @Test("Values and triggers stay right when names and numbers change")
    func renamed() throws {
        let target = model(
            book: all, page: [.number("length", id: "words")], first: .made("Atlas", [.text("name")]), label: "Marker")
        var changed = target
        changed = ManagedObjectModel(
            versionIdentifiers: [""],
            entities: target.entities.values.map { entity in
                guard entity.name == "Book" else { return entity }
                var book = entity
                book.attributes = book.attributes.map {
                    $0.name == "sum" ? derived("sum", "pages.length.@sum") : $0
                }
                return book
            })
        let result = try InPlaceStep(model(book: all), changed, rows: rows).compare()
        #expect(try values(result) == expected(saved: .real(StoreBuilder.savingTime)))
        let triggers = try result.rows("SELECT sql FROM sqlite_master WHERE type = 'trigger'").map { $0[0].text }
        #expect(Set(triggers) == Set(try StoreLayout.canonical(for: changed).triggers.map(\.sql)))
    }

    @Test("What decides about no value is not computed again")
    func untouched() throws {
        let target = model(book: all, first: .made("Zebra", [.text("name")]))
        let step = try InPlaceStep(model(book: all), target, rows: rows)
        let statements = try InPlaceRun.plan(step.step, on: step.store.connection).statements.map(\.sql)
        #expect(!statements.contains { $0.contains("UPDATE main.ZBOOK") })
        #expect(try values(step.compare()) == expected(saved: .real(StoreBuilder.savingTime)))
    }
}
