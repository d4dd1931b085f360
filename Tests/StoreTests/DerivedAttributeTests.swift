import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

@Suite("Derived attributes")
struct DerivedAttributeTests {
    /// Returns a model in which books, some of them novels, have pages, tags and a label; `entity` has a derived
    /// attribute.
    private func model(
        derivation: String, type: AttributeType = .integer64, on entity: String = "Book"
    ) -> ManagedObjectModel {
        let derived = Attribute(name: "derived", type: type, isOptional: true, derivationExpression: derivation)
        func many(_ name: String, _ destination: String, _ inverse: String) -> Relationship {
            Relationship(
                name: name, destinationEntity: destination, inverseName: inverse, inverseEntity: destination,
                isOptional: true, maxCount: 0)
        }
        func one(_ name: String, _ destination: String, _ inverse: String) -> Relationship {
            Relationship(
                name: name, destinationEntity: destination, inverseName: inverse, inverseEntity: destination,
                isOptional: true)
        }
        let number = Attribute(name: "number", type: .integer64, isOptional: true)
        return ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "Book",
                    attributes: [Attribute(name: "title", type: .string, isOptional: true)]
                        + (entity == "Book" ? [derived] : []),
                    relationships: [
                        many("pages", "Page", "book"), many("tags", "Tag", "books"), one("label", "Label", "books"),
                        Relationship(name: "notes", destinationEntity: "Page", isOptional: true, maxCount: 0),
                        many("similar", "Book", "similar"),
                    ]),
                Entity(name: "Label", attributes: [number], relationships: [many("books", "Book", "label")]),
                Entity(name: "Novel", superentity: "Book", attributes: entity == "Novel" ? [derived] : []),
                Entity(name: "Page", attributes: [number], relationships: [one("book", "Book", "pages")]),
                Entity(name: "Tag", attributes: [number], relationships: [many("books", "Book", "tags")]),
            ])
    }

    /// The changes of an app: objects are inserted, changed, related again and deleted.
    ///
    /// Book is 1, Label 3, Novel 2, Page 4, Tag 5.
    private static let changes = [
        "INSERT INTO ZPAGE (Z_PK, Z_ENT, ZBOOK, ZNUMBER) VALUES (1, 4, 2, 10), (2, 4, NULL, 20)",
        "INSERT INTO ZLABEL (Z_PK, Z_ENT, ZNUMBER) VALUES (1, 3, 7)",
        "INSERT INTO ZBOOK (Z_PK, Z_ENT, ZTITLE, ZLABEL) VALUES (1, 1, 'a', 1), (2, 2, NULL, 2), (3, 2, 'c', NULL)",
        "INSERT INTO ZLABEL (Z_PK, Z_ENT, ZNUMBER) VALUES (2, 3, 8)",
        "INSERT INTO ZPAGE (Z_PK, Z_ENT, ZBOOK, ZNUMBER) VALUES (3, 4, 1, 30), (4, 4, 1, NULL), (5, 4, 1, 50)",
        "INSERT INTO ZTAG (Z_PK, Z_ENT, ZNUMBER) VALUES (1, 5, 100), (2, 5, 200), (3, 5, NULL)",
        "INSERT INTO Z_1TAGS (Z_1BOOKS, Z_5TAGS) VALUES (1, 1), (1, 2), (2, 2), (2, 3), (3, 1)",
        "INSERT OR REPLACE INTO Z_1TAGS (Z_1BOOKS, Z_5TAGS) VALUES (1, 1)",
        "UPDATE ZPAGE SET ZBOOK = 2, Z1NOTES = 1 WHERE Z_PK = 3", "UPDATE ZPAGE SET ZBOOK = NULL WHERE Z_PK = 4",
        "UPDATE ZPAGE SET Z1NOTES = 3", "UPDATE ZPAGE SET ZNUMBER = 11 WHERE Z_PK = 1",
        "UPDATE ZBOOK SET ZTITLE = 'b', ZLABEL = 1 WHERE Z_PK = 2", "UPDATE ZBOOK SET ZLABEL = NULL WHERE Z_PK = 1",
        "UPDATE ZLABEL SET ZNUMBER = 9", "UPDATE ZTAG SET ZNUMBER = 201 WHERE Z_PK = 2",
        "UPDATE Z_1TAGS SET Z_1BOOKS = 3 WHERE Z_1BOOKS = 2 AND Z_5TAGS = 3",
        "DELETE FROM ZPAGE WHERE Z_PK IN (2, 5)", "DELETE FROM Z_1TAGS WHERE Z_1BOOKS = 1 AND Z_5TAGS = 1",
    ]

    struct Example: Sendable, CustomTestStringConvertible {
        var derivation: String
        var type = AttributeType.integer64
        /// The final values of the books 1, 2 and 3.
        var values: [Value]
        var testDescription: String { derivation }
    }

    static let examples: [Example] = [
        Example(derivation: "pages.@count", values: [.integer(0), .integer(2), .integer(0)]),
        Example(derivation: "pages.number.@sum", values: [.integer(0), .integer(41), .integer(0)]),
        Example(derivation: "pages.@sum.number", values: [.integer(0), .integer(41), .integer(0)]),
        Example(derivation: "notes.@count", values: [.integer(0), .integer(0), .integer(3)]),
        Example(derivation: "tags.@count", values: [.integer(1), .integer(1), .integer(2)]),
        Example(derivation: "tags.number.@sum", values: [.integer(201), .integer(201), .integer(100)]),
        Example(derivation: "label.number", values: [.null, .integer(9), .null]),
        Example(derivation: "title", type: .string, values: [.text("a"), .text("b"), .text("c")]),
    ]

    @Test("The triggers keep a value correct, and the statement computes the same value", arguments: examples)
    func values(_ example: Example) throws {
        let store = try StoreBuilder(model(derivation: example.derivation, type: example.type))
        for change in Self.changes { try store.execute(change) }
        try expect(example.values, in: store)
    }

    @Test("A subentity's value does not change other objects of its table", arguments: examples)
    func subentity(_ example: Example) throws {
        let store = try StoreBuilder(model(derivation: example.derivation, type: example.type, on: "Novel"))
        for change in Self.changes { try store.execute(change) }
        try expect([.null] + example.values.dropFirst(), in: store)
    }

    private func expect(_ values: [Value], in store: StoreBuilder) throws {
        let all = "SELECT ZDERIVED FROM ZBOOK ORDER BY Z_PK"
        #expect(try store.connection.rows(all).map { $0[0] } == values)
        let value = try #require(store.layout.derivedValues.first)
        let numbers = value.entityNumbers.map(String.init).joined(separator: ", ")
        try store.execute("UPDATE ZBOOK SET ZDERIVED = 99 WHERE Z_ENT IN (\(numbers))")
        let update = try store.connection.prepare(value.update)
        try update.bind(.integer(0), named: ":low")
        try update.bind(.integer(9), named: ":high")
        try update.run()
        #expect(try store.connection.rows(all).map { $0[0] } == values)
    }

    @Test("Every save sets the time of saving, and nothing else does")
    func timeOfSaving() throws {
        let store = try StoreBuilder(model(derivation: "now()", type: .date))
        #expect(store.layout.derivedValues.isEmpty)
        #expect(
            store.layout.triggers.map(\.name) == ["Z_DA_ZBOOK_Book_derived_INSERT", "Z_DA_ZBOOK_Book_derived_UPDATE"])
        try store.execute(
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 2, 1)",
            "UPDATE ZBOOK SET ZDERIVED = NULL", "UPDATE ZBOOK SET ZTITLE = 'x'",
            "UPDATE ZBOOK SET ZTITLE = 'y', Z_OPT = Z_OPT + 1 WHERE Z_PK = 2")
        #expect(
            try store.connection.rows("SELECT ZDERIVED FROM ZBOOK").map { $0[0] } == [
                .null, .real(StoreBuilder.savingTime),
            ])
    }

    @Test(
        "A derivation that Ferry's triggers could not keep correct is refused",
        arguments: [
            "canonical:(title)", "lowercase:(label.number)", "label.books.@count", "pages.@max.number", "title",
            "similar.@count", "pages.book.label.number", "label.number.length", "unknown",
        ])
    func refused(derivation: String) throws {
        // `title` is a string, and the attribute a number.
        let refusals = StoreLayout.refusals(for: model(derivation: derivation))
        #expect(refusals.map(\.code) == [.unsupported])
        #expect(refusals.first?.place.property == "derived")
    }

    @Test("A derivation is read in each form of files and archives")
    func forms() {
        #expect(Derivation("author.name") == .value(path: ["author", "name"]))
        #expect(Derivation(" canonical:( author.name )") == .function("canonical:", path: ["author", "name"]))
        #expect(Derivation("count:(pages)") == Derivation("pages.@count"))
        #expect(Derivation("sum:(pages.number)") == .sum(relationship: "pages", attribute: "number"))
        #expect(Derivation("now()") == .now)
        for unknown in ["", "@count", "pages.@avg.number", "a..b", "f(a)", "a + b", "pages.@count.x", "()"] {
            #expect(Derivation(unknown) == nil, "\(unknown)")
        }
    }
}
