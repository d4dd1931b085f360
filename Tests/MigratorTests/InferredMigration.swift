import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// A store with three versions of its model, each inferable from the one before.
struct InferredMigration {
    let folder: TemporaryFolder
    var store: String { folder.file("App.sqlite") }

    init(rows: Int64 = 30, form: TinyStore.Form = .plain) throws {
        folder = try TemporaryFolder()
        let title = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
        let heading = "<attribute name=\"heading\" elementID=\"title\" optional=\"YES\" attributeType=\"String\"/>"
        let copies =
            "<attribute name=\"copies\" optional=\"YES\" attributeType=\"Integer 32\" defaultValueString=\"2\"/>"
        try write("App 1", "<entity name=\"Book\">\(title)</entity>")
        // A new entity gives the old one another number.
        try write("App 2", "<entity name=\"Author\"></entity><entity name=\"Book\">\(title)\(copies)</entity>")
        try write("App 3", "<entity name=\"Author\"></entity><entity name=\"Book\">\(heading)\(copies)</entity>")
        try FileLayer().replace(
            folder.file("App.xcdatamodeld/.xccurrentversion"),
            with: Array(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>App 3.xcdatamodel</string></dict></plist>
                """.utf8))
        try makeStore(rows: rows, form: form)
    }

    func migrator(files: FileLayer = FileLayer()) throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))], mappings: [], files: files)
    }

    private func write(_ name: String, _ entities: String) throws {
        try FileLayer().createDirectory(folder.file("App.xcdatamodeld/\(name).xcdatamodel"))
        try FileLayer().replace(
            folder.file("App.xcdatamodeld/\(name).xcdatamodel/contents"),
            with: Array(
                """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
                userDefinedModelVersionIdentifier="">\(entities)</model>
                """.utf8))
    }

    private func makeStore(rows: Int64, form: TinyStore.Form) throws {
        let version = try ModelCatalog(paths: [folder.file("App.xcdatamodeld")]).version(named: "App 1")
        let connection = try Connection(path: store, mode: .create)
        connection.keepWriteAheadLogOnClose()
        try connection.execute("PRAGMA synchronous = OFF")
        try StoreCreation.prepare(connection)
        if form != .plain { try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0") }
        let layout = try StoreLayout.canonical(for: version.model)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Book": rows], on: connection)
            try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000003").write(to: connection)
            for key in 1...rows {
                try connection.run(
                    "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (?, 1, 1, ?)",
                    [.integer(key), .text("Book \(key)")])
            }
        }
        if form == .closedLog { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
        withExtendedLifetime(connection) {}
        if form == .closedLog { try FileLayer().removeIfPresent(store + "-wal") }
        try FileLayer().removeIfPresent(store + "-shm")
    }
}
