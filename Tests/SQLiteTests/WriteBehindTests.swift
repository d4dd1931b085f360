import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Pages are written to the system together: the database must be equal to SQLite's own, and a failure or a kill must
/// leave the state that SQLite's own files would have.
@Suite("Pages that are written together")
struct WriteBehindTests {
    /// Inserts, growing rows, rows that move to the end, and reads during the writes; the small cache makes pages leave
    /// it and return all the time.
    private static let statements = [
        "CREATE TABLE book (key INTEGER PRIMARY KEY, title TEXT, cover BLOB)", "CREATE INDEX by_title ON book (title)",
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO book SELECT i, 'title ' || (i * 7919 % 3001), zeroblob(i % 400) FROM n
        """, "UPDATE book SET title = title || ' that grew by some words', cover = zeroblob(300) WHERE key % 3 = 0",
        "DELETE FROM book WHERE key % 7 = 0", "INSERT INTO book SELECT key + 100000, title, cover FROM book",
        "DROP INDEX by_title", "CREATE INDEX by_cover ON book (length(cover), title)",
        "DELETE FROM book WHERE key > 101000", "UPDATE book SET key = key + 200000 WHERE key % 2", "VACUUM",
    ]

    private func open(_ path: String, _ vfs: VFS?, journal: String = "TRUNCATE") throws -> Connection {
        let connection = try Connection(path: path, mode: .create, vfs: vfs)
        try connection.execute(
            "PRAGMA journal_mode = \(journal); PRAGMA synchronous = FULL; PRAGMA cache_size = 8; PRAGMA temp_store = FILE"
        )
        return connection
    }

    @Test(
        "The file is byte for byte the one that SQLite writes alone, with any journal mode",
        arguments: ["TRUNCATE", "DELETE", "PERSIST", "WAL", "MEMORY"])
    func writesTheSame(journal: String) throws {
        let folder = try TemporaryFolder()
        let (path, plain) = (folder.file("together.sqlite"), folder.file("alone.sqlite"))
        for (path, vfs) in [(path, try VFS(temporaryFolder: folder.path)), (plain, nil)] {
            let connection = try open(path, vfs, journal: journal)
            for statement in Self.statements {
                try connection.execute(statement)
                try connection.execute(
                    "BEGIN; UPDATE book SET title = 'gone'; DELETE FROM book WHERE key % 2; ROLLBACK")
            }
            _ = try connection.checkpoint("TRUNCATE")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(contentsOf: URL(fileURLWithPath: plain)))
    }

    @Test("Another connection sees each commit, and the file has its size at once")
    func isSeen() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("seen.sqlite")
        let connection = try open(path, VFS(temporaryFolder: folder.path))
        let other = try Connection(path: path, mode: .readOnly)
        for statement in Self.statements.dropLast() {
            try connection.execute(statement)
            let sum = "SELECT count(*) || ' ' || total(key) || ' ' || total(length(cover)) FROM book"
            #expect(try other.value(sum) == connection.value(sum))
            let size = try FileLayer().attributes(path).size
            #expect(try size == (connection.integer("PRAGMA page_count") ?? 0) * 4096)
        }
        #expect(try other.rows("PRAGMA integrity_check")[0][0] == .text("ok"))
    }

    @Test("Writing pages together uses fewer write calls")
    func writesInFewerPieces() throws {
        let folder = try TemporaryFolder()
        let counting = FaultPlan()
        let connection = try open(folder.file("pieces.sqlite"), VFS(temporaryFolder: folder.path, faults: counting))
        for statement in Self.statements.prefix(1) { try connection.execute(statement) }
        let before = counting.count
        try connection.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO book SELECT i, NULL, zeroblob(3000) FROM n
            """)
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        #expect(pages > 3000 && Int64(counting.count - before) < pages / 4)
    }

    @Test("A failure at any operation leaves the old content or the new one")
    func survivesFailures() throws {
        let folder = try TemporaryFolder()
        let sum = "SELECT count(*) || ' ' || total(key) || ' ' || total(length(cover)) FROM book"
        let change = "UPDATE book SET title = title || ' more', cover = zeroblob(900), key = key + 5000"
        let prepared = folder.file("prepared.sqlite")
        let (old, new) = try {
            let connection = try open(prepared, nil)
            for statement in Self.statements.prefix(3) { try connection.execute(statement) }
            let old = try connection.value(sum)
            try connection.execute("BEGIN; \(change)")
            let new = try connection.value(sum)
            try connection.execute("ROLLBACK")
            return (old, new)
        }()

        let counting = FaultPlan()
        let path = folder.file("failed.sqlite")
        func run(_ faults: FaultPlan) throws -> Bool {
            try? FileManager.default.removeItem(atPath: path)
            try? FileManager.default.removeItem(atPath: path + "-journal")
            try FileManager.default.copyItem(atPath: prepared, toPath: path)
            do {
                try open(path, VFS(temporaryFolder: folder.path, faults: faults)).execute(change)
                return true
            } catch {
                return false
            }
        }
        #expect(try run(counting))
        #expect(counting.count > 20)
        for operation in stride(from: 1, through: counting.count, by: max(1, counting.count / 60)) {
            let done = try run(FaultPlan(trigger: operation, outcome: .fail))
            let found = try Connection(path: path, mode: .readWrite)
            #expect(try found.rows("PRAGMA integrity_check")[0][0] == .text("ok"), "operation \(operation)")
            let value = try found.value(sum)
            #expect(done ? value == new : value == old || value == new, "operation \(operation)")
        }
    }
}
