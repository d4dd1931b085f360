import FerryBase
import FerryMapping
import FerryModel
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

@Suite("Verification")
struct VerificationTests {
    typealias Difference = VerificationSummary.Difference

    @Test("A correct destination has no differences", arguments: [VerifyMode.full, .quick, .none])
    func rightDestinationIsClean(mode: VerifyMode) throws {
        let library = try Library()
        let report = try library.verify(mode)
        #expect(report.differences == [])
        #expect(report.checked == (mode == .full ? 21 : 0))
        #expect(report.notRecomputed == 0)
    }

    @Test("The work folder and the stores stay unchanged")
    func leavesNothingBehind() throws {
        let library = try Library()
        let files = FileLayer()
        let names = { try files.list(library.folder.path).map(\.name).sorted() }
        let before = try (names(), files.read(library.source), files.read(library.destination))
        _ = try library.verify()
        let after = try (names(), files.read(library.source), files.read(library.destination))
        #expect(before == after)
    }

    struct Damage: CustomTestStringConvertible, Sendable {
        var sql: String
        /// The expected check of one difference.
        var check: VerificationCheck
        var entity: String?
        var count: Int64 = 1
        /// Whether quick verification finds the damage too.
        var isQuick: Bool
        var testDescription: String { "\(check): \(sql)" }
    }

