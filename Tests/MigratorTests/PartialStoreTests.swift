import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Stores that hold the entities of one configuration, or of several merged models.
@Suite("Stores of a part of a model, or of several")
struct PartialStoreTests {
    /// Model files, and a store that is made from models in memory.
    private struct Setting {
        let folder: TemporaryFolder
        var store: String { folder.file("App.sqlite") }

        init() throws { folder = try TemporaryFolder() }

        func write(_ bundle: String, _ name: String, _ content: String, isCurrent: Bool = false) throws {
            try FileLayer().createDirectory(folder.file("\(bundle).xcdatamodeld/\(name).xcdatamodel"))
            try FileLayer().replace(
                folder.file("\(bundle).xcdatamodeld/\(name).xcdatamodel/contents"),
                with: Array(
                    """
                    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
                    userDefinedModelVersionIdentifier="\(name)">\(content)</model>
                    """.utf8))
            guard isCurrent else { return }
            try FileLayer().replace(
                folder.file("\(bundle).xcdatamodeld/.xccurrentversion"),
                with: Array(
                    """
                    <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>\
                    <key>_XCCurrentVersionName</key><string>\(name).xcdatamodel</string></dict></plist>
                    """.utf8))
        }

        func catalog() throws -> ModelCatalog { try ModelCatalog(paths: [folder.path]) }

        func makeStore(of version: ModelVersion, rows: String...) throws {
            let connection = try Connection(path: store, mode: .create)
            try StoreCreation.prepare(connection)
            let layout = try StoreLayout.canonical(for: version.model)
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: [:], on: connection)
            try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000004").write(to: connection)
            for row in rows { try connection.execute(row) }
        }

