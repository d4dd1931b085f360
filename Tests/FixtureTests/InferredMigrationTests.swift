import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Real stores of several versions of one model: each is migrated by inference to the version of a later one, and
/// compared with that one and with what it was.
@Suite("Inferred migrations of real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct InferredMigrationTests {
    struct Pair: Sendable, CustomTestStringConvertible {
        var family: String
        var models: String
        /// The store that is migrated, and the one of the version that it is migrated to.
        var store: String
        var later: String
        var testDescription: String { "\(family): \(store) to the version of \(later)" }
    }

    /// Families with a store per version, the stores in version order.
    private static let families: [(name: String, models: String, stores: [String])] = [
        (
            "wire-zmessaging", "zmessaging.xcdatamodeld",
            ["1-25", "1-28", "2-3", "2-8", "2-21-1", "2-30-0", "2-54-0", "2-67-0", "2-80-0", "2-101-0"].map {
                "store\($0).wiredatabase"
            }
        ),
        ("duckduckgo-bookmarks", "BookmarksModel.xcdatamodeld", (1...5).map { "Bookmarks_V\($0).sqlite" }),
        (
            "jeffreybergier-migrationtests", "Model.xcdatamodeld",
            ["1.0.0", "1.1.0", "1.1.2", "1.2.0", "2.0.0"].map { "Example_v\($0).sqlite" }
        ),
        (
            "easylife", "EasyLife.xcdatamodeld",
            ["EasyLife.sqlite", "EasyLife 1.3.0.sqlite", "EasyLife 1.5.0.sqlite"]
        ),
        ("scout", "Scout.xcdatamodeld", ["Scout-v1.sqlite", "Scout-v4.sqlite"]),
        (
            "wibosco-posts", "CoreDataMigration_Example.xcdatamodeld",
            (1...3).map { "CoreDataMigration_Example_\($0).sqlite" }
        ),
        ("objcio-moody", "Moody.xcdatamodeld", ["Moody.moody"] + (2...5).map { "Moody \($0).moody" }),
        ("coredataplus-samplemodel", "SampleModel.xcdatamodeld", ["SampleModel_V1.sqlite", "SampleModel_V2.sqlite"]),
    ]

    /// Each store to the version of the next; with `FERRY_LONG=1` also to the last one's.
    static let pairs: [Pair] = families.flatMap { family in
        family.stores.indices.flatMap { index in
            let later = family.stores.indices.filter { $0 > index }
            let isLong = ProcessInfo.processInfo.environment["FERRY_LONG"] == "1" && later.count > 1
            return (later.prefix(1) + (isLong ? later.suffix(1) : [])).map {
                Pair(
                    family: family.name, models: family.models, store: family.stores[index],
                    later: family.stores[$0])
            }
        }
    }

    /// The family's models; one version lies beside its bundle and is put back into it.
    private static func models(of pair: Pair, in folder: TemporaryFolder) throws -> String {
        let models = Fixtures.path("\(pair.family)/\(pair.models)")
        guard pair.family == "easylife" else { return models }
        let copy = folder.file(pair.models)
        try FileManager.default.copyItem(atPath: models, toPath: copy)
        let older = "EasyLife 1.3.0 (older).xcdatamodel"
        try FileManager.default.copyItem(
            atPath: Fixtures.path("easylife/from-history/\(older)"), toPath: "\(copy)/\(older)")
        return copy
    }

    /// What Core Data's own store has otherwise, and why.
    private static func explained(_ pair: Pair, _ difference: String) -> Bool {
        switch pair.family {
        case "wire-zmessaging":
            // The table of a many-to-many relationship of an entity to itself is named after one of its two sides;
            // which one differs among these stores.
            return difference.contains("TRUSTEDCLIENTS") || difference.contains("TRUSTEDBYCLIENTS")
                || difference.contains("IGNOREDCLIENTS") || difference.contains("IGNOREDBYCLIENTS")
        case "coredataplus-samplemodel":
            // Core Data left the name before the renaming in `Z_NAME`.
            return difference == "2 rows of Z_PRIMARYKEY"
        default: return false
        }
    }

    /// Stores that Core Data migrated from one to the other, and cells that the app changed afterwards.
    private static let continued: [String: [String]] = [
        "wire-zmessaging: store2-8.wiredatabase to the version of store2-21-1.wiredatabase": [],
        "wire-zmessaging: store2-21-1.wiredatabase to the version of store2-30-0.wiredatabase": ["User.ZHANDLE: 2"],
        "wire-zmessaging: store2-67-0.wiredatabase to the version of store2-80-0.wiredatabase": [],
        "wire-zmessaging: store2-80-0.wiredatabase to the version of store2-101-0.wiredatabase": [],
        "coredataplus-samplemodel: SampleModel_V1.sqlite to the version of SampleModel_V2.sqlite": [],
    ]

    @Test("End as Core Data's own stores of that version, with every object as it was", arguments: pairs)
    func migrates(pair: Pair) throws {
        let folder = try TemporaryFolder()
        let store = try Fixtures.copyStore("\(pair.family)/\(pair.store)", into: folder, as: "before.sqlite")
        let later = try Fixtures.copyStore("\(pair.family)/\(pair.later)", into: folder, as: "later.sqlite")
        let models = try Self.models(of: pair, in: folder)
        let catalog = try ModelCatalog(paths: [models])
        let source = try #require(catalog.versions(matching: Self.hashes(of: store)).last)
        let target = try #require(catalog.versions(matching: Self.hashes(of: later)).last)
        let output = folder.file("after.sqlite")
        let report = try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: models))], mappings: []
        ).migrate(Configuration(target: catalog.displayName(of: target), output: URL(fileURLWithPath: output)))
        // Some stores are of one version although the app's versions differ.
        guard report.outcome != .upToDate else {
            #expect(source.hashes == target.hashes)
            return
        }
        #expect(report.verification.differences.isEmpty)

        let reference = try StoreComparison(output, with: later)
        #expect(try reference.connection.value("PRAGMA integrity_check") == .text("ok"))
        #expect(try Self.hashes(of: output) == target.hashes)
        let schema = try reference.schemaDifferences().filter { !Self.explained(pair, $0) }
        #expect(schema.isEmpty)
        let survival = try StoreComparison(output, with: store).survival(from: source, to: target)
        #expect(survival.differences.isEmpty)
        // Less only by the rows of entities that the newer model does not know.
        let read = report.entityMappings.filter { $0.step == 1 }.reduce(0) { $0 + $1.read }
        let keepsEntities = Set(source.model.entities.keys).isSubset(of: target.model.entities.keys)
        #expect(keepsEntities ? survival.rows == read : survival.rows <= read)
        if let changed = Self.continued[pair.testDescription] {
            #expect(try reference.survival(from: target, to: target).differences == changed)
        }
    }

    private static func hashes(of store: String) throws -> [String: [UInt8]] {
        try StoreMetadata.read(from: Connection(path: store, mode: .readWrite)).hashes
    }
}
