import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Content of a store beside its entities, through a whole step.
@Suite("Carried objects")
struct CarriedTests {
    private static let historyStores = [
        "nomodel-coredataplus-samplemodel2/SampleModel2_V1.sqlite", "cartkit/CartKitSwiftData_v1.sqlite",
    ]

    @Test(
        "Every change of the history keeps its entity",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)), arguments: historyStores)
    func history(_ fixture: String) throws {
        let folder = try TemporaryFolder()
        let store = try Fixtures.copyStore(fixture, into: folder)
        let old = try Connection(path: store, mode: .readWrite)
        // A private source is read without its -wal.
        try old.execute("PRAGMA journal_mode = DELETE")
        let version = try #require(try ModelCache.version(in: old))
        // The alphabetically first entity changes every other entity's number; the preserved attribute needs a column.
        let first = Entity(
            name: "Aardvark",
            attributes: [
                Attribute(name: "name", type: .string, isOptional: true, preservesValueAfterDeletion: true)
            ])
        var entities = version.model.entities.values.filter { $0.name != "Feedback" } + [first]
        entities.sort { $0.name < $1.name }
        let model = ManagedObjectModel(
            versionIdentifiers: [], entities: entities, composites: version.model.composites)
        let (new, report) = try CodedStep.run(
            store, version, to: model, dropping: ["Feedback"], in: folder, chunkSize: .rows(1000))
        let query = """
            SELECT c.Z_PK, p.Z_NAME, c.ZENTITYPK, c.ZCHANGETYPE, c.ZTRANSACTIONID FROM ACHANGE AS c
            JOIN Z_PRIMARYKEY AS p ON p.Z_ENT = c.ZENTITY WHERE p.Z_NAME <> 'Feedback' ORDER BY c.Z_PK
            """
        #expect(try new.rows(query) == old.rows(query))
        #expect(try new.integer("SELECT count(*) FROM ACHANGE") ?? 0 > 0)
        #expect(try new.rows("SELECT * FROM ATRANSACTION") == old.rows("SELECT * FROM ATRANSACTION"))
        let numbers = "SELECT * FROM Z_PRIMARYKEY WHERE Z_ENT > 16000"
        #expect(try new.rows(numbers) == old.rows(numbers))
        let columns = try new.rows("SELECT name FROM pragma_table_info('ACHANGE')").compactMap(\.[0].text)
        #expect(columns.last == "ZTOMBSTONE0")
        let indexes = "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name LIKE 'A%' ORDER BY name"
        #expect(try new.rows(indexes) == old.rows(indexes))
        if fixture.contains("samplemodel2") {
            let dropped = try old.integer("SELECT count(*) FROM ACHANGE WHERE ZENTITY = 3")
            #expect(report.healed.map(\.entity) == ["Feedback"])
            #expect(report.healed.map(\.rows) == [dropped])
            // The derived count, and its triggers.
            let counts = "SELECT Z_PK, ZPAGESCOUNT FROM ZBOOK ORDER BY Z_PK"
            #expect(try new.rows(counts) == old.rows(counts))
            let triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
            #expect(try new.rows(triggers) == old.rows(triggers))
        }
        #expect(try ModelCache.version(in: new)?.hashes == VersionHash.hashes(of: model))
    }

    // MARK: An app's own objects

    private func library() throws -> StoreBuilder {
        let store = try StoreBuilder(
            ManagedObjectModel(
                versionIdentifiers: [],
                entities: [
                    Entity(name: "Book", attributes: [Attribute(name: "name", type: .string, isOptional: true)]),
                    Entity(name: "Note", attributes: [Attribute(name: "name", type: .string, isOptional: true)]),
                ]))
        try store.execute(
            "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b')",
            "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 2, 1, 'n')",
            "UPDATE Z_PRIMARYKEY SET Z_MAX = 2",
            "CREATE TABLE \"app log\" (id INTEGER PRIMARY KEY AUTOINCREMENT, t, u)",
            "CREATE INDEX logged ON \"app log\" (t)", "CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID",
            "CREATE TABLE sums (a, b AS (a + 1))", "INSERT INTO sums (rowid, a) VALUES (5, 1), (9, 2)",
            "INSERT INTO pairs VALUES (1, 'x'), (x'00', 2.5)",
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 40) "
                + "INSERT INTO \"app log\" (id, t, u) SELECT n * 3, 'text ' || n, randomblob(9) FROM c",
            "DELETE FROM \"app log\" WHERE id > 100", "CREATE VIRTUAL TABLE found USING fts5(title)",
            "INSERT INTO found (rowid, title) VALUES (1, 'the first book'), (7, 'the second')",
            "CREATE VIEW recent AS SELECT ZNAME FROM ZBOOK", "CREATE INDEX app_names ON ZBOOK (ZNAME COLLATE NOCASE)",
            "CREATE TRIGGER app_trigger AFTER INSERT ON ZBOOK BEGIN INSERT INTO \"app log\" (t) VALUES (NEW.ZNAME); END",
            "CREATE TABLE ZOLDTHING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER )", "ANALYZE")
        return store
    }

    /// Returns the library's model with an additional attribute in one entity.
    private func model(adding attribute: String, to entity: String, of store: StoreBuilder) -> ManagedObjectModel {
        let entities = store.version.model.entities.values.map { known in
            var changed = known
            if changed.name == entity {
                changed.attributes.append(Attribute(name: attribute, type: .string, isOptional: true))
            }
            return changed
        }
        return ManagedObjectModel(versionIdentifiers: [], entities: entities.sorted { $0.name < $1.name })
    }

    @Test("An app's tables, indexes, views, triggers and search tables are carried over unchanged")
    func appObjects() throws {
        let store = try library()
        let model = model(adding: "text", to: "Note", of: store)
        let (new, _) = try CodedStep.run(store.path, store.version, to: model, in: TemporaryFolder())
        for table in ["app log", "pairs", "sums"] {
            let query = "SELECT * FROM \"\(table)\" ORDER BY 1"
            #expect(try new.rows(query) == store.connection.rows(query), "\(table)")
        }
        #expect(try new.integer("SELECT max(rowid) FROM sums") == 9)
        #expect(try new.integer("SELECT seq FROM sqlite_sequence WHERE name = 'app log'") == 120)
        #expect(try new.integer("SELECT rowid FROM found WHERE found MATCH 'second'") == 7)
        #expect(try new.rows("SELECT * FROM recent") == [[.text("a")], [.text("b")]])
        let own =
            "SELECT type, name, sql FROM sqlite_master WHERE name IN ('logged', 'app_names', 'app_trigger') ORDER BY 2"
        #expect(try new.rows(own) == store.connection.rows(own))
        #expect(try new.rows(own).count == 3)
        #expect(try new.integer("SELECT count(*) FROM sqlite_stat1 WHERE tbl = 'app log'") ?? 0 > 0)
        #expect(try new.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ZOLDTHING'") == 0)
        #expect(try new.value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("A failure at any operation of the carrying resumes to the same store")
    func resumes() throws {
        let store = try library()
        let model = model(adding: "text", to: "Note", of: store)
        func step(in folder: TemporaryFolder, _ faults: FaultPlan?) throws -> StepRun {
            try CodedStep.prepare(
                store.path, store.version, to: model, in: folder, chunkSize: .rows(3),
                vfs: faults.map { try VFS(temporaryFolder: folder.path, faults: $0) })
        }
        let (whole, faults) = (try TemporaryFolder(), FaultPlan())
        let uninterrupted = try step(in: whole, faults)
        _ = try uninterrupted.run()
        try uninterrupted.finish()
        let expected = try DatabaseDump.text(uninterrupted.destinationPath)
        #expect(faults.count > 100)
        // The stride is a prime, so that it hits all kinds of operations.
        for operation in Swift.stride(from: 1, through: faults.count, by: 31) {
            let folder = try TemporaryFolder()
            #expect(throws: (any Error).self, "operation \(operation)") {
                let run = try step(in: folder, FaultPlan(trigger: operation, outcome: .fail))
                _ = try run.run()
                try run.finish()
            }
            _ = try CodedStep.complete(step(in: folder, nil))
            let found = try DatabaseDump.text(folder.file("destination.sqlite"))
            #expect(found == expected, "resumed after operation \(operation)")
        }
    }

    @Test("An object that names a changed table of Core Data is refused by its name")
    func changedTable() throws {
        let store = try library()
        let renamed = ManagedObjectModel(
            versionIdentifiers: [], entities: [Entity(name: "Volume"), Entity(name: "Note")])
        let error = #expect(throws: FerryError.self) {
            _ = try CodedStep.run(store.path, store.version, to: renamed, in: TemporaryFolder())
        }
        #expect(error?.code == .unknownObject)
        #expect(error?.message.contains("ZBOOK") == true)
    }

    @Test("Changes of objects with new keys are left out and counted")
    func newKeys() throws {
        let store = try library()
        try store.execute(
            "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, "
                + "ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB )",
            "CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT )",
            "INSERT INTO ATRANSACTION VALUES (1, 16002, NULL, 1.5)",
            "INSERT INTO ACHANGE VALUES (1, 16001, NULL, 0, 1, 1, 1, NULL, NULL), "
                + "(2, 16001, NULL, 1, 2, 1, 1, x'02', NULL), (3, 16001, NULL, 1, 1, 2, 1, x'02', NULL)",
            "INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 3), (16002, 'TRANSACTION', 0, 1)")
        let model = model(adding: "text", to: "Book", of: store)
        let (new, report) = try CodedStep.run(
            store.path, store.version, to: model, merging: ["Note": ["name"]], in: TemporaryFolder())
        // A book's properties differ now, so the changed properties are unknown.
        let changes = try new.rows("SELECT Z_PK, ZENTITY, ZENTITYPK, ZCOLUMNS FROM ACHANGE ORDER BY Z_PK")
        #expect(
            changes == [
                [.integer(1), .integer(1), .integer(1), .null], [.integer(3), .integer(1), .integer(2), .null],
            ])
        #expect(report.healed.map(\.kind) == [.droppedHistory])
        #expect(report.healed.map(\.entity) == ["Note"])
        #expect(report.healed.map(\.rows) == [1])
    }

    // MARK: CloudKit

    private func mirrored() throws -> StoreBuilder {
        let store = try library()
        try store.execute(
            "CREATE TABLE ANSCKRECORDMETADATA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "
                + "ZENTITYID INTEGER, ZENTITYPK INTEGER, ZCKRECORDNAME VARCHAR)",
            "CREATE UNIQUE INDEX Z_RECORD_UNIQUE ON ANSCKRECORDMETADATA (ZENTITYID, ZENTITYPK)",
            "CREATE TABLE ANSCKDATABASEMETADATA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZTOKEN BLOB)",
            "INSERT INTO ANSCKRECORDMETADATA VALUES (1, 16010, 1, 1, 2, 'r1'), (2, 16010, 1, 2, 1, 'r2')",
            "INSERT INTO ANSCKDATABASEMETADATA VALUES (1, 16004, x'0102')",
            "INSERT INTO Z_PRIMARYKEY VALUES (16004, 'DATABASE', 0, 1), (16010, 'RECORD', 0, 2)",
            // Objects that name Book would prevent a change of entity numbers.
            "DROP VIEW recent", "DROP TRIGGER app_trigger", "DROP INDEX app_names")
        return store
    }

    @Test("CloudKit's metadata of records follow the numbers of the entities")
    func mirroring() throws {
        let store = try mirrored()
        let entities = Array(store.version.model.entities.values) + [Entity(name: "Atlas")]
        let model = ManagedObjectModel(versionIdentifiers: [], entities: entities.sorted { $0.name < $1.name })
        let (new, _) = try CodedStep.run(store.path, store.version, to: model, in: TemporaryFolder())
        #expect(
            try new.rows("SELECT ZENTITYID, ZENTITYPK, ZCKRECORDNAME FROM ANSCKRECORDMETADATA ORDER BY Z_PK") == [
                [.integer(2), .integer(2), .text("r1")], [.integer(3), .integer(1), .text("r2")],
            ])
        #expect(try new.value("SELECT ZTOKEN FROM ANSCKDATABASEMETADATA") == .blob([1, 2]))
        let others =
            "SELECT sql FROM sqlite_master WHERE name LIKE '%RECORD%' UNION ALL SELECT Z_NAME || Z_MAX FROM Z_PRIMARYKEY "
            + "WHERE Z_ENT > 16000"
        #expect(try new.rows(others) == store.connection.rows(others))
        #expect(try new.rows(others).count == 4)
    }

    @Test("A mirrored store whose records would lose their entity is refused")
    func mirroringRefused() throws {
        let store = try mirrored()
        let book = try #require(store.version.model.entities["Book"])
        let model = ManagedObjectModel(versionIdentifiers: [], entities: [book])
        let merged = self.model(adding: "text", to: "Note", of: store)
        let attempts: [() throws -> Void] = [
            {
                _ = try CodedStep.run(
                    store.path, store.version, to: model, dropping: ["Note"], in: TemporaryFolder())
            },
            {
                _ = try CodedStep.run(
                    store.path, store.version, to: merged, merging: ["Note": ["name"]], in: TemporaryFolder())
            },
        ]
        for attempt in attempts {
            let error = #expect(throws: FerryError.self) { try attempt() }
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("CloudKit") == true && error?.message.contains("Note") == true)
        }
        try store.execute("INSERT INTO ANSCKRECORDMETADATA VALUES (3, 16010, 1, 9, 1, 'r3')")
        let error = #expect(throws: FerryError.self) {
            _ = try CodedStep.run(store.path, store.version, to: merged, in: TemporaryFolder())
        }
        #expect(error?.code == .damagedSource)
    }
}
