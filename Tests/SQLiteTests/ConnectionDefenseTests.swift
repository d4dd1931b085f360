import FerryBase
import FerrySQLite
import TestSupport
import Testing

@Suite("Forbidden actions of connections")
struct ConnectionDefenseTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("The schema and shadow tables are writable only on request, as with Apple's SQLite")
    func defensive() throws {
        let connection = try Connection(path: folder.file("a.sqlite"), mode: .create)
        try connection.execute("CREATE TABLE one (a); CREATE VIRTUAL TABLE two USING fts5(text)")
        let (shadow, schema) = (
            "DELETE FROM two_data",
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = sql WHERE name = 'one'"
        )
        #expect(throws: DatabaseError.self) { try connection.execute(shadow) }
        #expect(throws: DatabaseError.self) { try connection.execute(schema) }
        connection.allowSchemaWrites()
        try connection.execute(shadow)
        try connection.execute(schema)
    }

    @Test(
        "A database without a journal has none, and the connection stays defensive", arguments: [true, false])
    func noJournal(isDefensive: Bool) throws {
        let connection = try Connection(path: folder.file("a.sqlite"), mode: .create)
        if !isDefensive { connection.allowSchemaWrites() }
        try connection.keepNoJournal()
        #expect(try connection.pragma("journal_mode")?.text == "off")
        try connection.execute("CREATE VIRTUAL TABLE two USING fts5(text)")
        let write = { try connection.execute("DELETE FROM two_data") }
        if isDefensive { #expect(throws: DatabaseError.self) { try write() } } else { try write() }
    }

    @Test(
        "A library older than 3.37 is refused by its number", arguments: [3_036_000, 3_036_999, 3_008_011] as [Int32])
    func old(_ number: Int32) throws {
        let error = #expect(throws: DatabaseError.self) { try SQLiteLibrary.check(number) }
        #expect(error?.isLibraryTooOld == true && error?.isInSQL == false)
        #expect(error?.message.contains("version 3.\(number / 1_000 % 1_000).") == true)
    }

    @Test("A library of 3.37 or newer is accepted", arguments: [3_037_000, 3_037_002, 3_040_001, 4_000_000] as [Int32])
    func new(_ number: Int32) throws { try SQLiteLibrary.check(number) }
}
