import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

struct ActualLayoutTests {
    @Test("A renamed entity is found by its renaming identifier, else by its position")
    func renamedEntity() throws {
        let store = try StoreBuilder(LayoutRulesTests.shelves)
        try store.execute("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Tale' WHERE Z_NAME = 'Novel'")
        var entities = Array(LayoutRulesTests.shelves.entities.values)
        let model = ManagedObjectModel(versionIdentifiers: [], entities: entities)
        #expect(try StoreLayout.actual(for: model, on: store.connection).entityNumbers == store.layout.entityNumbers)

        try store.execute(
            "UPDATE Z_PRIMARYKEY SET Z_ENT = 90 WHERE Z_NAME = 'Tale'", "ALTER TABLE ZNOTE RENAME Z3NOTES TO Z90NOTES")
        let novel = try #require(entities.firstIndex { $0.name == "Novel" })
        entities[novel].renamingIdentifier = "Tale"
        let renamed = ManagedObjectModel(versionIdentifiers: [], entities: entities)
        let layout = try StoreLayout.actual(for: renamed, on: store.connection)
        #expect(layout.entityNumbers["Novel"] == 90)
        #expect(layout.storage(of: "notes", in: "Novel") == .inverseless(table: "ZNOTE", column: "Z90NOTES"))
    }

    @Test("Names that migrations in place leave behind are found")
    func leftovers() throws {
        let store = try StoreBuilder(LayoutRulesTests.shelves)
        try store.execute(
            "ALTER TABLE ZBOOK ADD COLUMN ZOLD VARCHAR", "ALTER TABLE ZBOOK RENAME ZTITLE TO ZTITLE1",
            "ALTER TABLE ZNOTE RENAME Z2_ABOUT TO Z9_ABOUT", "DROP TABLE Z_1BOOKS",
            "CREATE TABLE Z_2AUTHORS (Z_2BOOKS1 INTEGER, Z_1AUTHORS INTEGER, Z_FOK_1AUTHORS INTEGER, "
                + "PRIMARY KEY (Z_2BOOKS1, Z_1AUTHORS))",
            "CREATE TABLE ZGONE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)",
            "CREATE TABLE Z_2GONE (Z_2A INTEGER, Z_3B INTEGER, PRIMARY KEY (Z_2A, Z_3B))",
            "CREATE TABLE notes (text)", "CREATE VIEW v AS SELECT 1")
        let layout = try StoreLayout.actual(for: LayoutRulesTests.shelves, on: store.connection)
        #expect(layout.column(of: "title", in: "Book")?.name == "ZTITLE1")
        #expect(layout.tables["Book"]?.columns.map(\.name).contains("ZOLD") == true)
        #expect(
            layout.storage(of: "about", in: "Note")
                == .foreignKey(table: "ZNOTE", column: "ZABOUT", entityColumn: "Z9_ABOUT", orderColumn: nil))
        #expect(
            layout.storage(of: "authors", in: "Book")
                == .join(
                    table: "Z_2AUTHORS", own: "Z_2BOOKS1", other: "Z_1AUTHORS", otherOrder: "Z_FOK_1AUTHORS",
                    ownOrder: nil))
        let objects = StoreObjects(try StoreCatalog(store.connection), layout: layout)
        #expect(objects.leftoverTables == ["ZGONE", "Z_2GONE"])
        #expect(objects.unknownObjects == ["notes", "v"])
    }

    @Test("A computed name has precedence over a similar one")
    func similarNames() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "E",
                    attributes: [Attribute(name: "value", type: .string), Attribute(name: "value1", type: .string)])
            ])
        let layout = try StoreLayout.actual(for: model, on: StoreBuilder(model).connection)
        #expect(layout.column(of: "value", in: "E")?.name == "ZVALUE")
        #expect(layout.column(of: "value1", in: "E")?.name == "ZVALUE1")
    }

    @Test(
        "A missing part is named with its table and property",
        arguments: [
            ("DROP TABLE ZSHELF", "Shelf", nil, "ZSHELF"),
            ("ALTER TABLE ZNOTE DROP COLUMN Z2_ABOUT", "Note", "about", "ZNOTE"),
            (
                "DROP INDEX Z_Book_UNIQUE_title_shelf; DROP INDEX Z_Book_title; DROP INDEX Z_Novel_title; "
                    + "ALTER TABLE ZBOOK DROP COLUMN ZTITLE", "Book", "title", "ZBOOK"
            ),
            ("DROP TABLE Z_1BOOKS", "Author", "books", "Z_1BOOKS"),
        ] as [(String, String, String?, String)])
    func missing(_ sql: String, _ entity: String, _ property: String?, _ table: String) throws {
        let store = try StoreBuilder(LayoutRulesTests.shelves)
        try store.execute(sql)
        let error = #expect(throws: FerryError.self) {
            try StoreLayout.actual(for: LayoutRulesTests.shelves, on: store.connection)
        }
        #expect(error?.code == .damagedSource)
        #expect(error?.place.entity == entity)
        #expect(error?.place.property == property)
        #expect(error?.message.contains(table) == true)
    }
}
