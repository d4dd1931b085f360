internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

@Suite("ferry inspect")
struct InspectTests {
    struct Inspection: Decodable {
        struct Nearest: Decodable {
            struct Reason: Decodable {
                var entity, reason: String
                var property: String?
            }
            var version: String
            var differs: [String]
            var reasons: [Reason]
        }
        struct Entity: Decodable {
            var name: String
            var number: Int64
            var table: String?
            var rows, bytes: Int64?
            var estimated: Bool
        }
        struct JoinTable: Decodable {
            var table: String
            var rows: Int64
        }
        struct Problem: Decodable {
            var kind: String
            var entity, property, message: String?
            var rows: Int64?
        }
        struct SideFile: Decodable {
            var path: String
            var bytes: Int64
        }
        struct Leftovers: Decodable { var tables, columns: [String] }
        var ferry: Int
        var store, uuid, look: String
        var version, model: String?
        var nearest: Nearest?
        var bytes, walBytes, externalFiles, externalBytes: Int64
        var entities: [Entity]
        var joinTables: [JoinTable]
        var features, unknownTables, historyTables, cloudKitTables: [String]
        var modelCached: Bool
        var problems: [Problem]
        var sideFiles: [SideFile]
        var leftovers: Leftovers
    }

    private func inspect(
        _ store: String, _ options: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Inspection {
        let captured = Captured.run(["inspect", store] + options, isJSON: true)
        #expect(captured.exitCode == .success, "\(captured.output)", sourceLocation: sourceLocation)
        return try JSONDecoder().decode(Inspection.self, from: Data(captured.output.utf8))
    }

    /// Makes the model of a library with every feature of models, as a folder of versions.
    private func library(in folder: TemporaryFolder) throws -> (models: String, store: String) {
        let models = folder.file("Library.xcdatamodeld")
        let attribute = { (name: String, type: String, more: String) in
            "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type)\" \(more)/>"
        }
        let book =
            "<entity name=\"Book\">" + attribute("title", "String", "")
            + attribute("cover", "Binary", "allowsExternalBinaryDataStorage=\"YES\"")
            + "<relationship name=\"shelf\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"Shelf\" "
            + "inverseName=\"books\" inverseEntity=\"Shelf\"/>"
            + "<relationship name=\"tags\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"Tag\" "
            + "inverseName=\"books\" inverseEntity=\"Tag\"/></entity>"
        let shelf =
            "<entity name=\"Shelf\">" + attribute("name", "String", "")
            + "<relationship name=\"books\" optional=\"YES\" toMany=\"YES\" ordered=\"YES\" destinationEntity=\"Book\" "
            + "inverseName=\"shelf\" inverseEntity=\"Book\"/>"
            + "<uniquenessConstraints><uniquenessConstraint><constraint value=\"name\"/></uniquenessConstraint>"
            + "</uniquenessConstraints></entity><entity name=\"Cupboard\" parentEntity=\"Shelf\"/>"
        let tag =
            "<entity name=\"Tag\"><relationship name=\"books\" optional=\"YES\" toMany=\"YES\" "
            + "destinationEntity=\"Book\" inverseName=\"tags\" inverseEntity=\"Book\"/></entity>"
        for (name, entities) in [
            ("One", book + shelf + tag),
            ("Two", book.replacingOccurrences(of: "title", with: "heading") + shelf + tag + "<entity name=\"Note\"/>"),
        ] {
            let path = "\(models)/\(name).xcdatamodel"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><model userDefinedModelVersionIdentifier=\"\">\(entities)</model>"
                .write(toFile: path + "/contents", atomically: true, encoding: .utf8)
        }
        let store = folder.file("Library.sqlite")
        let made = Captured.run([
            "generate", "\(models)/One.xcdatamodel", "--rows", "100", "--rows-of", "Tag=7", "--output", store,
        ])
        #expect(made.exitCode == .success, "\(made.diagnostics)")
        return (models, store)
    }

    private func withStore(_ path: String, _ body: (Connection) throws -> Void) throws {
        try body(Connection(path: path, mode: .readWrite))
    }

    @Test("Rows, bytes, features and companion files of a store are reported, with a model file and without")
    func tells() throws {
        let folder = try TemporaryFolder()
        let (models, store) = try library(in: folder)
        let before = try Data(contentsOf: URL(fileURLWithPath: store))
        let found = try inspect(store, ["--models", models])
        #expect(found.ferry == 1 && found.version == "One" && found.look == "full" && found.nearest == nil)
        #expect(found.model == "\(models)/One.xcdatamodel")
        let rows = Dictionary(uniqueKeysWithValues: found.entities.map { ($0.name, $0.rows) })
        #expect(rows == ["Book": 100, "Shelf": 100, "Cupboard": 100, "Tag": 7])
        #expect(found.entities.allSatisfy { !$0.estimated })
        // Subentities share the table of their root, which is measured once.
        let bytes = Dictionary(uniqueKeysWithValues: found.entities.map { ($0.name, $0.bytes) })
        #expect(bytes["Cupboard"] == .some(nil))
        #expect(try ["Book", "Shelf", "Tag"].allSatisfy { try #require(bytes[$0]) ?? 0 >= 4096 })
        #expect(found.joinTables.count == 1 && found.joinTables[0].rows > 0)
        for feature in [
            "inheritance", "manyToMany", "orderedRelationships", "externalStorage", "uniqueness", "modelCache", "wal",
        ] { #expect(found.features.contains(feature), "\(feature)") }
        #expect(found.externalFiles == 8 && found.externalBytes > 800_000)
        #expect(found.problems.isEmpty && found.unknownTables.isEmpty && found.leftovers.tables.isEmpty)

        let alone = try inspect(store)
        #expect(alone.version == nil && alone.modelCached && alone.entities.map(\.rows) == found.entities.map(\.rows))
        #expect(alone.features == found.features)
        #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
        #expect(Captured.run(["inspect", store]).output.contains("the model cached in the store"))
    }

    @Test("Without a matching version, the nearest is named with the differences, with a cached model or without")
    func nearest() throws {
        let folder = try TemporaryFolder()
        let (models, store) = try library(in: folder)
        let other = ["--models", "\(models)/Two.xcdatamodel"]
        let byModel = try #require(inspect(store, other).nearest)
        #expect(byModel.version == "Two" && byModel.differs == ["Book", "Note"])
        #expect(byModel.reasons.contains { $0.property == "heading" && $0.reason.contains("attributeAdded") })
        #expect(byModel.reasons.contains { $0.property == "title" && $0.reason.contains("attributeRemoved") })
        #expect(byModel.reasons.contains { $0.entity == "Note" && $0.reason.contains("no entity of this name") })

        try withStore(store) { try $0.execute("DELETE FROM Z_MODELCACHE") }
        let byTables = try #require(inspect(store, other).nearest)
        #expect(byTables.reasons.contains { $0.property == "heading" && $0.reason.contains("no column ZHEADING") })
        #expect(byTables.reasons.contains { $0.entity == "Book" && $0.reason.contains("column ZTITLE") })
        // Without a model the store's own list of entities is the source.
        let bare = try inspect(store)
        #expect(!bare.modelCached && bare.version == nil && bare.nearest == nil)
        #expect(bare.entities.first { $0.name == "Cupboard" }?.rows == 100)
    }

    @Test("Objects of the app, remains of earlier versions, and damage are reported")
    func oddities() throws {
        let folder = try TemporaryFolder()
        let (models, store) = try library(in: folder)
        try withStore(store) { connection in
            try connection.execute("CREATE TABLE APP_NOTES (a); CREATE VIEW APP_VIEW AS SELECT 1")
            try connection.execute("CREATE TABLE ZOLD (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)")
            try connection.execute("ALTER TABLE ZBOOK ADD COLUMN ZDEAD VARCHAR")
            try connection.execute("CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY); CREATE TABLE ANSCKEVENT (a)")
            try connection.execute("UPDATE ZBOOK SET ZSHELF = 100000 WHERE Z_PK = 3")
        }
        let found = try inspect(store, ["--models", models])
        #expect(Set(found.unknownTables) == ["APP_NOTES", "APP_VIEW"])
        #expect(found.leftovers.tables == ["ZOLD"] && found.leftovers.columns == ["ZBOOK.ZDEAD"])
        #expect(found.historyTables == ["ACHANGE"] && found.cloudKitTables == ["ANSCKEVENT"])
        #expect(found.features.contains("history") && found.features.contains("cloudKit"))
        #expect(found.problems.map(\.kind).contains("danglingKey"))
        #expect(found.problems.first { $0.kind == "danglingKey" }?.rows == 1)
        let text = Captured.run(["inspect", store, "--models", models]).output
        for told in ["APP_NOTES", "ZBOOK.ZDEAD", "ACHANGE", "ANSCKEVENT", "danglingKey: 1 in Book.shelf"] {
            #expect(text.contains(told), "\(told)")
        }
    }

    @Test("A store with a missing table is reported, with the problem")
    func missingTable() throws {
        let folder = try TemporaryFolder()
        let (models, store) = try library(in: folder)
        try withStore(store) { try $0.execute("DROP TABLE ZTAG") }
        let found = try inspect(store, ["--models", models])
        #expect(found.version == "One")
        #expect(found.problems.map(\.kind) == ["layout"])
        #expect(found.problems.first?.message?.contains("ZTAG") == true)
        #expect(found.entities.first { $0.name == "Book" }?.rows == 100)
        #expect(found.entities.first { $0.name == "Tag" }?.table == nil)
    }

    @Test("A store with a damaged page is reported as far as it is readable")
    func damagedPage() throws {
        let folder = try TemporaryFolder()
        let (models, store) = try library(in: folder)
        let root = try Connection(path: store, mode: .readOnly)
            .integer("SELECT rootpage FROM sqlite_master WHERE name = 'ZBOOK'")
        let page = try #require(root)
        let file = try #require(FileHandle(forUpdatingAtPath: store))
        try file.seek(toOffset: UInt64(page - 1) * 4096)
        try file.write(contentsOf: Data(repeating: 0x5A, count: 4096))
        try file.close()
        let found = try inspect(store, ["--models", models])
        #expect(found.version == "One")
        #expect(found.problems.contains { $0.kind == "corruptDatabase" })
    }

    @Test("Rows that are only in the -wal count, and a store in a read-only folder can be inspected")
    func readOnlyAndLog() throws {
        let folder = try TemporaryFolder()
        let (models, store) = try library(in: folder)
        let writer = try Connection(path: store, mode: .readWrite)
        try writer.execute("PRAGMA wal_autocheckpoint = 0; DELETE FROM ZTAG WHERE Z_PK > 4")
        let found = try inspect(store, ["--models", models])
        #expect(found.walBytes > 0 && found.sideFiles.contains { $0.path == store + "-wal" })
        #expect(found.entities.first { $0.name == "Tag" }?.rows == 4)
        try writer.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
        let files = FileManager.default
        try files.setAttributes([.posixPermissions: 0o444], ofItemAtPath: store)
        try files.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path)
        defer { try? files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path) }
        #expect(try inspect(store, ["--models", models]).entities.first { $0.name == "Tag" }?.rows == 4)
        #expect(
            try files.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("Library.sqlite") } == [
                "Library.sqlite"
            ])
    }

    @Test(
        "A file that is no store is refused with its reason",
        arguments: ["empty", "encrypted", "text", "folder", "database"])
    func refusals(_ kind: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("Store.sqlite")
        switch kind {
        case "empty": try Data().write(to: URL(fileURLWithPath: path))
        case "encrypted":
            var bytes = SystemRandomNumberGenerator()
            try Data((0..<8192).map { _ in UInt8.random(in: 0...255, using: &bytes) })
                .write(to: URL(fileURLWithPath: path))
        case "text": try Data(String(repeating: "text ", count: 100).utf8).write(to: URL(fileURLWithPath: path))
        case "folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        default: try withNewDatabase(path)
        }
        let captured = Captured.run(["inspect", path], isJSON: true)
        #expect(captured.exitCode == .refused)
        let failure = try JSONDecoder().decode(MessageTests.Failure.self, from: Data(captured.output.utf8))
        #expect(failure.error.code == (kind == "database" ? "notACoreDataStore" : "notADatabase"))
        #expect(!failure.error.remedy.isEmpty)
    }

    private func withNewDatabase(_ path: String) throws {
        try Connection(path: path, mode: .create).execute("CREATE TABLE t (a)")
    }

    @Test(
        "Every real store is inspected without a model file, and none is changed",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func fixtures() throws {
        let folder = try TemporaryFolder()
        var cached = 0
        for (number, store) in Fixtures.stores.enumerated() {
            let copy = try Fixtures.copyStore(store, into: folder, as: "\(number).sqlite")
            let before = try Data(contentsOf: URL(fileURLWithPath: copy))
            let found = try inspect(copy)
            #expect(!found.entities.isEmpty, "\(store)")
            #expect(!found.problems.contains { $0.kind == "corruptDatabase" || $0.kind == "layout" }, "\(store)")
            if found.modelCached { cached += 1 }
            #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == before, "\(store)")
        }
        #expect(cached > 40, "\(cached) of \(Fixtures.stores.count) stores have a cached model")
    }
}
