import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// The walk that can replace SQLite's check of pages: it must never accept pages that SQLite finds damaged.
@Suite("A walk over the pages of a database")
struct PageWalkTests {
    struct Form: Sendable, CustomStringConvertible {
        var pageSize: Int
        var autoVacuum: Int
        var description: String { "pages of \(pageSize), auto_vacuum \(autoVacuum)" }
    }

    static let forms = [512, 1024, 4096, 65536].flatMap { size in
        [0, 1, 2].map { Form(pageSize: size, autoVacuum: $0) }
    }

    /// Makes tables with and without an index, long values, gaps in pages, and free pages.
    private func make(_ form: Form, rows: Int, in folder: TemporaryFolder, log: Bool = false) throws -> String {
        let path = folder.file("walked.sqlite")
        let connection = try Connection(path: path, mode: .create)
        connection.keepWriteAheadLogOnClose()
        try connection.execute(
            """
            PRAGMA page_size = \(form.pageSize); PRAGMA auto_vacuum = \(form.autoVacuum);
            PRAGMA journal_mode = \(log ? "WAL" : "DELETE"); PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF;
            CREATE TABLE book (key INTEGER PRIMARY KEY, kind INTEGER, title TEXT, price REAL, cover BLOB);
            CREATE INDEX by_title ON book (title, kind);
            CREATE TABLE link (one INTEGER, other INTEGER, PRIMARY KEY (one, other));
            CREATE TABLE keyed (name TEXT PRIMARY KEY, other) WITHOUT ROWID;
            CREATE TABLE gone (a, b);
            CREATE TABLE vacant (a);
            BEGIN;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO book SELECT i * 3, i % 4, CASE WHEN i % 5 THEN 'title ' || (i * 7919 % 1000) END,
                CASE WHEN i % 3 THEN i / 2.0 END,
                CASE i % 40 WHEN 0 THEN randomblob(\(form.pageSize * 3)) WHEN 1 THEN randomblob(\(form.pageSize)) END
            FROM n;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO link SELECT i * 7919 % 104729, i FROM n;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO gone SELECT i, randomblob(200) FROM n;
            INSERT INTO keyed SELECT DISTINCT title, price FROM book WHERE title IS NOT NULL GROUP BY title;
            DELETE FROM book WHERE key % 11 = 0;
            UPDATE book SET title = 'longer than before ' || title WHERE key % 13 = 0;
            DELETE FROM gone WHERE a % 50 <> 0;
            DROP TABLE vacant;
            ALTER TABLE book ADD COLUMN later INTEGER;
            INSERT INTO book (key, kind, later) VALUES (-5, 9, 1), (9000000000000, 9, NULL);
            COMMIT;
            """)
        return path
    }

    /// Walks inside a transaction; nil if the walk leaves the check to SQLite.
    private func walk(_ connection: Connection) throws -> PageWalk? {
        try connection.execute("BEGIN")
        defer { try? connection.execute("ROLLBACK") }
        return try PageWalk(connection, counting: [.init(table: "book", column: "kind")])
    }

    @Test("Valid pages of every form are accepted, and rows and empty values are counted", arguments: forms)
    func isSound(form: Form) throws {
        for log in [false, true] {
            let folder = try TemporaryFolder()
            let connection = try Connection(path: make(form, rows: 700, in: folder, log: log), mode: .readWrite)
            connection.keepWriteAheadLogOnClose()
            let walk = try #require(try walk(connection))
            #expect(walk.isSound)
            for table in ["book", "link", "gone"] {
                #expect(try walk.rows[table] == connection.integer("SELECT count(*) FROM \(table)"), "\(table)")
            }
            #expect(walk.wholeRanges["link"] == 1...700 && walk.wholeRanges["book"] == nil)
            let tally = try #require(walk.tallies["book"])
            let kinds = try connection.rows("SELECT kind, count(*) FROM book GROUP BY kind")
            let expected = kinds.map { ($0[0].integer ?? 0, $0[1].integer ?? 0) }
            #expect(tally.rows == Dictionary(uniqueKeysWithValues: expected))
            for kind in tally.rows.keys {
                for column in ["kind", "title", "price", "cover", "later"] {
                    let empty = try connection.integer(
                        "SELECT count(*) FROM book WHERE kind = ? AND \(column) IS NULL", [.integer(kind)])
                    #expect(tally.empty(column, of: kind) == empty, "\(column) of \(kind)")
                }
            }
            #expect(tally.empty("key", of: 1) == nil && tally.empty("none", of: 1) == nil)
            #expect(tally.empty("title", of: 77) == 0)
        }
    }

