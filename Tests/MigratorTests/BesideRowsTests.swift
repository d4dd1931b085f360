import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Content of a store beside its rows: schema objects of the app, and remains of earlier versions.
@Suite("Beside the rows")
struct BesideRowsTests {
    /// A later version that changes no entity number.
    private static let sameNumbers = DamagedStore.entities(
        book: #"<attribute name="note" optional="YES" attributeType="String"/>"#)

    private static let objects = [
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value)", "INSERT INTO settings VALUES ('a', x'00ff')",
        "CREATE VIRTUAL TABLE search USING fts5(title)", "INSERT INTO search (rowid, title) VALUES (7, 'the second')",
        "CREATE INDEX own_title ON ZBOOK (ZTITLE COLLATE NOCASE, Z_ENT)",
        "CREATE TRIGGER own_trigger AFTER INSERT ON ZBOOK BEGIN INSERT INTO settings VALUES (NEW.ZTITLE, NEW.Z_ENT); END",
        "CREATE VIEW titles AS SELECT ZTITLE FROM ZBOOK WHERE Z_ENT IS NOT NULL", "ANALYZE",
    ]
    private static let names = ["own_title", "own_trigger", "titles"]

    private func definitions(_ path: String) throws -> [[Value]] {
        try Connection(path: path, mode: .readWrite).rows(
            "SELECT type, name, sql FROM sqlite_master WHERE name IN "
                + "('settings', 'search', 'own_title', 'own_trigger', 'titles') ORDER BY name")
    }

