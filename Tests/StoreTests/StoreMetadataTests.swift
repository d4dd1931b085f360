import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

struct StoreMetadataTests {
    @Test("Foundation reads the written metadata, key for key")
    func foundationReads() throws {
        let store = try StoreBuilder(LayoutRulesTests.shelves)
        var metadata = try StoreMetadata.read(from: store.connection)
        metadata.properties["app"] = .dictionary([
            "text": .string("größer 書"), "long": .string(String(repeating: "x", count: 300)), "yes": .bool(true),
            "negative": .integer(-5), "large": .integer(1 << 40), "real": .real(-0.5), "date": .date(12.25),
            "data": .data([0, 255, 7]), "list": .array([.integer(300), .string(""), .array([])]),
        ])
        try metadata.write(to: store.connection)
        #expect(try StoreMetadata.read(from: store.connection) == metadata)
        let list = try PropertyListSerialization.propertyList(
            from: Data(metadata.encodedProperties), options: [], format: nil)
        let app = try #require((list as? [String: Any])?["app"] as? [String: Any])
        #expect(app["text"] as? String == "größer 書")
        #expect((app["long"] as? String)?.count == 300)
        #expect(app["yes"] as? Bool == true)
        #expect(app["negative"] as? Int == -5)
        #expect(app["large"] as? Int == 1 << 40)
        #expect(app["real"] as? Double == -0.5)
        #expect((app["date"] as? Date)?.timeIntervalSinceReferenceDate == 12.25)
        #expect(app["data"] as? Data == Data([0, 255, 7]))
        #expect((app["list"] as? [Any])?.count == 3)
    }

    @Test("A new stamp changes only the keys that identify the model")
    func restamp() throws {
        let store = try StoreBuilder(LayoutRulesTests.shelves)
        var metadata = try StoreMetadata.read(from: store.connection)
        metadata.properties["owner"] = .string("app")
        let other = ManagedObjectModel(versionIdentifiers: ["2"], entities: [Entity(name: "Only")])
        let version = ModelVersion(of: other)
        let stamped = metadata.restamped(for: version)
        #expect(stamped.hashes == version.hashes)
        #expect(stamped.versionIdentifiers == ["2"])
        #expect(stamped.hashesVersion == 3)
        #expect(stamped.digest == VersionHash.digest(version.hashes))
        #expect(stamped.checksum == VersionHash.checksum(version.hashes))
        #expect(stamped.uuid == metadata.uuid)
        #expect(stamped.frameworkVersion == metadata.frameworkVersion)
        #expect(stamped.properties["owner"] == .string("app"))
        #expect(stamped.restamped(for: store.version).restamped(for: version) == stamped)

        metadata.properties["NSStoreModelVersionHashesDigest"] = nil
        metadata.properties["NSStoreModelVersionChecksumKey"] = nil
        let old = metadata.restamped(for: version)
        #expect(old.digest == nil)
        #expect(old.checksum == nil)
    }

    @Test("A file that is no store is refused with its kind")
    func noStore() throws {
        let folder = try TemporaryFolder()
        let other = folder.file("other.sqlite")
        try Connection(path: other, mode: .create).execute("CREATE TABLE t (x)")
        let text = folder.file("text.sqlite")
        try Data(repeating: 65, count: 5_000).write(to: URL(fileURLWithPath: text))
        let empty = folder.file("empty.sqlite")
        try Data().write(to: URL(fileURLWithPath: empty))
        let cases: [(String, FerryError.Code)] = [
            (other, .notACoreDataStore), (text, .notADatabase), (empty, .notACoreDataStore),
        ]
        for (path, code) in cases {
            let error = #expect(throws: FerryError.self) {
                try StoreMetadata.read(from: Connection(path: path, mode: .readOnly))
            }
            #expect(error?.code == code)
            #expect(error?.remedy.isEmpty == false)
        }
    }

    @Test("Damaged metadata are an error, for any damaged byte")
    func damaged() throws {
        let store = try StoreBuilder(LayoutRulesTests.shelves)
        let bytes = try StoreMetadata.read(from: store.connection).encodedProperties
        try store.connection.execute("BEGIN")
        for length in stride(from: 0, to: bytes.count - 1, by: 7) {
            try store.connection.run("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(Array(bytes[..<length]))])
            #expect(throws: FerryError.self) { try StoreMetadata.read(from: store.connection) }
        }
        for position in bytes.indices.dropFirst(8) {
            var flipped = bytes
            flipped[position] ^= 0xFF
            try store.connection.run("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(flipped)])
            // The reader refuses the metadata or reads a value; it never traps.
            do { _ = try StoreMetadata.read(from: store.connection) } catch let error as FerryError {
                #expect(error.code == .damagedSource || error.code == .notACoreDataStore)
            }
        }
        try store.connection.execute("UPDATE Z_METADATA SET Z_PLIST = NULL")
        let error = #expect(throws: FerryError.self) { try StoreMetadata.read(from: store.connection) }
        #expect(error?.code == .notACoreDataStore)
    }

    @Test("A damaged model cache, or one with other content, is an error")
    func damagedCache() throws {
        let store = try StoreBuilder(LayoutRulesTests.shelves)
        for bytes: [UInt8] in [[], [0xFF, 0xFF], [0x03, 0x00], Array("bplist00".utf8)] {
            try store.connection.execute("DELETE FROM Z_MODELCACHE")
            try store.connection.run("INSERT INTO Z_MODELCACHE VALUES (?)", [.blob(bytes)])
            let error = #expect(throws: FerryError.self) { try ModelCache.model(in: store.connection) }
            #expect(error?.code == .badArchive)
        }
    }
}
