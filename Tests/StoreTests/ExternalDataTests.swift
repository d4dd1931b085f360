import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

struct ExternalDataTests {
    @Test(
        "The folder of external files has the name of the store without its extension",
        arguments: [
            ("/a/App.sqlite", "/a/.App_SUPPORT/_EXTERNAL_DATA"),
            ("/a/b.c/store", "/a/b.c/.store_SUPPORT/_EXTERNAL_DATA"),
            ("/a/My.App.store", "/a/.My.App_SUPPORT/_EXTERNAL_DATA"), ("/x.db", "/.x_SUPPORT/_EXTERNAL_DATA"),
            ("App.sqlite", "./.App_SUPPORT/_EXTERNAL_DATA"), ("/a/.hidden", "/a/..hidden_SUPPORT/_EXTERNAL_DATA"),
        ])
    func folder(_ path: String, _ folder: String) {
        #expect(ExternalData.folder(forStore: path) == folder)
    }

    @Test("Only 02, a UUID and a zero byte refer to a file")
    func references() {
        let name = "0F3A66C1-8B1E-4D6F-9E55-0A1B2C3D4E5F"
        let reference = ExternalData.reference(to: name)
        #expect(reference.count == 38)
        #expect(reference.withUnsafeBytes { ExternalData.fileName(in: $0) } == name)
        var others: [[UInt8]] = [[], [2], [1] + reference.dropFirst(), Array(reference.dropLast()), reference + [0]]
        others.append(reference.dropLast() + [1])
        others.append([2] + Array("0F3A66C1-8B1E-4D6F-9E55-0A1B2C3D4E/F".utf8) + [0])
        for other in others { #expect(other.withUnsafeBytes { ExternalData.fileName(in: $0) } == nil) }
    }

    @Test("The references to files are passed on one by one, and the files are counted")
    func listing() throws {
        let photo = Attribute(name: "photo", type: .binary, allowsExternalStorage: true)
        let plain = Attribute(name: "data", type: .binary)
        let store = try StoreBuilder(
            ManagedObjectModel(versionIdentifiers: [], entities: [Entity(name: "P", attributes: [photo, plain])]))
        let name = "0F3A66C1-8B1E-4D6F-9E55-0A1B2C3D4E5F"
        let reference = ExternalData.reference(to: name)
        try store.connection.run(
            "INSERT INTO ZP (Z_ENT, ZPHOTO, ZDATA) VALUES (1, ?1, NULL), (1, NULL, ?1), (1, x'0141', NULL), (1, NULL, NULL)",
            [.blob(reference)])
        var found: [String] = []
        for (key, _) in ExternalData.attributes(of: store.layout) {
            try ExternalData.forEachReference(of: key, in: store.layout, on: store.connection) { found.append($0) }
        }
        #expect(found == [name])

        let files = FileLayer()
        #expect(try ExternalData.fileNames(ofStore: store.path).isEmpty)
        #expect(try ExternalData.size(ofStore: store.path, files: files).files == 0)
        try files.createDirectory(ExternalData.folder(forStore: store.path))
        try Data([1]).write(to: URL(fileURLWithPath: ExternalData.folder(forStore: store.path) + "/" + name))
        #expect(try ExternalData.fileNames(ofStore: store.path) == [name])
        let size = try ExternalData.size(ofStore: store.path, files: files)
        #expect(size.files == 1)
        #expect(size.bytes == 1)
    }
}
