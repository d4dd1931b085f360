import FerrySQLite
import TestSupport
import Testing

@Suite("Tables that a connection must not write")
struct KeptTablesTests {
    private let connection: Connection
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        connection = try Connection(path: folder.file("store.sqlite"), mode: .create)
        try connection.execute(
            """
            CREATE TABLE ZBOOK (Z_PK INTEGER PRIMARY KEY, ZTITLE); CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, ZTEXT);
            INSERT INTO ZBOOK VALUES (1, x'00'); INSERT INTO ZNOTE VALUES (1, 'a');
            CREATE TRIGGER follows AFTER INSERT ON ZNOTE BEGIN UPDATE ZBOOK SET ZTITLE = 'b'; END
            """)
    }

    @Test(
        "No statement can write them, nor a trigger or a handle",
        arguments: [
            "INSERT INTO ZBOOK VALUES (2, 'b')", "UPDATE zbook SET ZTITLE = 'b'", "DELETE FROM ZBOOK",
            "DROP TABLE ZBOOK", "REPLACE INTO main.ZBOOK VALUES (1, 'b')", "INSERT INTO ZNOTE VALUES (2, 'b')",
        ])
    func refuses(_ statement: String) throws {
        connection.keep(["ZBook"])
        #expect(throws: DatabaseError.self) { try connection.execute(statement) }
        #expect(throws: DatabaseError.self) {
            _ = try BlobHandle("ZTITLE", of: "ZBOOK", row: 1, schema: "main", writable: true, on: connection)
        }
        #expect(try connection.value("SELECT ZTITLE FROM ZBOOK") == .blob([0]))
        connection.keep([])
        try connection.execute(statement)
    }

    @Test("Others can be written, and theirs be read")
    func allows() throws {
        connection.keep(["ZBOOK"])
        try connection.execute(
            """
            UPDATE ZNOTE SET ZTEXT = (SELECT ZTITLE FROM ZBOOK); ALTER TABLE ZNOTE ADD COLUMN ZMORE;
            ALTER TABLE ZBOOK RENAME COLUMN ZTITLE TO ZHEADING; CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY)
            """)
        #expect(try connection.value("SELECT ZTEXT FROM ZNOTE") == .blob([0]))
    }
}
