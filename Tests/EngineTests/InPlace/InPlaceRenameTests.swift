import FerryEngine
import FerryModel
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("A rename in place")
struct InPlaceRenameTests {
    /// As many rows as a large store has with `FERRY_SWEEP=1`.
    private static let rows = Sweep.isFull ? 2_000_000 : 20_000

    @Test("writes as many pages in a large store as in a small one")
    func pages() throws {
        let (few, many) = (try bytesWritten(rows: 200), try bytesWritten(rows: Self.rows))
        #expect(few == many)
        #expect(few > 0)
    }

    private func bytesWritten(rows: Int) throws -> Int {
        let step = try InPlaceStep(
            ManagedObjectModel(.made("Book", [.text("title"), .number("pages")])),
            ManagedObjectModel(.made("Book", [.text("heading", id: "title"), .number("pages")])),
            maximumKeys: ["Book": Int64(rows)],
            rows: [
                """
                WITH RECURSIVE keys(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM keys WHERE k < \(rows))
                INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPAGES) SELECT k, 1, 1, 'Title ' || k, k FROM keys
                """
            ])
        let connection = step.store.connection
        // The -wal holds each page that the transaction writes.
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
        try StepRun.inStore(step.step, on: connection, options: step.options)
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE ZHEADING = 'Title ' || Z_PK") == Int64(rows))
        let written = try FileManager.default.attributesOfItem(atPath: step.store.path + "-wal")[.size] as? Int
        return try #require(written)
    }
}
