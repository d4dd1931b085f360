import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("A commit with a check")
struct CommitCheckTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("a.sqlite") }

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> Connection {
        let connection = try Connection(path: path, mode: .create, vfs: VFS(temporaryFolder: folder.path))
        try connection.execute("PRAGMA synchronous = FULL")
        return connection
    }

    private func dump(_ connection: Connection, in schema: String = "main") throws -> [[Value]] {
        try connection.rows("SELECT rowid, a, b FROM \(schema).t ORDER BY rowid")
            + connection.rows("SELECT name, sql FROM \(schema).sqlite_master ORDER BY name")
    }

    /// A reader of the file as it is, with the database before the transaction as `old`.
    private func reader() throws -> Connection {
        let pages = try JournaledPages(
            ofJournal: path + "-journal", places: folder.file("places"), files: FileLayer())
        let reader = try Connection(path: path, mode: .immutable)
        try reader.attach(
            path: path, as: "old", mode: .immutable, by: VFS(temporaryFolder: nil, for: .readingBefore(pages)))
        return reader
    }

    private static let first = """
        CREATE TABLE t (a, b); CREATE INDEX i ON t (a);
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000)
        INSERT INTO t SELECT n % 97, hex(zeroblob(n % 50)) FROM c;
        INSERT INTO t VALUES (1, hex(zeroblob(20000)))
        """

    /// Changes of every kind: rows that grow, new and freed pages, the schema, pages that spill before the commit.
    private static let changes = [
        "UPDATE t SET b = b || 'x' WHERE rowid % 7 = 0", "DELETE FROM t WHERE a < 90",
        "INSERT INTO t SELECT a, b FROM t", "DROP INDEX i", "ALTER TABLE t ADD COLUMN c", "DELETE FROM t",
        "UPDATE t SET a = a + 1; DELETE FROM t WHERE rowid > 2000; CREATE INDEX j ON t (b)",
        "CREATE TABLE u AS SELECT * FROM t; DROP TABLE u; UPDATE t SET b = NULL WHERE rowid % 3 = 0",
    ]

    @Test(
        "Shows both the old database and the new one before the transaction ends", arguments: changes,
        [("DELETE", 0), ("TRUNCATE", 0), ("TRUNCATE", 2)])
    func shows(_ change: String, _ form: (mode: String, autoVacuum: Int)) throws {
        let writer = try open()
        try writer.execute("PRAGMA auto_vacuum = \(form.autoVacuum); PRAGMA page_size = 1024")
        try writer.execute(Self.first)
        try writer.setPragma("journal_mode", to: form.mode)
        try writer.execute("PRAGMA cache_size = 20")
        let before = try dump(writer)
        try writer.execute("BEGIN IMMEDIATE")
        try writer.execute(change)
        let after = try dump(writer)
        #expect(before != after)
        var checked = 0
        try writer.commit {
            let reader = try reader()
            #expect(try dump(reader, in: "old") == before)
            #expect(try dump(reader) == after)
            for schema in ["old", "main"] {
                #expect(try reader.rows("PRAGMA \(schema).integrity_check") == [[.text("ok")]])
            }
            checked += 1
        }
        #expect(checked == 1 && !writer.isInTransaction)
        #expect(try dump(Connection(path: path, mode: .readOnly)) == after)
        #expect(try FileLayer().list(folder.path).map(\.name).contains("places") == false)
    }

    @Test("Is rolled back if the check fails, and the next transaction is checked anew")
    func fails() throws {
        let writer = try open()
        try writer.execute(Self.first)
        let before = try dump(writer)
        let bytes = try FileLayer().read(path)
        for _ in 0..<2 {
            try writer.execute("BEGIN IMMEDIATE; UPDATE t SET b = 'new'")
            let error = #expect(throws: FerryError.self) {
                try writer.commit { throw FerryError(.verificationFailed, "It differs.") }
            }
            #expect(error?.code == .verificationFailed && !writer.isInTransaction)
            #expect(try dump(writer) == before)
        }
        #expect(try FileLayer().read(path) == bytes)
        try writer.execute("BEGIN IMMEDIATE; DELETE FROM t")
        try writer.execute("COMMIT")
        #expect(try writer.integer("SELECT count(*) FROM t") == 0)
    }

    @Test("One failed write ends it with its own error, though the rollback can sync")
    func failsOnce() throws {
        /// Returns the operations before and after the commit, and its error.
        func commit(failing trigger: Int?) throws -> (range: ClosedRange<Int>, error: (any Error)?) {
            let path = folder.file("once-\(trigger ?? 0).sqlite")
            let faults = FaultPlan(trigger: trigger, outcome: .failOnce)
            let writer = try Connection(
                path: path, mode: .create, vfs: VFS(temporaryFolder: folder.path, faults: faults))
            try writer.execute("PRAGMA synchronous = FULL; PRAGMA journal_mode = TRUNCATE")
            try writer.execute(Self.first)
            try writer.execute("BEGIN IMMEDIATE; UPDATE t SET b = 'new'")
            let begin = faults.count + 1
            var failure: (any Error)?
            do {
                try writer.commit {
                    let reader = try Connection(path: path, mode: .immutable)
                    guard try reader.integer("SELECT count(*) FROM t WHERE b <> 'new'") == 0 else {
                        throw FerryError(.verificationFailed, "The old pages were checked.")
                    }
                }
            } catch { failure = error }
            return (begin...faults.count, failure)
        }
        let whole = try commit(failing: nil)
        #expect(whole.error == nil && whole.range.count > 5)
        for operation in whole.range {
            let error = try commit(failing: operation).error
            #expect(error is DatabaseError, "operation \(operation): \(String(describing: error))")
        }
    }

    @Test("Is refused with a -wal, which shows no old pages")
    func log() throws {
        let writer = try open()
        try writer.execute(Self.first)
        try writer.setPragma("journal_mode", to: "WAL")
        try writer.execute("BEGIN IMMEDIATE; DELETE FROM t")
        #expect(throws: DatabaseError.self) { try writer.commit {} }
    }
}
