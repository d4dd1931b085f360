import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

@Suite("Derived attributes")
struct DerivedAttributeTests {
    private func model(derivation: String, isManyToMany: Bool = false) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "Book",
                    attributes: [
                        Attribute(name: "derived", type: .integer64, isOptional: true, derivationExpression: derivation)
                    ],
                    relationships: [
                        Relationship(
                            name: "pages", destinationEntity: "Page", inverseName: "book", inverseEntity: "Page",
                            isOptional: true, maxCount: 0)
                    ]), Entity(name: "Novel", superentity: "Book"),
                Entity(
                    name: "Page", attributes: [Attribute(name: "number", type: .integer32, isOptional: true)],
                    relationships: [
                        Relationship(
                            name: "book", destinationEntity: "Book", inverseName: "pages", inverseEntity: "Book",
                            isOptional: true, maxCount: isManyToMany ? 0 : 1)
                    ]),
            ])
    }

    @Test("The triggers keep a count right, and the statement computes the same")
    func count() throws {
        let store = try StoreBuilder(model(derivation: "pages.@count"))
        // The functions that only Core Data has, doing nothing.
        for name in [
            "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
        ] {
            try store.connection.register(name, arguments: 5, deterministic: false, access: .schema) { _, result in
                result.setNull()
            }
        }
        try store.execute(
            "INSERT INTO ZPAGE (Z_PK, Z_ENT, ZBOOK) VALUES (1, 3, 2), (2, 3, NULL)",
            "INSERT INTO ZBOOK (Z_PK, Z_ENT) VALUES (1, 1), (2, 2)",
            "INSERT INTO ZPAGE (Z_PK, Z_ENT, ZBOOK) VALUES (3, 3, 1), (4, 3, 1), (5, 3, 1), (6, 3, 1)",
            "UPDATE ZPAGE SET ZBOOK = 2 WHERE Z_PK = 3", "UPDATE ZPAGE SET ZBOOK = NULL WHERE Z_PK = 4",
            "DELETE FROM ZPAGE WHERE Z_PK = 5")
        let counts = "SELECT Z_PK, ZDERIVED FROM ZBOOK ORDER BY Z_PK"
        let kept = try store.connection.rows(counts)
        #expect(kept == [[.integer(1), .integer(1)], [.integer(2), .integer(2)]])
        try store.execute("UPDATE ZBOOK SET ZDERIVED = 99")
        let value = try #require(store.layout.derivedValues.first)
        let update = try store.connection.prepare(value.update())
        try update.bind(.integer(0), named: ":low")
        try update.bind(.integer(9), named: ":high")
        try update.run()
        #expect(try store.connection.rows(counts) == kept)
    }

    @Test(
        "A derivation whose triggers are not known is refused",
        arguments: [
            ("pages.number.@sum", false), ("pages.@count", true), ("canonical:(name)", false), ("now()", false),
        ])
    func refused(derivation: String, isManyToMany: Bool) throws {
        let refusals = StoreLayout.refusals(for: model(derivation: derivation, isManyToMany: isManyToMany))
        #expect(refusals.map(\.code) == [.unsupported])
        #expect(refusals.first?.place.property == "derived")
    }
}
