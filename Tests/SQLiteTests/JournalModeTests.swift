import FerryBase
import FerrySQLite
import TestSupport
import Testing

@Suite("The journal mode in a fingerprint")
struct JournalModeTests {
    private func fingerprint(_ connection: Connection) throws -> DatabaseFingerprint {
        try connection.execute("BEGIN IMMEDIATE")
        defer { do { try connection.execute("ROLLBACK") } catch { Issue.record(error) } }
        return try PageReader(connection).fingerprint(files: FileLayer())
    }

    private func make(_ path: String) throws -> Connection {
        let connection = try Connection(path: path, mode: .create)
        try connection.execute(
            """
            PRAGMA auto_vacuum = 2; PRAGMA journal_mode = WAL; CREATE TABLE a (b);
            INSERT INTO a VALUES (zeroblob(20000)); PRAGMA wal_checkpoint(TRUNCATE)
            """)
        return connection
    }

    @Test(
        "Leaving WAL mode gives the next fingerprint, and any later write gives another one",
        arguments: [false, true])
    func foretells(hasOldHeader: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        do { withExtendedLifetime(try make(path)) {} }
        if hasOldHeader {
            // The header as SQLite before 3.7 left it, without a page count.
            var bytes = try FileLayer().read(path)
            bytes.replaceSubrange(28..<32, with: [0, 0, 0, 7])
            bytes.replaceSubrange(92..<96, with: [0, 0, 0, 0])
            try FileLayer().replace(path, with: bytes)
        }
        let connection = try Connection(path: path, mode: .readWrite)
        let before = try fingerprint(connection)
        #expect(before.usesWriteAheadLog)
        #expect(try connection.setPragma("journal_mode", to: "TRUNCATE") == .text("truncate"))
        let after = try fingerprint(connection)
        #expect(!after.usesWriteAheadLog)
        #expect(after.isNext(afterJournalModeOf: before) && !before.isNext(afterJournalModeOf: before))
        #expect(!after.isSame(butForTime: before.withoutLog))
        try connection.execute("UPDATE a SET b = 'c'")
        #expect(try !fingerprint(connection).isNext(afterJournalModeOf: before))
    }

    @Test("Leaving WAL mode and returning to it does not give the earlier state")
    func comesBack() throws {
        let folder = try TemporaryFolder()
        let connection = try make(folder.file("a.sqlite"))
        let before = try fingerprint(connection)
        try connection.setPragma("journal_mode", to: "TRUNCATE")
        try connection.setPragma("journal_mode", to: "WAL")
        let after = try fingerprint(connection)
        #expect(after.usesWriteAheadLog && !after.withoutLog.isSame(butForTime: before.withoutLog))
    }
}