        func migrator(mappings: [String] = []) throws -> Migrator {
            try Migrator(
                store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: folder.path))],
                mappings: mappings.map { URL(fileURLWithPath: $0) })
        }

        func tables(_ path: String) throws -> [String] {
            try Connection(path: path, mode: .readOnly).rows(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z[A-Z]*' ORDER BY name"
            ).compactMap(\.[0].text)
        }
    }

    private static let title = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
    private static let stars = "<attribute name=\"stars\" optional=\"YES\" attributeType=\"Integer 16\"/>"

    private func configured(hasLocal: Bool = true) throws -> Setting {
        func configuration(_ name: String, _ entities: [String]) -> String {
            "<configuration name=\"\(name)\">"
                + entities.map { "<memberEntity name=\"\($0)\"/>" }.joined() + "</configuration>"
        }
        let setting = try Setting()
        try setting.write(
            "App", "App",
            "<entity name=\"Book\">\(Self.title)</entity><entity name=\"Note\">\(Self.title)</entity>"
                + configuration("Cloud", ["Book"]) + configuration("Local", ["Note"]))
        try setting.write(
            "App", "App 2",
            "<entity name=\"Atlas\">\(Self.title)</entity><entity name=\"Book\">\(Self.title)\(Self.stars)</entity>"
                + "<entity name=\"Note\">\(Self.title)\(Self.stars)</entity>"
                + configuration("Cloud", ["Atlas", "Book"])
                + (hasLocal ? configuration("Local", ["Note"]) : ""), isCurrent: true)
        let version = try #require(try setting.catalog().version(named: "App").restricted(to: "Local"))
        try setting.makeStore(of: version, rows: "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'a')")
        return setting
    }

    @Test("A store of one configuration keeps its configuration", arguments: [false, true])
    func configuration(isCopied: Bool) throws {
        let setting = try configured()
        #expect(try setting.migrator().identify().version == "App")
        let output = setting.folder.file("New.sqlite")
        var options = Configuration.allowingLosses()
        if isCopied { options.output = URL(fileURLWithPath: output) }
        let report = try setting.migrator().migrate(options)
        #expect(report.outcome == .migrated)
        #expect(report.chain == ["App", "App 2"])
        let result = isCopied ? output : setting.store
        #expect(try setting.tables(result) == ["ZNOTE"])
        let connection = try Connection(path: result, mode: .readOnly)
        #expect(
            try connection.rows("SELECT Z_PK, Z_ENT, ZTITLE, ZSTARS FROM ZNOTE") == [
                [.integer(1), .integer(1), .text("a"), .null]
            ])
        let version = try #require(try setting.catalog().version(named: "App 2").restricted(to: "Local"))
        #expect(try StoreMetadata.read(from: connection).hashes == version.hashes)
        #expect(version.hashes.count == 1)
        let verifier = try Verifier(
            store: URL(fileURLWithPath: result), models: [.url(URL(fileURLWithPath: setting.folder.path))])
        #expect(try verifier.verifyStore().differences.isEmpty)
        if isCopied {
            let source = URL(fileURLWithPath: setting.store)
            #expect(try verifier.verifyMigration(from: source).differences.isEmpty)
        }
    }

    @Test("A version without the store's configuration is refused")
    func lost() throws {
        let setting = try configured(hasLocal: false)
        let error = #expect(throws: FerryError.self) { try setting.migrator().migrate(.allowingLosses()) }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("Local") == true)
        #expect(try setting.tables(setting.store) == ["ZNOTE"])
    }

    // MARK: Merged models

    private func merged() throws -> Setting {
        let setting = try Setting()
        try setting.write("Core", "Core", "<entity name=\"Book\">\(Self.title)</entity>")
        try setting.write("Core", "Core 2", "<entity name=\"Book\">\(Self.title)\(Self.stars)</entity>")
        try setting.write(
            "Core", "Core 3",
            "<entity name=\"Atlas\">\(Self.title)</entity><entity name=\"Book\">\(Self.title)\(Self.stars)</entity>",
            isCurrent: true)
        try setting.write("Settings", "Settings", "<entity name=\"Option\">\(Self.title)</entity>")
        try setting.write("Unused", "Unused", "<entity name=\"Other\">\(Self.title)</entity>")
        let catalog = try setting.catalog()
        let version = try #require(
            ModelVersion(merging: [catalog.version(named: "Core"), catalog.version(named: "Settings")]))
        try setting.makeStore(
            of: version, rows: "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'a')",
            "INSERT INTO ZOPTION (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 2, 1, 'b'), (2, 2, 1, NULL)")
        return setting
    }

    private func expectRows(_ setting: Setting, atlas: Bool) throws {
        let connection = try Connection(path: setting.store, mode: .readOnly)
        let first: Int64 = atlas ? 2 : 1
        #expect(
            try connection.rows("SELECT Z_PK, Z_ENT, ZTITLE FROM ZBOOK") == [
                [.integer(1), .integer(first), .text("a")]
            ])
        #expect(
            try connection.rows("SELECT Z_PK, Z_ENT, ZTITLE FROM ZOPTION ORDER BY Z_PK") == [
                [.integer(1), .integer(first + 1), .text("b")], [.integer(2), .integer(first + 1), .null],
            ])
    }

    @Test("A store of merged models follows each of them to its current version")
    func mergedStore() throws {
        let setting = try merged()
        #expect(try setting.migrator().identify().version == "Core + Settings")
        let report = try setting.migrator().migrate(.allowingLosses())
        #expect(report.chain == ["Core + Settings", "Core 3 + Settings"])
        #expect(try setting.tables(setting.store) == ["ZATLAS", "ZBOOK", "ZOPTION"])
        try expectRows(setting, atlas: true)
        #expect(try setting.migrator().migrate(.allowingLosses()).outcome == .upToDate)
    }

    @Test("A named version selects the version of its own part")
    func named() throws {
        let setting = try merged()
        let report = try setting.migrator().migrate(.allowingLosses { $0.target = "Core 2" })
        #expect(report.chain == ["Core + Settings", "Core 2 + Settings"])
        try expectRows(setting, atlas: false)
    }

    @Test("A mapping model of one part leaves the objects of the other parts unchanged")
    func mapped() throws {
        let setting = try merged()
        let mapping = setting.folder.file("Core.json")
        try FileLayer().replace(
            mapping,
            with: Array(
                """
                {"source": "Core", "destination": "Core 3", "entityMappings": [
                    {"name": "Books", "source": "Book", "destination": "Book", "attributes": {"stars": "3"}}]}
                """.utf8))
        let report = try setting.migrator(mappings: [mapping]).migrate(.allowingLosses())
        #expect(report.chain == ["Core + Settings", "Core 3 + Settings"])
        try expectRows(setting, atlas: true)
        let connection = try Connection(path: setting.store, mode: .readOnly)
        #expect(try connection.integer("SELECT ZSTARS FROM ZBOOK") == 3)
    }
}