    static let damages: [Damage] = [
        // Rows
        Damage(
            sql: "UPDATE ZBOOK SET ZHEADING = 'the trial' WHERE Z_PK = 1", check: .rows, entity: "Book", isQuick: false
        ),
        Damage(
            sql: "UPDATE ZBOOK SET ZPRICE = 12.000000000000002 WHERE Z_PK = 1", check: .rows, entity: "Book",
            isQuick: false),
        Damage(sql: "UPDATE ZBOOK SET ZPUBLISHED = 100.5", check: .rows, entity: "Book", count: 4, isQuick: false),
        Damage(sql: "UPDATE ZBOOK SET ZSTATE = 2 WHERE Z_PK = 7", check: .rows, entity: "Book", isQuick: false),
        Damage(
            sql: "UPDATE ZBOOK SET ZHEADING = CAST(ZHEADING AS BLOB) WHERE Z_PK = 2", check: .rows, entity: "Book",
            isQuick: false),
        Damage(sql: "UPDATE ZBOOK SET Z_OPT = 1 WHERE Z_PK = 1", check: .rows, entity: "Book", isQuick: false),
        Damage(sql: "UPDATE ZFILE SET Z_OPT = 2 WHERE Z_PK = 1", check: .rows, entity: "File", isQuick: false),
        Damage(sql: "UPDATE ZFILE SET ZOWNER = 'Ben' WHERE Z_PK = 2", check: .rows, entity: "File", isQuick: false),
        Damage(
            sql: "UPDATE ZAUTHOR SET ZNAME = 'Kafka' WHERE Z_PK = 1", check: .rows, entity: "Author", isQuick: false),
        Damage(sql: "UPDATE ZARTIST SET ZPLAYS = 9.0 WHERE Z_PK = 1", check: .rows, entity: "Artist", isQuick: false),
        Damage(
            sql: "UPDATE ZVEHICLE SET ZPAYLOAD = 1.0 WHERE Z_PK = 4", check: .rows, entity: "Vehicle", isQuick: false),
        Damage(sql: "UPDATE ZVEHICLE SET Z_ENT = 8 WHERE Z_PK = 6", check: .rows, entity: "Truck", isQuick: false),
        Damage(sql: "DELETE FROM ZBOOK WHERE Z_PK = 7", check: .rows, entity: "Book", isQuick: false),
        Damage(
            sql: "INSERT INTO ZARTIST (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (3, 1, 1, 'Cy')", check: .rows,
            entity: "Artist", isQuick: false),
        Damage(
            sql: "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZHEADING, ZSTATE) VALUES (3, 3, 1, 'Draft', 1)", check: .rows,
            entity: "Book", isQuick: false),
        Damage(
            sql: "UPDATE ZFILE SET Z_PK = 9 WHERE Z_PK = 4", check: .rows, entity: "File", count: 2, isQuick: false),
        // Counts
        Damage(sql: "DELETE FROM ZBOOK WHERE Z_PK = 7", check: .counts, entity: "Book", isQuick: true),
        Damage(sql: "UPDATE ZVEHICLE SET Z_ENT = 8 WHERE Z_PK = 6", check: .counts, entity: "Truck", isQuick: true),
        Damage(
            sql: "UPDATE ZTAG SET Z_ENT = Z_ENT + 0.0000004", check: .counts, entity: "Tag", count: 6, isQuick: true),
        Damage(
            sql: "UPDATE ZTAG SET Z_ENT = CAST(CAST(Z_ENT AS TEXT) AS BLOB)", check: .counts, entity: "Tag", count: 6,
            isQuick: true),
        Damage(sql: "UPDATE ZTAG SET Z_ENT = 77", check: .counts, entity: "Tag", count: 6, isQuick: true),
        // Relationships
        Damage(
            sql: "UPDATE ZBOOK SET ZUSER = 2 WHERE Z_PK = 1", check: .relationships, entity: "Book", isQuick: false),
        Damage(
            sql: "UPDATE ZBOOK SET ZUSER = NULL, Z_FOK_USER = NULL WHERE Z_PK = 1", check: .relationships,
            entity: "Book", isQuick: false),
        Damage(
            sql: "UPDATE ZFILE SET ZBOOK = 1, Z_FOK_BOOK = 3072 WHERE Z_PK = 3", check: .relationships, entity: "File",
            isQuick: false),
        Damage(
            sql: "DELETE FROM Z_2BOOKS WHERE Z_3BOOKS = 5", check: .relationships, entity: "Author", isQuick: false),
        Damage(sql: "INSERT INTO Z_2BOOKS VALUES (2, 7)", check: .relationships, entity: "Author", isQuick: false),
        Damage(
            sql: "UPDATE Z_3TAGS SET Z_6TAGS = 1 WHERE Z_3TAGGED = 5", check: .relationships, entity: "Book", count: 2,
            isQuick: false),
        Damage(
            sql: "UPDATE ZUSER SET ZPROFILE = NULL; UPDATE ZPROFILE SET ZUSER = NULL", check: .relationships,
            entity: "Profile", count: 2, isQuick: false),
        // Positions
        Damage(
            sql: "UPDATE ZBOOK SET Z_FOK_USER = 1024 WHERE Z_PK = 1", check: .relationships, entity: "Book",
            isQuick: false),
        Damage(
            sql: "UPDATE Z_3TAGS SET Z_FOK_6TAGS = 2048 WHERE Z_6TAGS = 1 AND Z_3TAGGED = 1", check: .relationships,
            entity: "Book", isQuick: false),
        Damage(
            sql: "UPDATE ZFILE SET Z_FOK_BOOK = 3072 WHERE Z_PK = 4", check: .relationships, entity: "File",
            isQuick: false),
        // References
        Damage(sql: "UPDATE ZBOOK SET ZUSER = 99 WHERE Z_PK = 1", check: .references, entity: "Book", isQuick: true),
        Damage(
            sql: "UPDATE Z_2BOOKS SET Z_3BOOKS = 3 WHERE Z_3BOOKS = 5", check: .references, entity: "Author",
            isQuick: true),
        Damage(sql: "UPDATE Z_2BOOKS SET Z_2AUTHORS = 3", check: .references, entity: "Book", count: 3, isQuick: true),
        Damage(sql: "UPDATE ZPROFILE SET ZUSER = 2", check: .references, entity: "User", isQuick: true),
        Damage(
            sql: "UPDATE ZBOOK SET Z_FOK_USER = Z_FOK_USER + 0.5", check: .references, entity: "Book", count: 3,
            isQuick: true),
        Damage(sql: "UPDATE ZBOOK SET Z_FOK_USER = NULL", check: .references, entity: "Book", count: 3, isQuick: true),
        Damage(
            sql: "UPDATE ZBOOK SET Z_FOK_USER = 2048 WHERE Z_PK = 7", check: .references, entity: "Book", isQuick: true
        ),
        Damage(
            sql: "UPDATE Z_3TAGS SET Z_FOK_6TAGS = NULL WHERE Z_3TAGGED = 5", check: .references, entity: "Book",
            isQuick: true),
        // Constraints
        Damage(
            sql: "UPDATE ZBOOK SET ZHEADING = NULL WHERE Z_PK < 5", check: .constraints, entity: "Book", count: 2,
            isQuick: true),
        Damage(
            sql: "DROP INDEX Z_Author_UNIQUE_name; UPDATE ZAUTHOR SET ZNAME = 'Franz Kafka'", check: .constraints,
            entity: "Author", isQuick: true),
        // Keys
        Damage(
            sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'File'", check: .keys, entity: "File", isQuick: true
        ),
        Damage(
            sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = 8 WHERE Z_NAME = 'Book'", check: .keys, entity: "Book", isQuick: true
        ),
        // Schema
        Damage(sql: "DROP TABLE ZARTIST", check: .schema, entity: "Artist", isQuick: true),
        Damage(sql: "ALTER TABLE ZBOOK ADD COLUMN ZEXTRA INTEGER", check: .schema, entity: "Book", isQuick: true),
        Damage(
            sql: "ALTER TABLE ZBOOK RENAME COLUMN ZPRICE TO ZCOST", check: .schema, entity: "Book", count: 2,
            isQuick: true),
        Damage(sql: "DROP TABLE Z_2BOOKS", check: .schema, entity: "Author", isQuick: true),
        Damage(sql: "DROP INDEX Z_Book_byHeading", check: .schema, entity: "Book", isQuick: true),
        Damage(
            sql: "DROP INDEX ZBOOK_ZUSER_INDEX; CREATE INDEX ZBOOK_ZUSER_INDEX ON ZBOOK (ZUSER, Z_PK)", check: .schema,
            entity: "Book", isQuick: true),
        Damage(
            sql: "UPDATE Z_PRIMARYKEY SET Z_ENT = 12 WHERE Z_NAME = 'File'", check: .schema, entity: "File",
            isQuick: true),
        Damage(
            sql: "UPDATE Z_PRIMARYKEY SET Z_SUPER = 0 WHERE Z_NAME = 'Truck'", check: .schema, entity: "Truck",
            isQuick: true),
        Damage(sql: "CREATE TABLE ZLEFTOVER (Z_PK INTEGER PRIMARY KEY)", check: .schema, entity: nil, isQuick: true),
        // Metadata
        Damage(
            sql: "UPDATE Z_METADATA SET Z_UUID = 'FFFFFFFF-8E2D-4B6A-9C1D-2F3A4B5C6D7E'", check: .metadata,
            entity: nil, isQuick: true),
        Damage(sql: "DELETE FROM Z_METADATA", check: .metadata, entity: nil, isQuick: true),
    ]

