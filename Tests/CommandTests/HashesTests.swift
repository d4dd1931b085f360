internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

@Suite("ferry inspect --hashes")
struct HashesTests {
    @Test(
        "Every version of every fixture bundle is listed, and Ferry's hashes equal the compiler's",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func compiledBundles() throws {
        let bundles = [
            "coredataplus-samplemodel/SampleModel.momd", "translationcatalog/CatalogModel_3.momd",
            "xcservercoredata/XCServerCoreData.momd", "cartkit/CartStorage.momd",
        ]
        let versions = try bundles.flatMap { bundle in
            let captured = Captured.run(["inspect", Fixtures.path(bundle), "--hashes"], isJSON: true)
            #expect(captured.exitCode == .success)
            return try JSONDecoder().decode(List.self, from: Data(captured.output.utf8)).versions
        }
        #expect(versions.count >= 6)
        #expect(versions.filter(\.current).count == bundles.count)
        for version in versions {
            #expect(version.differsFromModel.isEmpty, "\(version.path)")
            #expect(version.checksum.count == 44 && version.digest.count == 88)
        }
    }

    @Test(
        "A hash of VersionInfo.plist that differs from the compiled model's is listed unchanged, and marked",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func marksDifferences() throws {
        let folder = try TemporaryFolder()
        let bundle = folder.file("SampleModel.momd")
        try FileManager.default.copyItem(
            atPath: Fixtures.path("coredataplus-samplemodel/SampleModel.momd"), toPath: bundle)
        let path = bundle + "/VersionInfo.plist"
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        var format = PropertyListSerialization.PropertyListFormat.binary
        var list = try #require(
            PropertyListSerialization.propertyList(
                from: Data(contentsOf: URL(fileURLWithPath: path)), format: &format) as? [String: Any])
        let key = "NSManagedObjectModel_VersionHashes"
        var versions = try #require(list[key] as? [String: [String: Data]])
        versions["SampleModel"]?["Car"] = Data(repeating: 7, count: 32)
        list[key] = versions
        try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
            .write(to: URL(fileURLWithPath: path))

        let captured = Captured.run(["inspect", bundle], isJSON: true)
        let told = try JSONDecoder().decode(List.self, from: Data(captured.output.utf8))
        let version = try #require(told.versions.first { $0.name == "SampleModel" })
        #expect(version.differsFromModel == ["Car"])
        #expect(version.entities["Car"] == Data(repeating: 7, count: 32).base64EncodedString())
        #expect(Captured.run(["inspect", bundle]).output.contains("differs from the compiled model"))
    }

    private struct List: Decodable {
        struct Version: Decodable {
            var name, path, digest, checksum: String
            var current: Bool
            var entities: [String: String]
            var differsFromModel: [String]
        }
        var versions: [Version]
    }
}
