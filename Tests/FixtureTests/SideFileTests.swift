import Ferry
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("Companion files of real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct SideFileTests {
    @Test("A closed WAL store migrated in place gets neither -wal nor -shm")
    func closedStore() throws {
        let family = try Family("jeffreybergier-migrationtests")
        let store = "Example_v1.0.0.sqlite"
        let names = {
            try FileManager.default.contentsOfDirectory(atPath: family.folder.path).filter { $0.hasPrefix(store) }
        }
        #expect(try names() == [store])
        let report = try family.migrate(store, models: ["Model.xcdatamodeld"], mappings: [], to: "v2.0.0")
        #expect(report.mode == .inPlace)
        // Family.migrate opened the store; SQLite's files of that connection are removed when it closes.
        #expect(try names().sorted() == [store, store + ".ferry-log.json", store + ".snapshots"])
        #expect(try family.open(store).value("PRAGMA journal_mode") == .text("wal"))
    }
}