    @Test("A damage is found by its check, in its entity, with its count", arguments: damages)
    func findsDamage(damage: Damage) throws {
        let library = try Library()
        try library.change(library.destination, damage.sql)
        for mode in [VerifyMode.full, .quick] {
            let differences = try library.verify(mode, jobs: 1).differences
            #expect(try library.verify(mode, jobs: 3).differences == differences)
            let found = differences.first { $0.check == damage.check && $0.entity == damage.entity }
            #expect(found?.count == (mode == .full || damage.isQuick ? damage.count : nil), "\(differences)")
        }
        #expect(try library.verify(.none).differences == [])
    }

    @Test("An example names the place, never the value")
    func examplesArePlaces() throws {
        let library = try Library()
        try library.change(library.destination, "UPDATE ZBOOK SET ZHEADING = 'secret' WHERE Z_PK = 5")
        let expected = Difference(check: .rows, entity: "Book", count: 1, example: "ZBOOK Z_PK 5 ZHEADING")
        #expect(try library.verify().differences == [expected])
    }

    @Test("Metadata of another version, or without an app's own key, is found", arguments: [0, 1, 2, 3])
    func findsWrongMetadata(kind: Int) throws {
        let library = try Library()
        let connection = try Connection(path: library.destination, mode: .readWrite)
        var metadata = try StoreMetadata.read(from: connection)
        switch kind {
        case 0: metadata = metadata.restamped(for: library.step.source)
        case 1: metadata.properties["app.key"] = nil
        case 2: metadata.properties["NSStoreModelVersionHashesDigest"] = .string("AAAA")
        default: metadata.properties["NSStoreModelVersionChecksumKey"] = nil
        }
        try metadata.write(to: connection)
        let difference = try library.verify(.quick).differences.first
        #expect(difference?.check == .metadata)
        #expect(difference?.count == (kind == 0 ? 4 : 1))
    }