    @Test("An empty database, and one of a single page, are valid")
    func isSmall() throws {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: folder.file("small.sqlite"), mode: .create)
        try connection.execute("CREATE TABLE book (kind)")
        #expect(try walk(connection)?.isSound == true)
        try connection.execute("DROP TABLE book; VACUUM")
        #expect(try walk(connection)?.isSound == true)
    }

    @Test("Rows that the walk cannot count by a column are left to a statement")
    func isUncounted() throws {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: folder.file("odd.sqlite"), mode: .create)
        try connection.execute("CREATE TABLE book (kind INTEGER, a); INSERT INTO book VALUES (1, 2), ('text', 3)")
        var found = try #require(try walk(connection))
        #expect(found.isSound && found.tallies.isEmpty && found.rows["book"] == 2)
        try connection.execute("DELETE FROM book WHERE kind = 'text'; ALTER TABLE book ADD COLUMN b DEFAULT 7")
        found = try #require(try walk(connection))
        #expect(found.isSound && found.tallies.isEmpty)
        try connection.execute("CREATE TABLE keyed (a PRIMARY KEY) WITHOUT ROWID; INSERT INTO keyed VALUES (1)")
        found = try #require(try walk(connection))
        #expect(found.isSound && found.rows["keyed"] == nil)
    }

    @Test("A walk records the range of a column's integer keys, and whether there are other keys")
    func notesKeys() throws {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: folder.file("links.sqlite"), mode: .create)
        try connection.execute(
            "CREATE TABLE link (one INTEGER, other INTEGER, more INTEGER); "
                + "INSERT INTO link VALUES (-7, 1, 5), (9000000000000, 0, NULL), (128, 1, 6)")
        func tally() throws -> RowTally {
            try connection.execute("BEGIN")
            defer { try? connection.execute("ROLLBACK") }
            let walk = try PageWalk(
                connection, counting: [.init(table: "link", column: nil, keys: ["one", "other"])])
            return try #require(walk?.tallies["link"])
        }
        var found = try tally()
        #expect(found.rows == [0: 3] && found.empty("more", of: 0) == 1)
        #expect(found.holds("one", within: -7...9_000_000_000_000) && found.holds("other", within: 0...1))
        #expect(
            !found.holds("one", within: -6...9_000_000_000_000) && !found.holds("one", within: -7...8_999_999_999_999))
        #expect(!found.holds("more", within: 5...6) && !found.holds("none", within: 5...6))
        try connection.execute("UPDATE link SET other = NULL")
        #expect(try tally().holds("other", within: 5...6))
        for other in ["0.5", "'text'", "x'01'", "9e99"] {
            try connection.execute("UPDATE link SET other = \(other) WHERE one = 128")
            found = try tally()
            #expect(!found.holds("other", within: .min ... .max) && found.holds("one", within: .min ... .max))
        }
    }

    @Test("A walk needs a transaction, and a stop ends it")
    func isStopped() throws {
        let folder = try TemporaryFolder()
        let form = Form(pageSize: 512, autoVacuum: 2)
        let connection = try Connection(path: make(form, rows: 6_000, in: folder), mode: .readWrite)
        #expect(try PageWalk(connection) == nil)
        let stop = StopRequest()
        stop.request(FerryError(.budgetSpent, "Enough."))
        // A stop interrupts work that still runs half a second later, so walks are repeated until then.
        try connection.execute("BEGIN")
        let error = #expect(throws: DatabaseError.self) {
            let start = Clock.nanoseconds()
            while Clock.nanoseconds() - start < 20_000_000_000 { _ = try PageWalk(connection, stop: stop) }
        }
        #expect(error?.isInterrupted == true)
    }

    /// Changes a few bytes at one place, mostly in the headers of pages.
    private func damage(_ bytes: inout [UInt8], _ pageSize: Int, _ random: inout SplitMix) {
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
        let page = number(0..<bytes.count / pageSize)
        let start = page * pageSize
        let header = page == 0 ? 100 : 0
        let pages = bytes.count / pageSize
        func set(_ value: Int, _ width: Int, at place: Int) {
            for index in 0..<width where place + index < bytes.count {
                bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * (width - 1 - index)))
            }
        }
        switch number(0..<10) {
        case 0: bytes[start + number(0..<pageSize)] ^= UInt8(1 << number(0..<8))
        case 1: bytes[start + header + number(0..<12)] = UInt8(number(0..<256))
        case 2: set(number(0..<pageSize), 2, at: start + header + 8 + 2 * number(0..<20))
        case 3: set(number(0..<pages + 2), 4, at: start)
        case 4: set(number(0..<pages + 2), 4, at: start + header + 8)
        case 5: set(number(0..<pages + 2), 4, at: start + 5 * number(0..<pageSize / 5) + 1)
        case 6:
            // A byte at the beginning of a cell.
            let cell = Int(bytes[start + header + 8]) << 8 | Int(bytes[start + header + 9])
            let place = start + min(cell + number(0..<12), pageSize - 1)
            bytes[place] = UInt8(number(0..<256))
        case 7: set(number(0..<200), 1, at: [16, 18, 20, 28, 31, 32, 35, 36, 39, 52, 55, 64][number(0..<12)])
        case 8:
            // One page replaces another.
            let other = number(0..<pages) * pageSize
            let copy = Array(bytes[other..<other + pageSize])
            bytes.replaceSubrange(start..<start + pageSize, with: copy)
        default: bytes.removeLast(min(bytes.count - pageSize, pageSize * number(1..<3)))
        }
    }

    @Test("The walk accepts no changed file in which SQLite finds damage", arguments: forms)
    func findsDamage(form: Form) throws {
        let folder = try TemporaryFolder()
        let sound = try Array(Data(contentsOf: URL(fileURLWithPath: make(form, rows: 300, in: folder))))
        let rounds = ProcessInfo.processInfo.environment["FERRY_PAGE_CHANGES"].flatMap(Int.init) ?? 150
        let seed = UInt64(form.pageSize * 3 + form.autoVacuum)
        var random = SplitMix(seed: seed)
        var (found, stricter) = (0, 0)
        for round in 0..<rounds {
            var bytes = sound
            for _ in 0...Int.random(in: 0..<2, using: &random) { damage(&bytes, form.pageSize, &random) }
            let path = folder.file("changed.sqlite")
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            var isDamaged = true
            if let connection = try? Connection(path: path, mode: .readOnly),
                let findings = try? connection.damagedPagesBySQLite()
            {
                isDamaged = !findings.isEmpty
            }
            var isVouchedFor = false
            if let connection = try? Connection(path: path, mode: .readOnly), let walk = try? walk(connection) {
                isVouchedFor = walk.isSound
            }
            #expect(!(isDamaged && isVouchedFor), "round \(round), seed \(seed), \(form)")
            if isDamaged { found += 1 }
            if !isDamaged, !isVouchedFor { stricter += 1 }
        }
        // Fewer damaged files would prove nothing.
        #expect(found > rounds / 4, "\(found) of \(rounds) changes are damage")
        #expect(stricter < rounds / 4, "\(stricter) of \(rounds) changes are none to SQLite")
    }
}
