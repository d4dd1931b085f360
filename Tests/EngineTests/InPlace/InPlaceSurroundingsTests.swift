import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Tables, columns and schema objects of a store that belong to no entity.
@Suite("Content beside the entities, in place")
struct InPlaceSurroundingsTests {
    private let options = EngineOptions(chunkSize: .automatic, now: 700_000_000)

    private func run(_ step: StepPlan, on connection: Connection) throws -> StepReport {
        try StepRun.inStore(step, on: connection, options: options)
    }

    // MARK: History and derived attributes of real stores

    @Test(
        "History, derived counts and their triggers of a real store are carried over",
        .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"),
        arguments: ["nomodel-coredataplus-samplemodel2/SampleModel2_V1.sqlite", "cartkit"])
    func history(fixture: String) throws {
        let folder = try TemporaryFolder()
        let store = try #require(Fixtures.stores.first { $0.hasPrefix(fixture) })
        let old = try Connection(path: Fixtures.copyStore(store, into: folder), mode: .readWrite)
        let path = try Fixtures.copyStore(from: old.path, to: folder.file("InPlace.sqlite"))
        let connection = try Connection(path: path, mode: .readWrite)
        let metadata = try StoreMetadata.read(from: connection)
        var version = try #require(
            try FixtureModels.version(of: store, on: connection, metadata: metadata))
        // The entity numbers change, and an entity with changes in the history is removed where the store has several.
        let first = Entity.made(
            "Aardvark", [Attribute(name: "name", type: .string, isOptional: true, preservesValueAfterDeletion: true)])
        let gone = version.model.entities["Feedback"].map(\.name)
        let kept = version.model.entities.values.filter { $0.name != gone }.sorted { $0.name < $1.name }
        var model = ManagedObjectModel(
            versionIdentifiers: [], entities: kept + [first], composites: version.model.composites)
        if gone != nil { model = model.without(destination: "Feedback") }
        // The name and the path give the version its place in the order of a bundle's versions.
        (version.name, version.path) = ("Model", "")
        let step = try InPlaceStep.plan(version, ModelVersion(of: model, name: "Model 2"))
        #expect(step.mode == .inPlace, "\(step.needsCopyBecause ?? "")")
        _ = try run(step, on: connection)
        let query = """
            SELECT c.Z_PK, p.Z_NAME, c.ZENTITYPK, c.ZCHANGETYPE, c.ZTRANSACTIONID FROM ACHANGE AS c
            JOIN Z_PRIMARYKEY AS p ON p.Z_ENT = c.ZENTITY WHERE p.Z_NAME <> 'Feedback' ORDER BY c.Z_PK
            """
        #expect(try connection.rows(query) == old.rows(query))
        #expect(try connection.integer("SELECT count(*) FROM ACHANGE") ?? 0 > 0)
        let numbers = "SELECT * FROM Z_PRIMARYKEY WHERE Z_ENT > 16000"
        #expect(try connection.rows(numbers) == old.rows(numbers))
        #expect(
            try connection.integer("SELECT count(*) FROM pragma_table_info('ACHANGE') WHERE name = 'ZTOMBSTONE0'") == 1)
        #expect(try connection.value("PRAGMA integrity_check") == .text("ok"))
        #expect(try ModelCache.version(in: connection)?.hashes == VersionHash.hashes(of: model))
        if fixture.contains("samplemodel2") {
            let counts = "SELECT Z_PK, ZPAGESCOUNT FROM ZBOOK ORDER BY Z_PK"
            #expect(try connection.rows(counts) == old.rows(counts))
            let triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
            #expect(try connection.rows(triggers) == old.rows(triggers))
            #expect(try connection.integer("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'") ?? 0 > 0)
        }
    }

    // MARK: An app's own objects

    private let before = ManagedObjectModel(.made("Book", [.text("title")]), .made("Note", [.text("text")]))
    private let after = ManagedObjectModel(
        .made("Book", [.text("title")]), .made("Note", [.text("text"), .number("stars")]))
    private let renumbered = ManagedObjectModel(
        .made("Atlas", [.text("name")]), .made("Book", [.text("title")]), .made("Note", [.text("text")]))

    @Test(
        "An app's tables, indexes, views, triggers and search tables stay if Core Data's tables keep their meaning")
    func ownObjects() throws {
        let step = try InPlaceStep(
            before, after,
            rows: [
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'a')",
                "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) VALUES (1, 2, 1, 'n')",
                "CREATE TABLE settings (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
                "INSERT INTO settings VALUES ('x', 1)", "CREATE INDEX own_title ON ZBOOK (ZTITLE)",
                "CREATE VIEW titles AS SELECT ZTITLE, app_function(ZTITLE) AS f FROM ZBOOK",
                "CREATE TRIGGER own AFTER UPDATE ON ZNOTE BEGIN INSERT INTO settings VALUES ('fired', app_function(1)); END",
                "CREATE VIRTUAL TABLE search USING fts5(title)", "INSERT INTO search VALUES ('a')", "ANALYZE",
            ])
        let schema = """
            SELECT type, name, sql FROM sqlite_master
            WHERE name IN ('settings', 'own_title', 'titles', 'own', 'search', 'sqlite_stat1') ORDER BY name
            """
        let expected = try step.store.connection.rows(schema)
        let store = try step.inPlace()
        #expect(try store.rows(schema) == expected && expected.count == 6)
        #expect(try store.rows("SELECT name, value FROM settings") == [[.text("x"), .integer(1)]])
        #expect(try store.integer("SELECT count(*) FROM search WHERE search MATCH 'a'") == 1)
    }

    @Test(
        "A schema object that names a changed entity number is refused by name, and the store stays unchanged",
        arguments: [
            "CREATE VIEW own AS SELECT Z_ENT FROM ZBOOK",
            "CREATE TRIGGER own AFTER UPDATE ON ZBOOK BEGIN SELECT NEW.Z_ENT; END", "CREATE INDEX own ON ZBOOK (Z_ENT)",
        ])
    func refusesChanged(sql: String) throws {
        let step = try InPlaceStep(before, renumbered, rows: [sql])
        let text = try DatabaseDump.text(step.store.path)
        let error = #expect(throws: FerryError.self) {
            try StepRun.inStore(step.step, on: step.store.connection, options: options)
        }
        #expect(error?.code == .unknownObject && error?.message.contains("own") == true)
        #expect(try DatabaseDump.text(step.store.path) == text)
    }

    @Test("A dead column of an earlier version keeps its values, unless a new column has its name")
    func deadColumns() throws {
        let rows = [
            "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) VALUES (1, 2, 1, 'n')",
            "ALTER TABLE ZNOTE ADD COLUMN ZOLD VARCHAR", "ALTER TABLE ZNOTE ADD COLUMN ZSTARS VARCHAR",
            "UPDATE ZNOTE SET ZOLD = 'o', ZSTARS = 's'",
        ]
        let kept = try InPlaceStep(
            before, ManagedObjectModel(.made("Book", [.text("title")]), .made("Note", [.text("body", id: "text")])),
            rows: rows
        ).compare(allowing: ["ZOLD", "ZSTARS"])
        #expect(try kept.value("SELECT ZOLD FROM ZNOTE") == .text("o"))
        let store = try InPlaceStep(before, after, rows: rows).compare()
        #expect(try store.value("SELECT ZSTARS FROM ZNOTE") == .null)
    }

    // MARK: CloudKit

    private let mirroring = [
        "CREATE TABLE ANSCKRECORDMETADATA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZENTITYID INTEGER, ZENTITYPK INTEGER)",
        "CREATE UNIQUE INDEX Z_ANSCK_UNIQUE ON ANSCKRECORDMETADATA (ZENTITYID, ZENTITYPK)",
        "INSERT INTO ANSCKRECORDMETADATA VALUES (1, 16010, 1, 1, 7), (2, 16010, 1, 2, 7)",
    ]

    @Test("CloudKit's tables follow the entities' numbers")
    func mirroringNumbers() throws {
        let store = try InPlaceStep(before, renumbered, rows: mirroring).inPlace()
        #expect(
            try store.rows("SELECT Z_PK, ZENTITYID FROM ANSCKRECORDMETADATA ORDER BY Z_PK")
                == [[.integer(1), .integer(2)], [.integer(2), .integer(3)]])
    }

    @Test("A mirrored entity that is renamed or removed is refused")
    func mirroringNames() throws {
        let step = try InPlaceStep(
            before, ManagedObjectModel(.made("Book", [.text("title")]), .made("Memo", id: "Note", [.text("text")])),
            rows: mirroring)
        let error = #expect(throws: FerryError.self) { try step.inPlace() }
        #expect(error?.code == .unsupported && error?.message.contains("Note") == true)
    }

    // MARK: External storage

    @Test("Values move into their rows without external storage, and get their first byte with it")
    func externalStorage() throws {
        func model(_ isExternal: Bool) -> ManagedObjectModel {
            ManagedObjectModel(
                .made(
                    "Book",
                    [Attribute(name: "cover", type: .binary, isOptional: true, allowsExternalStorage: isExternal)]))
        }
        let name = "6C1D3E0A-0000-4000-8000-00000000000A"
        let reference = ExternalData.reference(to: name).hexadecimal
        let step = try InPlaceStep(
            model(true), model(false),
            rows: [
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZCOVER) VALUES (1, 1, 1, x'01AABB'), (2, 1, 1, x'\(reference)'), (3, 1, 1, NULL)"
            ])
        let folder = ExternalData.folder(forStore: step.store.path)
        try FileLayer().createDirectory(folder)
        try FileLayer().replace(folder + "/" + name, with: [1, 2, 3])
        let store = try step.inPlace()
        #expect(
            try store.rows("SELECT ZCOVER FROM ZBOOK ORDER BY Z_PK")
                == [[.blob([0xAA, 0xBB])], [.blob([1, 2, 3])], [.null]])
        let back = try InPlaceStep(
            model(false), model(true),
            rows: ["INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZCOVER) VALUES (1, 1, 1, x'AABB'), (3, 1, 1, NULL)"])
        #expect(
            try back.compare().rows("SELECT ZCOVER FROM ZBOOK ORDER BY Z_PK") == [[.blob([1, 0xAA, 0xBB])], [.null]])
    }

    // MARK: UNIQUE clauses

    @Test("A UNIQUE clause of an old table becomes an index")
    func uniqueClause() throws {
        let unique = ManagedObjectModel(.made("Book", [.text("title")], unique: [["title"]]))
        let step = try InPlaceStep(
            unique, ManagedObjectModel(.made("Book", [.text("title"), .text("note")])),
            rows: [
                "DROP TABLE ZBOOK",
                "CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR UNIQUE )",
                "INSERT INTO ZBOOK VALUES (1, 1, 1, 'a')",
            ])
        let store = try step.compare()
        try store.execute("INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (2, 1, 1, 'a')")
    }
}

extension ManagedObjectModel {
    /// Returns the model without relationships to a missing entity.
    fileprivate func without(destination: String) -> ManagedObjectModel {
        let left = entities.values.sorted { $0.name < $1.name }.map { entity in
            var entity = entity
            entity.relationships.removeAll { $0.destinationEntity == destination }
            return entity
        }
        return ManagedObjectModel(versionIdentifiers: versionIdentifiers, entities: left, composites: composites)
    }
}