    @Test("An index without an entry is found, also where quick_check finds nothing")
    func findsMissingIndexEntry() throws {
        let library = try Library()
        // While the index is declared partial, inserts leave out the entries of one user's books.
        let rename = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql ="
        let place = "WHERE name = 'ZBOOK_ZUSER_INDEX'"
        try library.change(library.destination, "\(rename) sql || ' WHERE ZUSER <> 1' \(place)")
        try library.change(library.destination, "REINDEX ZBOOK_ZUSER_INDEX")
        try library.change(library.destination, "\(rename) replace(sql, ' WHERE ZUSER <> 1', '') \(place)")
        let expected = Difference(check: .indexes, entity: "Book", count: 3, example: "index ZBOOK_ZUSER_INDEX")
        #expect(try library.verify(.quick).differences.contains(expected))
    }

    @Test("Counts that do not balance, or that differ from the source's, are found", arguments: 0..<5)
    func findsWrongCounts(kind: Int) throws {
        var library = try Library()
        switch kind {
        case 0: library.counts[0].dropped = 0
        case 1: library.counts[1].read += 1
        case 2: library.counts[4].merged = 0
        case 3: library.counts.removeLast()
        default:
            // The counts balance, and the sum is correct; only a new count finds the difference.
            library.counts[6].read += 1
            library.counts[6].merged += 1
        }
        let full = try library.verify().differences
        #expect(full.contains { $0.check == .counts })
        let quick = try library.verify(.quick).differences
        #expect(quick.contains { $0.check == .counts } == (kind != 4))
    }

    @Test("A violation that the source already had is no difference for the same object")
    func sourceDamageIsNoDifference() throws {
        let library = try Library()
        try library.change(
            library.source,
            """
            UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 2;
            UPDATE ZBOOK SET ZUSER = 77 WHERE Z_PK = 5;
            INSERT INTO Z_1TAGS VALUES (2, 88, 4096);
            """)
        try library.change(
            library.destination,
            """
            UPDATE ZBOOK SET ZHEADING = NULL WHERE Z_PK = 2;
            UPDATE ZBOOK SET ZUSER = NULL, Z_FOK_USER = NULL WHERE Z_PK = 5;
            UPDATE ZFILE SET ZTITLE = NULL WHERE Z_PK = 1;
            DELETE FROM ZFILE WHERE Z_PK = 4;
            UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'File';
            """)
        var changed = library
        changed.counts[5].read = 3
        changed.counts[5].written = 3
        #expect(try changed.verify().differences == [])
    }

    @Test("A stop request ends verification with its reason")
    func stops() throws {
        let library = try Library()
        let stop = StopRequest()
        stop.request(FerryError(.interrupted, "Stopped."))
        let error = #expect(throws: FerryError.self) { try library.verify(stop: stop) }
        #expect(error?.code == .interrupted)
        #expect(try FileLayer().exists(library.folder.path + "/verify-lookups.sqlite") == false)
    }
}
