import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("V", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct StoreVersionTests {
    @Test("x")
    func table() throws {
        for store in Fixtures.stores {
            let folder = try TemporaryFolder()
            let path = try Fixtures.copyStore(store, into: folder)
            let family = String(store.prefix { $0 != "/" })
            var line = store + " : "
            do {
                let migrator = try Migrator(
                    store: URL(fileURLWithPath: path), models: [.url(URL(fileURLWithPath: Fixtures.path(family)))])
                let found = try migrator.identify()
                line += "\(found.version ?? "nil") nearest \(found.nearest?.version ?? "-") \(found.nearest?.differs ?? [])"
            } catch { line += "\(error)" }
            let connection = try Connection(path: path, mode: .readOnly)
            let metadata = try StoreMetadata.read(from: connection)
            let cached = try ModelCache.version(in: connection)
            line += " | cached \(cached?.hashes == metadata.hashes)"
            print("VERSION", line)
        }
    }
}
