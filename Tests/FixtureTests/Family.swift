import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// A copy of one family of real stores, models and mapping models, with Ferry's own mapping files beside them.
struct Family {
    let name: String
    let folder: TemporaryFolder

    init(_ name: String) throws {
        self.name = name
        folder = try TemporaryFolder()
        let manager = FileManager.default
        for item in try manager.contentsOfDirectory(atPath: Fixtures.path(name)) {
            try manager.copyItem(atPath: "\(Fixtures.path(name))/\(item)", toPath: folder.file(item))
        }
        let mappings = "\(Fixtures.packageRoot)/Tests/FixtureTests/Mappings/\(name)"
        guard manager.fileExists(atPath: mappings) else { return }
        for item in try manager.contentsOfDirectory(atPath: mappings) {
            try manager.copyItem(atPath: "\(mappings)/\(item)", toPath: folder.file(item))
        }
    }

    func url(_ item: String) -> URL { URL(fileURLWithPath: folder.file(item)) }

    func migrator(
        _ store: String, models: [String], mappings: [String], policies: [String: PolicyFactory] = [:]
    ) throws -> Migrator {
        try Migrator(
            store: url(store), models: models.map { .url(url($0)) }, mappings: mappings.map { url($0) },
            policies: policies)
    }

    /// Migrates a store and checks the result of every migration: a valid file with the target's hashes.
    @discardableResult
    func migrate(
        _ store: String, models: [String], mappings: [String], to target: String,
        policies: [String: PolicyFactory] = [:], chunkSize: ChunkSize = .automatic
    ) throws -> MigrationReport {
        let migrator = try migrator(store, models: models, mappings: mappings, policies: policies)
        let report = try migrator.migrate(
            Configuration.allowingLosses {
                $0.target = target
                $0.chunks.size = chunkSize
            })
        let connection = try open(store)
        let catalog = try ModelCatalog(paths: models.map { folder.file($0) })
        let version = try catalog.version(named: target)
        guard try connection.value("PRAGMA integrity_check") == .text("ok") else {
            throw FerryError(.verificationFailed, "The migrated store is damaged.")
        }
        guard try StoreMetadata.read(from: connection).hashes == version.hashes else {
            throw FerryError(.verificationFailed, "The migrated store has other hashes than \(target).")
        }
        return report
    }

    func open(_ store: String) throws -> Connection {
        try Connection(path: folder.file(store), mode: .readWrite)
    }

    func bytes(_ item: String) throws -> Data { try Data(contentsOf: url(item)) }
}
