import FerryBase
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

/// Indexes whose entries differ from their tables' rows, though each has as many entries as its table has rows.
@Suite("Entries of indexes")
struct IndexEntriesTests {
    private static let table = """
        CREATE TABLE app_log (id INTEGER PRIMARY KEY, a, b TEXT, c REAL);
        INSERT INTO app_log VALUES (1, 5, 'x', 1), (2, -3.5, 'X ', 2.5), (3, NULL, 'y', NULL), (4, x'00ff', 'Y', -0.0),
            (5, 9007199254740993, 'é', 3), (6, 9007199254740992.0, '', 1e300), (7, 'text', NULL, 4), (8, 5.0, 'x', 5);
        """

    /// Every kind of index in SQLite.
    static let indexes = [
        "app_log (a)", "app_log (a DESC, b)", "app_log (b COLLATE NOCASE, c DESC)", "app_log (b COLLATE RTRIM)",
        "app_log (lower(b), /* , ( */ \"c\" DESC)", "app_log (a, b) WHERE id % 2 = 0 -- even ones",
        "app_log (coalesce(b, ',)') DESC) WHERE b IS NOT 'y' AND (a > 1 OR a IS NULL)", "app_log (c)",
    ]

    private func library(_ index: String) throws -> Library {
        let library = try Library()
        for store in [library.source, library.destination] {
            try library.change(store, "\(Self.table); CREATE INDEX app_index ON \(index)")
        }
        return library
    }

    @Test("Correct entries are no difference, for any kind of index", arguments: indexes)
    func sound(_ index: String) throws {
        let library = try library(index)
        #expect(try library.verify().differences == [])
        #expect(try library.verify(.quick).differences == [])
    }

    /// Changes the table while the index is hidden from the schema, so that the index keeps a stale entry.
    @Test("Stale entries are found; quick verification only counts them", arguments: indexes)
    func stale(_ index: String) throws {
        let library = try library(index)
        let sql = try Connection(path: library.destination, mode: .readOnly).value(
            "SELECT sql FROM sqlite_master WHERE name = 'app_index'")
        let connection = try Connection(path: library.destination, mode: .readWrite)
        connection.allowSchemaWrites()
        // The entry for the row's old values stays while the index is hidden.
        try connection.execute(
            """
            PRAGMA writable_schema = ON;
            CREATE TEMP TABLE hidden AS SELECT * FROM sqlite_master WHERE name = 'app_index';
            DELETE FROM sqlite_master WHERE name = 'app_index';
            PRAGMA writable_schema = RESET;
            UPDATE app_log SET a = 6, b = 'z', c = 7 WHERE id = 8;
            PRAGMA writable_schema = ON;
            INSERT INTO sqlite_master SELECT * FROM hidden;
            PRAGMA writable_schema = RESET;
            """)
        #expect(try connection.value("SELECT sql FROM sqlite_master WHERE name = 'app_index'") == sql)
        #expect(try connection.value("PRAGMA integrity_check") != .text("ok"))
        #expect(try connection.value("PRAGMA quick_check") == .text("ok"))
        let found = try library.verify().differences.filter { $0.check == .indexes }
        #expect(found.map(\.example) == ["index app_index"])
        #expect(try library.verify(.quick).differences.filter { $0.check == .indexes } == [])
        // The last step makes its own, or keeps those that its own verification reads.
        try library.change(library.destination, "UPDATE ZBOOK SET Z_OPT = 9")
        let checks = try library.verify(fileCheck: .none).differences.map(\.check)
        #expect(checks.contains(.rows) && !checks.contains(.indexes))
    }

    @Test("Entries out of order are found", arguments: ["app_log (a DESC)", "app_log (b COLLATE NOCASE)"])
    func misplaced(_ index: String) throws {
        let library = try library(index)
        let connection = try Connection(path: library.destination, mode: .readWrite)
        connection.allowSchemaWrites()
        // The same entries, in the order of another index.
        let other = index.contains("DESC") ? "app_log (a)" : "app_log (b)"
        try connection.execute(
            """
            DROP INDEX app_index; CREATE INDEX app_index ON \(other);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = 'CREATE INDEX app_index ON \(index)' WHERE name = 'app_index';
            PRAGMA writable_schema = RESET;
            """)
        #expect(try library.verify().differences.contains { $0.check == .indexes })
    }
}
