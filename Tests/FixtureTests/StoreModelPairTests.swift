import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Real stores as the models of stores of earlier versions: no model file, no `--like`.
///
/// With `FERRY_SWEEP=1` all pairs; otherwise neighbours.
@Suite("Real stores as models", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct StoreModelPairTests {
    /// SwiftData's stores, whose models are in Swift code alone, with those of apps that have model files too.
    private static let families =
        StoreFamily.all.filter { $0.stores.count > 1 } + [
            StoreFamily(name: "nobelnrj-myhome", models: [], stores: ["V1Seed.store", "V2Seed.store"]),
            StoreFamily(name: "freezeray", models: [], stores: ["SwiftData_1.0.0.sqlite", "SwiftData_2.0.0.sqlite"]),
        ]

    @Test("A store as the only model gives exactly its schema", arguments: families)
    func pairs(_ family: StoreFamily) throws {
        let folder = try TemporaryFolder()
        let paths = try family.stores.map {
            try Fixtures.copyStore("\(family.name)/\($0)", into: folder, as: "reference-\($0)")
        }
        let versions = try paths.map { try ModelCache.version(in: Connection(path: $0, mode: .readWrite)) }
        let neighbours = paths.indices.flatMap { old in
            paths.indices.filter { $0 > old && (Sweep.isFull || $0 == old + 1) }.map { (old, $0) }
        }
        let pairs = neighbours.filter { old, new in
            versions[old] != nil && versions[new] != nil && versions[old]?.hashes != versions[new]?.hashes
        }
        var (same, refused) = (0, 0)
        for ((old, new), executor) in pairs.flatMap({ pair in
            [ExecutorChoice.automatic, .row].map { (pair, $0) }
        }) {
            let name = "\(family.stores[old]) to \(family.stores[new]), \(executor.rawValue)"
            let target = try #require(versions[new])
            let work = folder.file("work \(old) \(new) \(executor.rawValue).sqlite")
            try Fixtures.copyStore(from: paths[old], to: work)
            let before = try Data(contentsOf: URL(fileURLWithPath: paths[new]))
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("ref") }
            let migrator = try Migrator(
                store: URL(fileURLWithPath: work), models: [.store(URL(fileURLWithPath: paths[new]))])
            let configuration = Configuration.allowingLosses {
                $0.executor = executor
                $0.verification = .full
                $0.snapshots.form = .none
            }
            let report: MigrationReport
            do {
                report = try migrator.migrate(configuration)
            } catch let error as FerryError where error.code == .unreachable {
                // Nothing infers that step, with model files neither.
                #expect(!family.models.isEmpty, "\(name): \(error.message)")
                refused += 1
                continue
            }
            let share = try SchemaShare(work, paths[new], target.model, comparesOrder: executor == .row)
            #expect(share.differences.isEmpty, "\(name), \(report.mode): \(share.differences.prefix(10))")
            #expect(report.layoutStore != nil, "\(name)")
            if family.models.isEmpty { #expect(report.warnings.isEmpty, "\(name): \(report.warnings.map(\.message))") }
            #expect(try Data(contentsOf: URL(fileURLWithPath: paths[new])) == before, "\(name)")
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("ref") }
            #expect(left.sorted() == names.sorted(), "\(name)")
            same += share.differences.isEmpty ? 1 : 0
        }
        #expect(same + refused == pairs.count * 2)
    }
}
