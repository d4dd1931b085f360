import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

struct StoreDamageTests {
    /// Makes one author with portrait and one book on a shelf, related to each other, without damage.
    private func soundStore() throws -> StoreBuilder {
        let store = try StoreBuilder(
            LayoutRulesTests.shelves, maximumKeys: ["Author": 1, "Book": 2, "Note": 1, "Portrait": 1, "Shelf": 1])
        try store.execute(
            "INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT) VALUES (1, 6, 1)",
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZSHELF, Z_FOK_SHELF) VALUES (1, 2, 1, 'a', 1, 2048), "
                + "(2, 3, 1, 'b', 1, 3072)", "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZPORTRAIT) VALUES (1, 1, 1, 1)",
            "INSERT INTO ZPORTRAIT (Z_PK, Z_ENT, Z_OPT, ZAUTHOR) VALUES (1, 5, 1, 1)",
            "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZABOUT, Z2_ABOUT, Z3NOTES) VALUES (1, 4, 1, 1, 2, 2)",
            "INSERT INTO Z_1BOOKS VALUES (1, 1, 2048)")
        return store
    }

    @Test("A valid store has no damage")
    func sound() throws {
        let store = try soundStore()
        #expect(try StoreDamage.scan(store.layout, on: store.connection) == [])
        let inspection = try StoreInspection(of: store.layout, on: store.connection)
        #expect(inspection.soundTables.contains("ZBOOK"))
        #expect(try StoreDamage.scan(store.layout, on: store.connection, inspection: inspection) == [])
    }

    @Test(
        "Each kind of damage is found and counted",
        arguments: [
            ("UPDATE ZBOOK SET ZSHELF = 9", DamageKind.danglingKey, "Book", "shelf", 2),
            ("UPDATE ZNOTE SET Z3NOTES = 9", .danglingKey, "Novel", "notes", 1),
            ("UPDATE ZNOTE SET Z3NOTES = 1.5", .danglingKey, "Novel", "notes", 1),
            ("INSERT INTO Z_2SIMILAR VALUES (1.5, 1)", .danglingKey, "Book", "similar", 1),
            ("INSERT INTO Z_1BOOKS VALUES (1, 7, 0), (8, 1, 0)", .danglingKey, "Author", "books", 2),
            ("INSERT INTO Z_1BOOKS VALUES (1, NULL, 0), (NULL, 1, 0)", .danglingKey, "Author", "books", 2),
            ("INSERT INTO Z_2SIMILAR VALUES (1, 7)", .danglingKey, "Book", "similar", 1),
            ("UPDATE ZPORTRAIT SET ZAUTHOR = NULL", .oneSidedInverse, "Author", "portrait", 1),
            ("UPDATE ZAUTHOR SET ZPORTRAIT = NULL", .oneSidedInverse, "Portrait", "author", 1),
            ("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 2", .missingValue, "Book", "title", 1),
            ("UPDATE ZBOOK SET ZSHELF = NULL WHERE Z_PK = 2", .missingValue, "Book", "shelf", 1),
            ("UPDATE ZSHELF SET Z_ENT = 2; UPDATE ZBOOK SET ZSHELF = NULL", .unknownEntity, "Shelf", nil, 1),
            (
                "UPDATE ZAUTHOR SET Z_ENT = NULL, ZPORTRAIT = NULL; UPDATE ZPORTRAIT SET ZAUTHOR = NULL; "
                    + "DELETE FROM Z_1BOOKS", .unknownEntity, "Author", nil, 1
            ),
            // The row exists, but its entity is a sibling of the declared one.
            ("UPDATE ZNOTE SET Z3NOTES = 1", .danglingKey, "Novel", "notes", 1),
            ("UPDATE ZNOTE SET Z2_ABOUT = 3", .wrongEntity, "Note", "about", 1),
            ("UPDATE ZNOTE SET Z2_ABOUT = NULL", .wrongEntity, "Note", "about", 1),
            ("UPDATE ZBOOK SET Z_FOK_SHELF = NULL", .missingOrder, "Book", "shelf", 2),
            ("UPDATE ZBOOK SET Z_FOK_SHELF = x'31'", .wrongOrder, "Book", "shelf", 2),
            ("UPDATE ZBOOK SET Z_FOK_SHELF = 1.5 WHERE Z_PK = 2", .wrongOrder, "Book", "shelf", 1),
            ("UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Book'", .lowMaximumKey, "Book", nil, 1),
        ] as [(String, DamageKind, String, String?, Int64)])
    func kinds(_ sql: String, _ kind: DamageKind, _ entity: String, _ property: String?, _ rows: Int64) throws {
        let store = try soundStore()
        try store.execute(sql)
        // Known counts save look-ups, and do not change the result.
        for inspection in [nil, try StoreInspection(of: store.layout, on: store.connection)] {
            var found = try StoreDamage.scan(store.layout, on: store.connection, inspection: inspection)
            // A mandatory relationship that is empty is told beside what emptied it.
            if kind != .missingValue { found.removeAll { $0.kind == .missingValue } }
            #expect(found.map(\.kind) == [kind])
            #expect(found.map(\.entity) == [entity])
            #expect(found.map(\.property) == [property])
            #expect(found.map(\.rows) == [rows])
        }
    }

    @Test("Counts are exact, and estimates near for a large table")
    func counting() throws {
        let store = try soundStore()
        try store.execute(
            "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 60009) "
                + "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) SELECT i, 2 + (i % 3 = 0), 1 FROM n")
        let exact = try StoreInspection(of: store.layout, on: store.connection)
        let rows = Dictionary(uniqueKeysWithValues: exact.entities.map { ($0.name, $0.rows ?? 0) })
        #expect(rows == ["Author": 1, "Book": 40_001, "Novel": 20_001, "Note": 1, "Portrait": 1, "Shelf": 1])
        #expect(exact.entities.allSatisfy { !$0.isEstimated })
        #expect(exact.joinTables.map(\.rows) == [1, 0])
        let estimated = try StoreInspection(of: store.layout, on: store.connection, counting: .estimated)
        for entity in estimated.entities {
            #expect(entity.isEstimated == (entity.table == "ZBOOK"))
            let difference = abs((entity.rows ?? 0) - (rows[entity.name] ?? 0))
            #expect(difference <= (entity.isEstimated ? 3_000 : 0), "\(entity.name)")
        }
    }

    @Test(
        "Clauses that Core Data never writes are found in a table's text",
        arguments: [
            ("ZTITLE VARCHAR", nil), ("ZTITLE VARCHAR NOT NULL", ".ZTITLE NOT NULL"),
            ("\"ZTITLE\" VARCHAR CHECK (length(ZTITLE) < 3)", ".ZTITLE CHECK"),
            ("ZTITLE VARCHAR COLLATE NOCASE", ".ZTITLE COLLATE"), ("ZTITLE VARCHAR UNIQUE", ".ZTITLE UNIQUE"),
            ("ZTITLE VARCHAR DEFAULT 'a, not'", ".ZTITLE DEFAULT"), ("ZTITLE VARCHAR(20) /* NOT NULL */", nil),
            ("ZTITLE VARCHAR, CHECK (ZTITLE <> '')", " CHECK"), ("ZTITLE VARCHAR, \"check\" INTEGER", nil),
            ("ZTITLE VARCHAR, PRIMARY KEY (Z_PK, ZTITLE)", nil),
        ] as [(String, String?)])
    func clauses(_ column: String, _ title: String?) {
        let sql = "CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, \(column) )"
        #expect(StoreLayout.foreignClause(in: sql, allowsUnique: false) == title)
        let unique = "CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, ZA VARCHAR UNIQUE, CONSTRAINT c UNIQUE (ZA) )"
        #expect(StoreLayout.foreignClause(in: unique, allowsUnique: true) == nil)
    }
}