    @Test("Schema objects of the app are carried over with their content", arguments: DamagedStore.Way.allCases)
    func carried(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: Self.objects, later: Self.sameNumbers)
        let before = try definitions(store.store)
        let report = try store.migrate()
        #expect(report.verification.differences.isEmpty && report.droppedObjects.isEmpty)
        #expect(try definitions(store.result) == before && before.count == 5)
        #expect(try store.rows("SELECT * FROM settings") == [[.text("a"), .blob([0, 255])]])
        #expect(try store.rows("SELECT rowid FROM search WHERE search MATCH 'second'") == [[.integer(7)]])
        #expect(try store.rows("SELECT * FROM titles ORDER BY 1") == [[.text("a")], [.text("b")], [.text("c")]])
        let statistics = "SELECT count(*) FROM sqlite_stat1 WHERE tbl = 'ZBOOK' AND idx = 'own_title'"
        #expect(try store.rows(statistics) == [[.integer(1)]])
        #expect(try store.open().value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test(
        "Objects that name an entity number that changes are refused by name, and dropped by name",
        arguments: DamagedStore.Way.allCases)
    func dropped(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: Self.objects)
        let before = try StoreBytes(store.store)
        let plan = try store.migrator().plan(.allowingLosses { $0.target = "App 2" })
        #expect(plan.refusals.map(\.code) == [.unknownObject, .unknownObject, .unknownObject])
        for name in Self.names {
            #expect(
                plan.refusals.contains {
                    $0.message.contains(name) && $0.remedy.description.contains("repairs.removals = [\"\(name)\"]")
                })
        }
        #expect(throws: FerryError.self) { try store.migrate(dropping: ["titles"]) }
        #expect(try StoreBytes(store.store) == before)
        let report = try store.migrate(dropping: Self.names)
        #expect(report.verification.differences.isEmpty)
        #expect(report.droppedObjects.sorted() == Self.names)
        #expect(try definitions(store.result).map { $0[1] } == [.text("search"), .text("settings")])
        // Dropping an index also drops its ANALYZE statistics.
        let stale = """
            SELECT count(*) FROM sqlite_stat1 WHERE idx IS NOT NULL AND idx <> tbl
                AND idx NOT IN (SELECT name FROM sqlite_master WHERE type = 'index')
            """
        #expect(try store.rows(stale) == [[.integer(0)]])
        #expect(try store.open().value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test(
        "A search table over an entity number that changes is dropped with its shadow tables",
        arguments: DamagedStore.Way.allCases)
    func droppedSearch(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(
            way,
            damage: [
                "CREATE VIRTUAL TABLE search USING fts5(ZTITLE, Z_ENT UNINDEXED, content='ZBOOK', content_rowid='Z_PK')",
                "INSERT INTO search (search) VALUES ('rebuild')",
            ])
        let error = #expect(throws: FerryError.self) { try store.migrate() }
        #expect(error?.code == .unknownObject && error?.message.contains("search") == true)
        #expect(try store.migrate(dropping: ["SEARCH"]).droppedObjects == ["search"])
        #expect(try store.rows("SELECT name FROM sqlite_master WHERE name LIKE 'search%'").isEmpty)
    }

    @Test(
        "A search table with the app's own tokenizer stays in place, and can be dropped",
        arguments: DamagedStore.Way.allCases)
    func ownTokenizer(_ way: DamagedStore.Way) throws {
        let damage = [
            "CREATE VIRTUAL TABLE search USING fts5(title)", "INSERT INTO search (title) VALUES ('a')",
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET sql = 'CREATE VIRTUAL TABLE search USING fts5(title, tokenize = ours)' "
                + "WHERE name = 'search'", "PRAGMA writable_schema = RESET",
        ]
        let store = try DamagedStore(way, damage: damage)
        let tables = "SELECT count(*) FROM sqlite_master WHERE name LIKE 'search%'"
        if !way.isCopy {
            try store.migrate()
            #expect(try store.rows(tables) == [[.integer(6)]])
        } else {
            let error = #expect(throws: FerryError.self) { try store.migrate() }
            #expect(
                error?.code == .unknownObject
                    && error?.remedy.description.contains("repairs.removals = [\"search\"]") == true
            )
        }
        let other = try DamagedStore(way, damage: damage)
        #expect(try other.migrate(dropping: ["search"]).droppedObjects == ["search"])
        #expect(try other.rows(tables) == [[.integer(0)]])
        #expect(try other.open().value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test(
        "A name of no object, or of Core Data's, is refused", arguments: DamagedStore.Way.allCases,
        ["titels", "ZBOOK"])
    func unknownName(_ way: DamagedStore.Way, _ name: String) throws {
        let store = try DamagedStore(way, damage: ["CREATE VIEW titles AS SELECT 1 AS one"])
        let error = #expect(throws: FerryError.self) { try store.migrate(dropping: [name]) }
        #expect(error?.code == .unknownObject && error?.remedy.description.contains("titles") == true)
    }

    @Test("An object that names a dropped object is refused, too", arguments: DamagedStore.Way.allCases)
    func dependent(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(
            way, damage: ["CREATE TABLE settings (a)", "CREATE VIEW shown AS SELECT a FROM settings"])
        let error = #expect(throws: FerryError.self) { try store.migrate(dropping: ["settings"]) }
        #expect(error?.code == .unknownObject && error?.message.contains("shown") == true)
        #expect(try store.migrate(dropping: ["settings", "shown"]).droppedObjects.sorted() == ["settings", "shown"])
    }

    // MARK: Earlier versions

    private static let leftovers = [
        "ALTER TABLE ZBOOK ADD COLUMN ZGONE VARCHAR", "UPDATE ZBOOK SET ZGONE = 'x' WHERE Z_PK < 3",
        "ALTER TABLE ZTAG ADD COLUMN ZEMPTY VARCHAR",
        "CREATE TABLE ZOLD ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER )",
        "INSERT INTO ZOLD VALUES (1, 9, 1)", "CREATE INDEX ZTAG_ZNAME_INDEX ON ZTAG (ZNAME)",
    ]

    @Test(
        "Remains of earlier versions are tolerated, and reported with their counts",
        arguments: DamagedStore.Way.allCases)
    func leftovers(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: Self.leftovers)
        let report = try store.migrate()
        #expect(report.verification.differences.isEmpty)
        let found = report.leftovers.map { "\($0.kind.rawValue) \($0.name) \($0.rows.map(String.init) ?? "-")" }
        #expect(
            found.sorted() == [
                "column ZBOOK.ZGONE 2", "column ZTAG.ZEMPTY 0", "index ZTAG_ZNAME_INDEX -", "table ZOLD 1",
            ])
        let isThere = { (sql: String) in try !store.rows(sql).isEmpty }
        #expect(
            try isThere("SELECT 1 FROM pragma_table_info('ZBOOK') WHERE name = 'ZGONE'")
                == report.leftovers.contains { $0.name == "ZBOOK.ZGONE" && $0.isKept })
        #expect(
            try isThere("SELECT 1 FROM sqlite_master WHERE name = 'ZOLD'")
                == report.leftovers.contains { $0.name == "ZOLD" && $0.isKept })
        #expect(
            try isThere("SELECT 1 FROM sqlite_master WHERE name = 'ZTAG_ZNAME_INDEX'")
                == report.leftovers.contains { $0.kind == .index && $0.isKept })
        #expect(report.leftovers.contains { $0.name == "ZBOOK.ZGONE" && $0.isKept } == (!way.isCopy))
        #expect(
            report.warnings.contains { $0.subject.object == "ZBOOK.ZGONE" && $0.message.contains("2 values") }
                == way.isCopy)
    }

    @Test("A dead column in a rebuilt table is reported as left behind")
    func lostColumn() throws {
        let store = try DamagedStore(
            .inPlace, damage: ["ALTER TABLE ZPERSON ADD COLUMN ZGONE VARCHAR", "UPDATE ZPERSON SET ZGONE = 'x'"],
            later: DamagedStore.withoutName)
        let plan = try store.migrator().plan(.allowingLosses { $0.target = "App 2" }, checksRows: true)
        #expect(plan.warnings.contains { $0.subject.object == "ZPERSON.ZGONE" && $0.message.contains("2 values") })
        let report = try store.migrate()
        #expect(report.leftovers.map(\.name) == ["ZPERSON.ZGONE"])
        #expect(report.leftovers.map(\.isKept) == [false] && report.leftovers.map(\.rows) == [2])
    }

    @Test("An entity's old name in Z_PRIMARYKEY is tolerated, and replaced", arguments: DamagedStore.Way.allCases)
    func oldName(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: ["UPDATE Z_PRIMARYKEY SET Z_NAME = 'Label' WHERE Z_NAME = 'Tag'"])
        let report = try store.migrate()
        #expect(report.leftovers.map(\.kind) == [.entityName] && report.leftovers.map(\.name) == ["Label"])
        #expect(report.leftovers.map(\.isKept) == [false])
        #expect(try store.rows("SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Tag'") == [[.integer(6)]])
    }
}
