import FerrySQLite
import FerryVerify
import Testing

/// The table statements that SQLite itself can leave, and statements that it never leaves.
@Suite("The statement of an altered table")
struct TableTextTests {
    private static let created = """
        CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZOLD VARCHAR NOT NULL DEFAULT 'a, "b" (c',
        ZPAGES INTEGER, ZDEAD BLOB, CONSTRAINT ZOLD_ZPAGES UNIQUE (ZOLD, ZPAGES) )
        """
    private static let asked = """
        CREATE TABLE ZWORK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZLEAVES INTEGER, ZADDED TIMESTAMP, \
        ZTITLE VARCHAR )
        """
    private static let changes = [
        "ALTER TABLE ZBOOK RENAME TO ZWORK", "ALTER TABLE ZWORK RENAME COLUMN ZOLD TO ZTITLE",
        "ALTER TABLE ZWORK RENAME COLUMN ZPAGES TO ZLEAVES", "ALTER TABLE ZWORK ADD COLUMN ZADDED TIMESTAMP",
    ]

    private func altered() throws -> (sql: String, columns: Set<String>) {
        let connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute(Self.created)
        for change in Self.changes { try connection.execute(change) }
        let sql = try #require(try connection.value("SELECT sql FROM sqlite_master")?.text)
        let columns = try connection.rows("SELECT name FROM pragma_table_info('ZWORK')")
        return (sql, Set(columns.compactMap { $0[0].text }))
    }

    private func isAltered(_ sql: String, _ columns: Set<String>) -> Bool {
        TableText(sql).isAltered(SourceTables([Self.created]), into: TableText(Self.asked), columns: columns)
    }

    @Test("ALTER TABLE leaves quoted names, another order, and earlier columns")
    func altersTable() throws {
        let (sql, columns) = try altered()
        #expect(sql != Self.asked)
        #expect(isAltered(sql, columns))
    }

    @Test("A change of a letter's case is found")
    func findsLetters() throws {
        let (sql, columns) = try altered()
        let letters = sql.indices.filter { sql[$0].isLetter }
        #expect(letters.count > 100)
        for index in letters {
            let letter = sql[index]
            let other = letter.isUppercase ? letter.lowercased() : letter.uppercased()
            let changed = String(sql[..<index]) + other + sql[sql.index(after: index)...]
            #expect(!isAltered(changed, columns), "\(changed)")
        }
    }
}
