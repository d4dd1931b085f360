import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Stores that earlier versions refused, though they can be migrated.
@Suite("A store that can be migrated")
struct FalseRefusalTests {
    /// Returns the folder, which is removed with its last reference, and the migrated store.
    private func migrate(_ way: DamagedStore.Way, _ sql: [String]) throws -> (DamagedStore, Connection) {
        let store = try DamagedStore(way, damage: sql)
        let plan = try store.migrator().plan(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.executor = way.executor
                $0.snapshots.form = .none
            }, checksRows: true)
        #expect(plan.refusals.map(\.message) == [])
        try store.migrate()
        let connection = try store.open()
        #expect(try connection.value("PRAGMA integrity_check") == .text("ok"))
        return (store, connection)
    }

    @Test("Has a trigger of the app's on a table of the app's", arguments: DamagedStore.Way.allCases)
    func triggerOnOwnTable(_ way: DamagedStore.Way) throws {
        let trigger = "CREATE TRIGGER app_stamp AFTER INSERT ON app_log BEGIN UPDATE app_log SET t = 1; END"
        let (folder, store) = try migrate(
            way, ["CREATE TABLE app_log (id INTEGER PRIMARY KEY, t)", trigger, "INSERT INTO app_log (t) VALUES (7)"])
        #expect(try store.rows("SELECT id, t FROM app_log") == [[.integer(1), .integer(1)]])
        #expect(try store.value("SELECT sql FROM sqlite_master WHERE name = 'app_stamp'") == .text(trigger))
        withExtendedLifetime(folder) {}
    }

    @Test(
        "Has a trigger on a table whose definition names functions that only the app has",
        arguments: DamagedStore.Way.allCases)
    func triggerOnStrangeTable(_ way: DamagedStore.Way) throws {
        // A copy would have to create the table.
        guard !way.isCopy else { return }
        let store = try DamagedStore(way)
        do {
            let connection = try Connection(path: store.store, mode: .readWrite)
            connection.allowSchemaWrites()
            try connection.execute(
                """
                CREATE TABLE app_words (w TEXT);
                CREATE TRIGGER app_words_trigger AFTER INSERT ON app_words BEGIN DELETE FROM app_words; END;
                PRAGMA writable_schema = ON;
                UPDATE sqlite_master SET sql = 'CREATE TABLE app_words (w TEXT COLLATE app_order)'
                    WHERE name = 'app_words';
                """)
        }
        try store.migrate()
        #expect(try store.rows("SELECT count(*) FROM sqlite_master WHERE name LIKE 'app_words%'") == [[.integer(2)]])
    }

    @Test("Has an INSTEAD OF trigger on a view of the app's", arguments: DamagedStore.Way.allCases)
    func insteadOfTrigger(_ way: DamagedStore.Way) throws {
        let (folder, store) = try migrate(
            way,
            [
                "CREATE TABLE app_log (id INTEGER PRIMARY KEY, t)", "CREATE VIEW app_view AS SELECT t FROM app_log",
                """
                CREATE TRIGGER app_insert INSTEAD OF INSERT ON app_view
                BEGIN INSERT INTO app_log (t) VALUES (new.t); END
                """,
            ])
        try store.execute("INSERT INTO app_view VALUES (5)")
        #expect(try store.rows("SELECT t FROM app_log") == [[.integer(5)]])
        withExtendedLifetime(folder) {}
    }

    @Test("Has tables with names that Ferry uses for its own", arguments: DamagedStore.Way.allCases)
    func ownNames(_ way: DamagedStore.Way) throws {
        let names = ["ferry_progress", "Ferry_Progress_1", "ferry_0", "ferry_1", "ferry_unit"]
        let (folder, store) = try migrate(
            way, names.flatMap { ["CREATE TABLE \($0) (unit)", "INSERT INTO \($0) VALUES ('\($0)')"] })
        for name in names { #expect(try store.rows("SELECT unit FROM \(name)") == [[.text(name)]]) }
        #expect(try store.integer("SELECT count(*) FROM sqlite_master WHERE name LIKE 'ferry%'") == 5)
        withExtendedLifetime(folder) {}
    }

    @Test("A store in UTF-16 is refused with this reason")
    func encoding() throws {
        let small = try SmallMigration()
        try FileManager.default.removeItem(atPath: small.store)
        try Connection(path: small.store, mode: .create).execute(
            """
            PRAGMA encoding = 'UTF-16le';
            CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
            CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
            """)
        for act in [{ _ = try small.migrator().migrate(.allowingLosses()) }, { _ = try small.migrator().plan() }] {
            let error = try #require(throws: FerryError.self) { try act() }
            #expect(error.code == .unsupported && error.code.consequence == .refused, "\(error)")
            #expect(error.message.contains("UTF-16") && error.remedy.description.contains("encoding"), "\(error)")
        }
    }

    @Test("Has malformed text whose length is computed", arguments: [ExecutorChoice.automatic, .row])
    func malformedText(_ executor: ExecutorChoice) throws {
        let small = try SmallMigration()
        let texts = ["C3", "F09F98", "EDA080", "C0AF", "F4908080", "80C3A9", "E28C", "F09F9880", "C3A9"]
        let connection = try Connection(path: small.store, mode: .readWrite)
        for (key, text) in texts.enumerated() {
            try connection.execute("UPDATE ZBOOK SET ZTITLE = CAST(x'\(text)41' AS TEXT) WHERE Z_PK = \(key + 1)")
        }
        try small.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "name": "BookToBook", "source": "Book", "destination": "Book", "where": "title.length > 1",
                "relationships": { "author": { "mapping": "BookAuthor", "from": "$source" } } },
              { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "writer != nil",
                "unique": ["name"], "attributes": { "name": "CAST(title.length, 'NSString')" } } ] }
            """, to: "One.json")
        let report = try small.migrator().migrate(
            Configuration.allowingLosses {
                $0.executor = executor
                $0.snapshots.form = .none
            })
        #expect(report.outcome == .migrated && report.verification.differences.isEmpty)
    }

    @Test("Makes a negative zero", arguments: [ExecutorChoice.automatic, .row])
    func negativeZero(_ executor: ExecutorChoice) throws {
        let folder = try TemporaryFolder()
        let price = "<attribute name=\"price\" optional=\"YES\" attributeType=\"%\"/>"
        for (name, more) in [
            ("App 1", ""), ("App 2", "<attribute name=\"text\" optional=\"YES\" attributeType=\"String\"/>"),
        ] {
            try folder.writeVersion(
                name,
                "<entity name=\"Book\">\(price.replacingOccurrences(of: "%", with: "Double"))"
                    + price.replacingOccurrences(of: "%", with: "Decimal").replacingOccurrences(
                        of: "price", with: "cost")
                    + "\(more)</entity>")
        }
        try FileLayer().replace(
            folder.file("Map.json"),
            with: Array(
                """
                { "source": "App 1", "destination": "App 2", "entityMappings": [
                  { "name": "Book", "source": "Book", "destination": "Book",
                    "attributes": { "price": "$source.price * -1", "cost": "$source.cost * -1.0" } } ] }
                """.utf8))
        try folder.makeBooks(
            rows: 4, form: .plain, uuid: "6C1D3E0A-0000-4000-8000-000000000005", hasModelCache: false,
            columns: ["ZPRICE", "ZCOST"]
        ) { [.real($0 % 2 == 0 ? 0 : 1.5), .real($0 % 2 == 0 ? 0 : 2)] }
        let store = folder.file("App.sqlite")
        let report = try Migrator(
            store: URL(fileURLWithPath: store),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
            mappings: [URL(fileURLWithPath: folder.file("Map.json"))]
        ).migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.executor = executor
                $0.snapshots.form = .none
            })
        #expect(report.outcome == .migrated && report.verification.differences.isEmpty)
        let rows = try Connection(path: store, mode: .readOnly).rows("SELECT ZPRICE, ZCOST FROM ZBOOK")
        #expect(rows[0] == [.real(-1.5), .integer(-2)] && rows[1] == [.real(0), .integer(0)])
    }
}
