import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

/// The test that the SwiftData guide gives to apps, on the real stores of the fixtures.
///
/// One after the other: each locks the store of the fixtures for a moment when it has read the model in it.
@Suite(
    "The guide's test of SwiftData stores", .serialized,
    .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct SwiftDataGuideTests {
    private let stores = URL(fileURLWithPath: Fixtures.path("nobelnrj-myhome"))

    // The guide has this code; see ``isInGuide()``.
    @Test("A store of each version becomes one of the newest", arguments: ["V1Seed.store", "V2Seed.store"])
    func migrates(_ name: String) throws {
        let store = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).store")
        try FileManager.default.copyItem(at: stores.appending(path: name), to: store)
        let newest = stores.appending(path: "V2Seed.store")
        var configuration = Configuration { $0.snapshots.form = .none }
        configuration.losses = .refuse
        let report = try Migrator(store: store, models: [.store(newest)]).migrate(configuration)
        #expect(report.to == "2.0.0" && report.warnings.isEmpty)
    }

    @Test("The guide has the code of this test")
    func isInGuide() throws {
        func lines(_ path: String) throws -> [String] {
            try String(contentsOfFile: "\(Fixtures.packageRoot)/\(path)", encoding: .utf8).split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let guide = try lines("docs/guide/swiftdata.md")
        let own = try lines("Tests/FixtureTests/SwiftDataGuideTests.swift")
        let start = try #require(own.firstIndex { $0.hasPrefix("@Test(\"A store of each") })
        let code = own[start...].prefix { !$0.hasPrefix("@Test(\"The guide") }
        #expect(code.allSatisfy { guide.contains($0) }, "\(code)")
    }

    @Test(
        "A store of a SwiftData app is a model: it is planned, exported and found again",
        arguments: [
            "cartkit/CartKitSwiftData_v1.sqlite", "resourcesmanager/default.store", "freezeray/SwiftData_2.0.0.sqlite",
            "nomodel-metacocktails-swiftdata/PreloadedCocktails.store", "nobelnrj-myhome/V2Seed.store",
        ])
    func takesStores(_ store: String) throws {
        let folder = try TemporaryFolder()
        let path = try Fixtures.copyStore(store, into: folder)
        let plan = try Migrator(
            store: URL(fileURLWithPath: path), models: [.store(URL(fileURLWithPath: path), named: "Now")]
        ).plan()
        #expect(plan.isUpToDate && plan.chain == ["Now"])
    }
}
