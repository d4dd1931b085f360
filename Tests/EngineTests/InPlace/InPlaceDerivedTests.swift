import FerryBase
import FerryEngine
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// Values that follow from the rows of a store: derived attributes, in place and in a copy.
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

    @Test("New derived attributes get their values and triggers; the time of the last save is unknown")
    func added() throws {
        let step = try InPlaceStep(model(book: []), model(book: all), rows: rows)
        let result = try step.compare()
        #expect(try values(result) == expected(saved: .null))
        let triggers = try result.integer("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")
        #expect(triggers == Int64(try StoreLayout.canonical(for: model(book: all)).triggers.count))
        // The triggers keep the values correct under the new names and numbers.
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
        // The step owns the files.
        withExtendedLifetime(step) {}
    }

    @Test("Values and triggers stay correct when names and numbers change")
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

    @Test("A change that affects no value computes none again")
    func untouched() throws {
        let target = model(book: all, first: .made("Zebra", [.text("name")]))
        let step = try InPlaceStep(model(book: all), target, rows: rows)
        let statements = try StepPlanning(step.step, on: step.store.connection).program().statements.map(
            \.sql.text)
        #expect(!statements.contains { $0.contains("UPDATE main.ZBOOK") })
        #expect(try values(step.compare()) == expected(saved: .real(StoreBuilder.savingTime)))
    }

    // MARK: R-Trees

    private func places(
        _ attributes: [Attribute], index: [String], name: String = "byPlace", first: Entity? = nil
    ) -> ManagedObjectModel {
        let place = Entity.made(
            "Place", attributes,
            indexes: [
                FetchIndex(name: name, elements: index.map { FetchIndex.Element(property: $0, kind: .rtree) })
            ])
        return ManagedObjectModel(versionIdentifiers: [""], entities: [place] + (first.map { [$0] } ?? []))
    }

    private let coordinates: [Attribute] = [.number("latitude", .double), .number("longitude", .double)]
    /// Triggers may write R-Trees only with a trusted schema, as on an app's own connection.
    private static let trust = "PRAGMA trusted_schema = ON"
    private let placeRows = [
        trust,
        "INSERT INTO ZPLACE (Z_PK, Z_ENT, Z_OPT, ZLATITUDE, ZLONGITUDE) VALUES (1, 1, 1, 1, 2), (2, 1, 1, 3, NULL)",
        "INSERT INTO ZPLACE (Z_PK, Z_ENT, Z_OPT, ZLATITUDE, ZLONGITUDE) VALUES (3, 1, 1, 5, 6), (4, 1, 1, 7, 8)",
        "UPDATE ZPLACE SET ZLATITUDE = NULL WHERE Z_PK = 4", "UPDATE ZPLACE SET ZLONGITUDE = 4 WHERE Z_PK = 2",
        "DELETE FROM ZPLACE WHERE Z_PK = 3",
    ]

    @Test("An R-Tree is kept while its rows stay, and rebuilt under new names")
    func rTrees() throws {
        let source = places(coordinates, index: ["latitude", "longitude"])
        let kept = try InPlaceStep(
            source, places(coordinates + [.text("name")], index: ["latitude", "longitude"]), rows: placeRows)
        let entries = "SELECT Z_PK, ZLATITUDE_MIN, ZLONGITUDE_MAX FROM Z_Place_byPlace ORDER BY Z_PK"
        let expected: [[Value]] = [[.integer(1), .real(1), .real(2)], [.integer(2), .real(3), .real(4)]]
        #expect(try kept.store.connection.rows(entries) == expected)
        #expect(try kept.compare().rows(entries) == expected)
        let statements = try StepPlanning(kept.step, on: kept.store.connection).program().statements.map(
            \.sql.text)
        #expect(!statements.contains { $0.contains("byPlace") && !$0.contains("TRIGGER") })

        let renamed = try InPlaceStep(
            source,
            places(
                [.number("north", .double, id: "latitude"), .number("longitude", .double)],
                index: ["north", "longitude"], name: "where", first: .made("Atlas", [.text("title")])), rows: placeRows)
        let result = try renamed.compare()
        let query = "SELECT Z_PK, ZNORTH_MIN, ZLONGITUDE_MAX FROM Z_Place_where ORDER BY Z_PK"
        #expect(try result.rows(query) == expected)
        #expect(try result.integer("SELECT 1 FROM sqlite_master WHERE name LIKE '%byPlace%'") == nil)
        try result.execute(Self.trust)
        try result.execute("UPDATE ZPLACE SET ZNORTH = 9 WHERE Z_PK = 4; DELETE FROM ZPLACE WHERE Z_PK = 1")
        #expect(try result.rows("SELECT Z_PK FROM Z_Place_where ORDER BY Z_PK") == [[.integer(2)], [.integer(4)]])
        #expect(try result.value("SELECT rtreecheck('Z_Place_where')") == .text("ok"))
        withExtendedLifetime((kept, renamed)) {}
    }

    @Test(
        "An R-Tree over other columns than a few numbers is refused",
        arguments: [["name"], [], ["latitude", "latitude"]])
    func refused(properties: [String]) {
        let index = properties.isEmpty ? ["unknown"] : properties
        let refusals = StoreLayout.refusals(for: places(coordinates + [.text("name")], index: index))
        #expect(refusals.map(\.code) == [.unsupported])
    }
}
