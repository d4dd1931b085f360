import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// `--like STORE` over the pairs of real stores of one app with different versions.
///
/// With `FERRY_SWEEP=1` all pairs; otherwise neighbours, and of the app with ten stores the first three.
@Suite("Stores made like Core Data's own", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct LikePairTests {
    private static let families = StoreFamily.all.filter { $0.stores.count > 1 }

    @Test(
        "An older store gets the newer store's tables, columns and indexes",
        arguments: families)
    func like(_ family: StoreFamily) throws {
        let stage = try Stage(family)
        for (old, new) in stage.pairs() {
            for executor in [ExecutorChoice.automatic, .row] {
                let name = "\(family.stores[old]) to \(family.stores[new]), \(executor.rawValue)"
                let report = try stage.migrate(old, to: new, executor) {
                    $0.like = URL(fileURLWithPath: stage.paths[new])
                }
                // A step in place adds columns behind a table's other columns.
                let share = try SchemaShare(
                    stage.work, stage.paths[new], stage.version(of: new).model, comparesOrder: executor == .row)
                #expect(share.differences.isEmpty, "\(name), \(report.mode): \(share.differences.prefix(10))")
            }
        }
    }

    @Test(
        "Without --like every self-relationship has the right name, or the run is refused",
        arguments: families)
    func alone(_ family: StoreFamily) throws {
        let stage = try Stage(family)
        for (old, new) in stage.pairs() {
            let open = StoreLayout.openJoins(of: try stage.version(of: new).model)
            guard !open.isEmpty else { continue }
            do {
                _ = try stage.migrate(old, to: new, .automatic) { _ in }
            } catch let error as FerryError where error.code == .layoutUnknown {
                continue
            }
            let model = try stage.version(of: new).model
            let own = try StoreLayout.actual(for: model, on: Connection(path: stage.work, mode: .readOnly))
            let theirs = try StoreLayout.actual(for: model, on: Connection(path: stage.paths[new], mode: .readOnly))
            for join in open {
                let names = [own, theirs].map { layout in
                    layout.joinTables.first {
                        $0.relationship == join.table.relationship || $0.inverse == join.table.relationship
                    }
                    .map { [$0.name] + $0.keyColumns.sorted() }
                }
                #expect(
                    names[0] == names[1] && names[0] != nil,
                    "\(family.stores[old]) to \(family.stores[new]): \(join.table.name)")
            }
        }
    }

    /// Copies of a family's stores, and one that is migrated.
    private struct Stage {
        let family: StoreFamily
        let files: Family
        let catalog: ModelCatalog
        let paths: [String]
        let hashes: [[String: [UInt8]]]
        var work: String { files.folder.file("work.sqlite") }

        init(_ family: StoreFamily) throws {
            self.family = family
            let files = try family.copied()
            self.files = files
            catalog = try ModelCatalog(paths: family.models.map(files.folder.file))
            paths = try family.stores.map { store in
                try Fixtures.copyStore("\(family.name)/\(store)", into: files.folder, as: "reference-\(store)")
            }
            hashes = try paths.map { try StoreMetadata.read(from: Connection(path: $0, mode: .readWrite)).hashes }
        }

        /// Returns the pairs of an older and a newer store with different versions.
        func pairs() -> [(Int, Int)] {
            let stores = Sweep.isFull || hashes.count < 8 ? hashes.indices : 0..<3
            return stores.flatMap { old in
                stores.filter { new in
                    new > old && hashes[new] != hashes[old] && (Sweep.isFull || new <= old + 1)
                }.map { (old, $0) }
            }
        }

        func version(of store: Int) throws -> ModelVersion {
            try #require(catalog.versions.last { $0.hashes == hashes[store] })
        }

        func migrate(
            _ old: Int, to new: Int, _ executor: ExecutorChoice, _ change: (inout Configuration) -> Void
        ) throws -> MigrationReport {
            for suffix in ["", "-wal", "-shm", ".ferry-log.json"]
            where FileManager.default.fileExists(atPath: work + suffix) {
                try FileManager.default.removeItem(atPath: work + suffix)
            }
            try Fixtures.copyStore(from: paths[old], to: work)
            var configuration = try Configuration.allowingLosses {
                $0.target = catalog.displayName(of: try version(of: new))
                $0.executor = executor
                $0.verification = .quick
                $0.snapshots.form = .none
            }
            configuration.ignoresMappingsBeside = true
            change(&configuration)
            return try files.migrator("work.sqlite", models: family.models, mappings: family.mappings)
                .migrate(configuration)
        }
    }
}
