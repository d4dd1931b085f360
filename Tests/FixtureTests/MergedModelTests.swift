import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// A real store of an app that merges three models.
@Suite(.enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
struct MergedModelTests {
    private let fixture = "duckduckgo-merged"

    @Test("A store of merged models is recognized, and follows the model with a newer version")
    func merged() throws {
        let folder = try TemporaryFolder()
        let store = try #require(Fixtures.stores.first { $0.hasPrefix(fixture) })
        let path = try Fixtures.copyStore(store, into: folder)
        let models = ["AppRatingPrompt", "HTTPSUpgrade", "RemoteMessaging"].map {
            URL(fileURLWithPath: Fixtures.path("\(fixture)/\($0).xcdatamodeld"))
        }
        let migrator = try Migrator(store: URL(fileURLWithPath: path), models: models.map { .url($0) })
        #expect(try migrator.identify().version == "AppRatingPrompt + HTTPSUpgrade 3 + RemoteMessaging")
        let before = try rows(path)
        let report = try migrator.migrate(.allowingLosses { $0.target = "AppRatingPrompt 2" })
        #expect(report.outcome == .migrated)
        #expect(report.to == "AppRatingPrompt 2 + HTTPSUpgrade 3 + RemoteMessaging")
        #expect(try rows(path) == before)
        #expect(before.values.reduce(0, +) == 33)
        let metadata = try StoreMetadata.read(from: Connection(path: path, mode: .readOnly))
        let catalog = try ModelCatalog(paths: models.map { $0.path })
        var hashes: [String: [UInt8]] = [:]
        for name in ["AppRatingPrompt 2", "HTTPSUpgrade 3", "RemoteMessaging"] {
            hashes.merge(try catalog.version(named: name).hashes) { first, _ in first }
        }
        #expect(metadata.hashes == hashes)
    }

    /// Returns the number of rows by entity.
    private func rows(_ path: String) throws -> [String: Int64] {
        let connection = try Connection(path: path, mode: .readOnly)
        var rows: [String: Int64] = [:]
        for row in try connection.rows("SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT < 16000") {
            let name = row[0].text ?? ""
            rows[name] = try connection.integer("SELECT count(*) FROM Z\(name.uppercased())")
        }
        return rows
    }
}
