import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("Databases that are read ahead")
struct ReadAheadTests {
    /// Makes a database of some MiB: two tables with alternating pages, an index, and rows with overflow pages.
    private func database(mode: String) throws -> (TemporaryFolder, Connection) {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: folder.file("a.sqlite"), mode: .create)
        try connection.execute(
            """
            PRAGMA journal_mode = \(mode);
            CREATE TABLE t(id INTEGER PRIMARY KEY, x);
            CREATE TABLE u(id INTEGER PRIMARY KEY, y);
            CREATE INDEX i ON t(x);
            CREATE TRIGGER both AFTER INSERT ON t BEGIN INSERT INTO u VALUES (new.id, zeroblob(new.id % 7 * 900)); END;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)
            INSERT INTO t SELECT i, 'value ' || (i * 7919 % 20000) FROM n;
            """)
        return (folder, connection)
    }

    private func open(_ folder: TemporaryFolder, _ mode: Connection.Mode, readsAhead: Bool = true) throws -> Connection
    {
        let vfs = try VFS(temporaryFolder: folder.path, for: readsAhead ? .reading : .writing)
        let connection = try Connection(path: folder.file("a.sqlite"), mode: mode, vfs: vfs)
        // A small cache makes SQLite read pages more than once.
        try connection.execute("PRAGMA cache_size = 10")
        return connection
    }

    /// Scans of a table, an index and both together, and lookups in random order.
    private static let queries = [
        "SELECT count(*), sum(id), sum(length(x)), min(x), max(x) FROM t NOT INDEXED",
        "SELECT count(*), group_concat(x) FROM t INDEXED BY i",
        "SELECT sum(t.id * u.id), sum(length(y)) FROM t JOIN u ON t.id = u.id",
        "SELECT sum(u.id), sum(length(y)) FROM t INDEXED BY i JOIN u ON t.id = u.id WHERE x > 'value 5'",
        "SELECT count(*), sum(id) FROM (SELECT * FROM u ORDER BY id DESC LIMIT 5000)",
        "PRAGMA integrity_check",
    ]

    @Test("Have the same content", arguments: ["DELETE", "WAL"], [Connection.Mode.readOnly, .immutable])
    func same(_ journal: String, _ mode: Connection.Mode) throws {
        let (folder, writer) = try database(mode: journal)
        if journal == "WAL" { try writer.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
        let (ahead, plain) = (try open(folder, mode), try open(folder, mode, readsAhead: false))
        for query in Self.queries {
            let rows = try plain.rows(query)
            #expect(try ahead.rows(query) == rows)
        }
        #expect(try ahead.value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("Show another connection's changes after its commit", arguments: ["DELETE", "WAL"])
    func changes(_ journal: String) throws {
        let (folder, writer) = try database(mode: journal)
        let reader = try open(folder, .readOnly)
        let sum = "SELECT sum(x), count(*) FROM t NOT INDEXED"
        var before = try reader.rows(sum)
        for round in 1...5 {
            try writer.execute("UPDATE t SET x = \(round) * id; DELETE FROM t WHERE id % 50 = \(round)")
            if round % 2 == 0, journal == "WAL" { try writer.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
            let rows = try reader.rows(sum)
            #expect(rows != before)
            #expect(try rows == writer.rows(sum))
            before = rows
        }
    }

    @Test("A transaction reads one state, also during a checkpoint")
    func snapshot() throws {
        let (folder, writer) = try database(mode: "WAL")
        let reader = try open(folder, .readOnly)
        let rows = try reader.prepare("SELECT id, x FROM t NOT INDEXED ORDER BY id")
        var (count, wrong) = (0, 0)
        while try rows.step() {
            count += 1
            if rows.text(1) != "value \(count * 7919 % 20000)" { wrong += 1 }
            if count % 4000 == 100 {
                try writer.execute("UPDATE t SET x = 'other'; PRAGMA wal_checkpoint(PASSIVE)")
            }
        }
        #expect(count == 20_000 && wrong == 0)
        #expect(try reader.integer("SELECT count(*) FROM t NOT INDEXED WHERE x = 'other'") == 20_000)
    }

    @Test("A truncated file is an error, and no endless read")
    func truncated() throws {
        let (folder, writer) = try database(mode: "DELETE")
        _ = try writer.integer("SELECT count(*) FROM t")
        let path = folder.file("a.sqlite")
        let size = try #require(try FileLayer().attributesIfPresent(path)?.size)
        try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: UInt64(size / 2 + 100))
        #expect(throws: DatabaseError.self) { _ = try open(folder, .immutable).rows(Self.queries[0]) }
    }
}
