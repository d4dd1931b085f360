import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("The check of a database's pages")
struct PageCheckTests {
    private func make(in folder: TemporaryFolder, rows: Int = 300) throws -> String {
        let path = folder.file("checked.sqlite")
        try Connection(path: path, mode: .create).execute(
            """
            CREATE TABLE book (key INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE link (one INTEGER, other INTEGER, PRIMARY KEY (one, other));
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO book SELECT i, 'title ' || i FROM n;
            INSERT INTO link SELECT key, key FROM book;
            """)
        return path
    }

    @Test("Only the pages of the given tables are checked")
    func isPartial() throws {
        let folder = try TemporaryFolder()
        let path = try make(in: folder)
        let connection = try Connection(path: path, mode: .readOnly)
        #expect(try connection.damagedPages() == [] && connection.damagedPages(only: ["book", "link"]) == [])
        let root = try #require(try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'link'"))
        let size = try #require(try connection.pragma("page_size")?.integer)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64((root - 1) * size))
        try file.write(contentsOf: [UInt8](repeating: 0xFF, count: 64))
        try file.close()
        let damaged = try Connection(path: path, mode: .readOnly)
        #expect(try damaged.damagedPages(only: ["book"]) == [])
        // SQLite cannot read these pages at all.
        let error = #expect(throws: DatabaseError.self) { _ = try damaged.damagedPages(only: ["book", "link"]) }
        #expect(error?.isCorrupt == true)
    }

    @Test("A stop ends a check")
    func isStopped() throws {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: make(in: folder, rows: 20_000), mode: .readOnly)
        let stop = StopRequest()
        stop.request(FerryError(.budgetSpent, "Enough."))
        // A stop interrupts work that still runs half a second later, so checks are repeated until then.
        let error = #expect(throws: DatabaseError.self) {
            let start = Clock.nanoseconds()
            while Clock.nanoseconds() - start < 20_000_000_000 {
                _ = try connection.abandoning(on: stop) { try connection.damagedPages() }
            }
        }
        #expect(error?.isInterrupted == true)
    }
}
