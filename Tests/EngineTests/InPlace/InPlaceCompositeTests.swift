import FerryBase
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// Composite attributes, whose elements are columns of their own.
@Suite("Composites, in place")
struct InPlaceCompositeTests {
    private func model(_ attributes: [Attribute], _ composites: [String: [Attribute]]) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [""], entities: [.made("Person", [.text("name")] + attributes)], composites: composites)
    }

    private func composite(_ name: String, _ type: String, id: String? = nil) -> Attribute {
        Attribute(name: name, type: .composite, isOptional: true, compositeName: type, renamingIdentifier: id)
    }

    private let rows = [
        "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNORTH, ZCITY, ZNAME) VALUES (1, 1, 1, 47.5, 'a', 'b')",
        "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNORTH, ZCITY, ZNAME) VALUES (2, 1, 1, NULL, NULL, NULL)",
    ]

    @Test("Elements are carried over one by one, also renamed and nested ones")
    func elements() throws {
        let source = model(
            [composite("home", "Address")],
            ["Address": [.text("city"), composite("place", "Point")], "Point": [.number("north", .double)]])
        let target = model(
            [composite("address", "Address", id: "home")],
            [
                "Address": [.text("town", id: "city"), composite("spot", "Point", id: "place"), .text("street")],
                "Point": [.number("north", .double), .number("east", .double)],
            ])
        let result = try InPlaceStep(source, target, rows: rows).compare()
        #expect(
            try result.rows("SELECT ZNORTH, ZEAST, ZTOWN, ZSTREET, ZNAME FROM ZPERSON ORDER BY Z_PK") == [
                [.real(47.5), .null, .text("a"), .null, .text("b")], [.null, .null, .null, .null, .null],
            ])
    }

    @Test("An element whose new type has no conversion is refused")
    func types() throws {
        let source = model([composite("home", "Address")], ["Address": [.text("city")]])
        let target = model([composite("home", "Address")], ["Address": [.number("city", .binary)]])
        let error = #expect(throws: FerryError.self) { try InPlaceStep.plan(source, target) }
        #expect(error?.message.contains("home.city") == true, "\(error?.message ?? "")")
    }

    @Test(
        "The composites of a real store are carried over, in place and copied",
        .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
    func realStore() throws {
        let folder = try TemporaryFolder()
        let store = try #require(Fixtures.stores.first { $0.hasPrefix("nomodel-metacocktails-swiftdata") })
        let connection = try Connection(path: Fixtures.copyStore(store, into: folder), mode: .readWrite)
        var version = try #require(
            try FixtureModels.version(
                of: store, on: connection, metadata: try StoreMetadata.read(from: connection)))
        (version.name, version.path) = ("Model", "")
        let model = version.model
        let renumbered = ManagedObjectModel(
            versionIdentifiers: [], entities: model.entities.values + [.made("Aardvark", [.text("name")])],
            composites: model.composites)
        let step = try InPlaceStep.plan(version, ModelVersion(of: renumbered, name: "Model 2"))
        let (inPlace, copied) = try InPlaceStep.bothWays(step, from: connection.path, in: folder)
        let texts = [try StoreRows.text(inPlace), try StoreRows.text(copied)]
        #expect(texts[0] == texts[1])
        let layout = try StoreLayout.actual(for: model, on: connection)
        let composites = layout.attributeColumns.keys.filter { $0.property.contains(".") }
        #expect(!composites.isEmpty)
        for key in composites {
            let (table, column) = (
                try #require(layout.table(of: key.entity)).name, layout.attributeColumns[key]?.name ?? ""
            )
            let query = "SELECT Z_PK, \(column) FROM \(table) ORDER BY Z_PK"
            #expect(try copied.rows(query) == connection.rows(query), "\(key)")
        }
    }
}
