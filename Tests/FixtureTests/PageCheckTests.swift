import FerryBase
import FerrySQLite
import TestSupport
import Testing

/// The check of pages, which can refuse a store, on stores that apps have written.
@Suite("Pages of real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct PageCheckTests {
    @Test("The pages of every store are consistent")
    func areSound() throws {
        for store in Fixtures.stores {
            let folder = try TemporaryFolder()
            let connection = try Connection(path: Fixtures.copyStore(store, into: folder), mode: .readOnly)
            let found = try connection.damagedPages()
            #expect(found == [], "\(store)")
        }
    }
}
