import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

@Suite("A migration at the start of an app")
struct LaunchTests {
    @Test("Without a store, or with a current one, there is nothing to do; other stores are migrated")
    func migratesIfNeeded() async throws {
        let small = try SmallMigration()
        let elsewhere = try Migrator(
            store: URL(fileURLWithPath: small.folder.file("None.sqlite")),
            models: [.url(URL(fileURLWithPath: small.folder.file("App.xcdatamodeld")))])
        guard case .noStore = try await elsewhere.migrateIfNeeded() else {
            Issue.record("A store that is not there was migrated.")
            return
        }
        let migrator = try small.migrator()
        #expect(try migrator.needsMigration())
        let launch = try await migrator.migrateIfNeeded()
        guard case .migrated(let report) = launch else {
            Issue.record("\(launch)")
            return
        }
        #expect(launch.isReady && report.to == "App 3")
        #expect(try !migrator.needsMigration())
        let before = try StoreBytes(small.store)
        guard case .upToDate = try await migrator.migrateIfNeeded() else {
            Issue.record("A migrated store was migrated again.")
            return
        }
        #expect(try StoreBytes(small.store) == before)
    }

    @Test("With a budget the migration stops and resumes at the next start, and is not ready before its end")
    func keepsBudget() async throws {
        let small = try SmallMigration()
        var starts = 0
        var launch: LaunchOutcome
        repeat {
            launch = try await small.migrator().migrateIfNeeded(
                Configuration.allowingLosses { $0.chunks.size = .rows(20) }, budget: .nanoseconds(1))
            starts += 1
            if case .unfinished(let error) = launch {
                #expect(error.code == .budgetSpent)
                #expect(try small.migrator().needsMigration())
            }
        } while !launch.isReady && starts < 200
        #expect(starts > 5 && launch.isReady)
        guard case .migrated(let report) = launch else {
            Issue.record("\(launch)")
            return
        }
        #expect(report.resumed && report.verification.differences.isEmpty)
    }

    @Test("Models and mapping models are found in bundles, compiled or not")
    func findsInBundles() throws {
        let small = try SmallMigration()
        let (empty, resources) = (small.folder.file("Empty.resources"), small.folder.file("App_App.resources"))
        for path in [empty, resources] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        let bundle = try #require(Bundle(path: empty))
        let error = #expect(throws: FerryError.self) {
            try Migrator(store: URL(fileURLWithPath: small.store), bundles: [bundle])
        }
        #expect(error?.code == .notFound && error?.message.contains("Empty.resources") == true)
        try FileManager.default.copyItem(
            atPath: small.folder.file("App.xcdatamodeld"), toPath: resources + "/App.xcdatamodeld")
        let full = try #require(Bundle(path: resources))
        #expect(ModelSource.all(in: full).count == 1 && Migrator.mappingModels(in: full).isEmpty)
        let mappings = ["One.json", "Two.json"].map { URL(fileURLWithPath: small.folder.file($0)) }
        let migrator = try Migrator(store: URL(fileURLWithPath: small.store), bundles: [full], mappings: mappings)
        #expect(try migrator.identify().version == "App 1")
        #expect(try migrator.migrate(.allowingLosses()).to == "App 3")
    }

    @Test(
        "Compiled models and mapping models of a real app are found in its bundle",
        .enabled(if: FileManager.default.fileExists(atPath: Self.fixtures), "The fixtures are not here."))
    func findsCompiled() throws {
        let folder = try TemporaryFolder()
        // A compiled mapping model is a file; its content does not matter in this test.
        for (index, (ending, name)) in [("momd", "momd"), ("xcmappingmodel", "cdm")].enumerated() {
            let found = try #require(Self.fixture(ending), "no .\(ending) among the fixtures")
            let resources = folder.file("Real\(index).bundle")
            try FileManager.default.createDirectory(atPath: resources, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: found, toPath: resources + "/Found.\(name)")
            let bundle = try #require(Bundle(path: resources))
            #expect(ModelSource.all(in: bundle).count + Migrator.mappingModels(in: bundle).count == 1, "\(found)")
        }
    }

    private static let fixtures = ProcessInfo.processInfo.environment["FERRY_FIXTURES"] ?? "../shared/fixtures"

    /// Returns the first file or folder with an extension among the fixtures.
    private static func fixture(_ ending: String) -> String? {
        guard let all = FileManager.default.enumerator(atPath: fixtures) else { return nil }
        for case let path as String in all where path.hasSuffix(".\(ending)") { return fixtures + "/" + path }
        return nil
    }
}
