import FerryBase
import FerrySQLite
import FerryStore
import TestSupport
import Testing

@Suite("Scans of a store's tables")
struct TableScansTests {
    private func makeTable(_ statements: Locked<[String]>, in folder: TemporaryFolder) throws -> Connection {
        let connection = try Connection(
            path: folder.file("scanned.sqlite"), mode: .create,
            trace: { event in statements.withLock { $0.append(event.text) } })
        try connection.execute(
            """
            CREATE TABLE ZBOOK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZTITLE VARCHAR, ZCOVER BLOB);
            CREATE INDEX ZBOOK_Z_ENT ON ZBOOK (Z_ENT);
            INSERT INTO ZBOOK VALUES (1, 1, 'a', NULL), (2, 1, NULL, NULL), (3, 2, NULL, x'00'), (4, 1, NULL, x'00');
            """)
        statements.withLock { $0 = [] }
        return connection
    }

    @Test("One statement answers all that was asked of a table before, and no answer is read twice")
    func shares() throws {
        let (folder, statements) = (try TemporaryFolder(), Locked<[String]>([]))
        let connection = try makeTable(statements, in: folder)
        let scans = TableScans(on: connection)
        scans.ask(forRowsWithoutAny: ["ZTITLE"], in: ("ZBOOK", 1))
        scans.ask(forRowsWithoutAny: ["ZCOVER"], in: ("ZBOOK", 1))
        scans.ask(forRowsWithoutAny: ["ZTITLE", "ZCOVER"], in: ("ZBOOK", 1))
        scans.ask(forRowsWithoutAny: ["ZTITLE"], in: ("ZBOOK", 2))
        #expect(try scans.rows(withoutAny: ["ZCOVER"], in: ("ZBOOK", 1)) == 2)
        #expect(try scans.rows(withoutAny: ["ZTITLE"], in: ("ZBOOK", 1)) == 2)
        #expect(try scans.rows(withoutAny: ["ZTITLE", "ZCOVER"], in: ("ZBOOK", 1)) == 3)
        #expect(try scans.rows(withoutAny: ["ZTITLE"], in: ("ZBOOK", 2)) == 1)
        #expect(statements.withLock { $0 }.count == 1)
        #expect(try scans.rows(withoutAny: ["ZCOVER"], in: ("ZBOOK", 2)) == 0)
        #expect(statements.withLock { $0 }.count == 2)
    }

    @Test("More questions than a statement has columns are answered by several")
    func divides() throws {
        let (folder, statements) = (try TemporaryFolder(), Locked<[String]>([]))
        let connection = try makeTable(statements, in: folder)
        let scans = TableScans(on: connection)
        for number in 0..<450 { scans.ask(forRowsWithoutAny: ["ZTITLE"], in: ("ZBOOK", Int64(number))) }
        let rows = try (0..<450).map { try scans.rows(withoutAny: ["ZTITLE"], in: ("ZBOOK", $0)) }
        #expect(rows[1] == 2 && rows[2] == 1 && rows.reduce(0, +) == 3)
        #expect(statements.withLock { $0 }.count == 3)
    }

    @Test("The longest row is found without a read of its values, in scanned tables only")
    func longest() throws {
        let (folder, statements) = (try TemporaryFolder(), Locked<[String]>([]))
        let connection = try makeTable(statements, in: folder)
        try connection.execute("UPDATE ZBOOK SET ZTITLE = hex(zeroblob(50000)) WHERE Z_PK = 3")
        let scans = TableScans(on: connection)
        let longest = try #require(try scans.longestRow(of: "ZBOOK", above: 90_000))
        #expect((100_000..<100_100).contains(longest))
        #expect(try scans.longestRow(of: "ZBOOK", above: 100_100) == nil)
        #expect(try TableScans(on: connection, of: []).longestRow(of: "ZBOOK", above: 90_000) == nil)
    }
}
