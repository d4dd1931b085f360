import FerryBase
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

@Suite("Verification in parts")
struct PartsTests {
    typealias Difference = VerificationSummary.Difference

    /// Keys so distant that a few books spread over many parts.
    private func library() throws -> Library { try Library.withMoreBooks(200, spacing: 9_000) }

    @Test("Differences and the example are the same for any number of jobs")
    func isTheSameForAnyNumber() throws {
        let library = try library()
        #expect(try library.verify().differences == [])
        // Damages several parts, the last ones first.
        try library.change(
            library.destination,
            """
            UPDATE ZBOOK SET ZHEADING = 'other' WHERE Z_PK IN (1791100, 900100, 99100);
            DELETE FROM ZBOOK WHERE Z_PK = 450100;
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZHEADING, ZSTATE) VALUES (450101, 3, 1, 'x', 1);
            DELETE FROM Z_3TAGS WHERE Z_3TAGGED = 1782100;
            UPDATE Z_3TAGS SET Z_FOK_6TAGS = 1 WHERE Z_3TAGGED = 1350100;
            """)
        let reports = try [1, 2, 3, 7].map { try library.verify(jobs: $0) }
        for report in reports { #expect(report.differences == reports[0].differences) }
        #expect(Set(reports.map(\.checked)).count == 1)
        let found = reports[0].differences
        #expect(
            found.contains(Difference(check: .rows, entity: "Book", count: 5, example: "ZBOOK Z_PK 99100 ZHEADING")))
        // The link of the deleted row and that of 1782100, which is missing; then a wrong position.
        #expect(
            found.contains {
                $0.check == .relationships && $0.entity == "Book" && $0.count == 2
                    && $0.example == "Z_3TAGS Z_3TAGGED 1782100"
            }, "\(found)")
    }

    @Test("New objects in many parts are found missing, wrong or surplus, equally for any number of jobs")
    func comparesNewObjects() throws {
        let library = try Library.withMoreUsers(150, spacing: 9_000)
        #expect(try library.verify().differences == [])
        try library.change(
            library.destination,
            """
            UPDATE ZFILE SET ZTITLE = 'other' WHERE Z_PK IN (10, 140);
            UPDATE ZFILE SET ZUSER = 1 WHERE Z_PK = 77;
            UPDATE ZFILE SET Z_FOK_BOOK = 3072 WHERE Z_PK = 78;
            DELETE FROM ZFILE WHERE Z_PK = 120;
            INSERT INTO ZFILE (Z_PK, Z_ENT, Z_OPT) VALUES (900, 4, 1);
            UPDATE Z_PRIMARYKEY SET Z_MAX = 900 WHERE Z_NAME = 'File'
            """)
        let reports = try [1, 2, 3, 7].map { try library.verify(jobs: $0) }
        for report in reports { #expect(report.differences == reports[0].differences) }
        #expect(Set(reports.map(\.checked)).count == 1)
        let found = reports[0].differences
        #expect(found.contains(Difference(check: .rows, entity: "File", count: 4, example: "ZFILE Z_PK 10 ZTITLE")))
        // The two keys of the deleted row; another user's file; then a wrong position.
        #expect(
            found.contains(
                Difference(check: .relationships, entity: "File", count: 4, example: "ZFILE Z_PK 120 ZBOOK")),
            "\(found)")
    }

    @Test("Keys are compared with the rows that hold them, without a lookup or a scratch table")
    func comparesKeysWithRows() throws {
        let library = try Library.withMoreUsers(20, spacing: 1)
        let statements = SharedList<String>()
        let report = try library.verify(trace: { event in statements.append(event.text) })
        #expect(report.differences == [])
        let texts = statements.all
        // Verification only reads the rows of files.
        let lookedUp = ["association_5", "SELECT ZBOOK FROM destination.ZFILE"]
        #expect(texts.filter { text in lookedUp.contains { text.contains($0) } } == [])
        // One walk reads all links, instead of a query for each user.
        #expect(texts.filter { $0.contains("FROM source.ZBOOK t WHERE t.ZUSER = ?") } == [])
        #expect(texts.contains { $0.contains("FROM source.ZBOOK t WHERE t.ZUSER >= ?1") })
    }

    @Test("A part reports its progress while it runs", arguments: [1, 3])
    func tellsProgress(_ jobs: Int) throws {
        let library = try Library.withMoreBooks(60_000)
        let told = SharedList<ProgressUpdate>()
        _ = try library.verify(jobs: jobs, progress: { update in told.append(update) })
        let books = told.all.filter { $0.subject == "ZBOOK" && $0.total == 60_004 }
        // All rows are in one part, with a report every 4096 rows, of which the calling thread takes the latest between
        // two rows of its own work.
        #expect(books.contains { (1..<60_004).contains($0.done) })
        #expect(books.last?.done == 60_004)
        #expect(zip(books, books.dropFirst()).allSatisfy { $0.done <= $1.done })
    }

    struct Change: CustomTestStringConvertible, Sendable {
        var what: String
        var source = ""
        var destination = ""
        var testDescription: String { what }
    }

    /// Permitted differences between the stores' links, and the reports that must follow nevertheless.
    static let sound = [
        Change(what: "A dangling link in the source", source: "INSERT INTO Z_1TAGS VALUES (9100, 88, 4096)"),
        Change(what: "A link from a missing row in the source", source: "INSERT INTO Z_1TAGS VALUES (101, 1, 4096)"),
        Change(what: "A dangling key in the source", source: "UPDATE ZBOOK SET ZUSER = 77 WHERE Z_PK = 100"),
    ]

    @Test("Links that cannot be carried over are no difference, and cause no lookup of each link", arguments: sound)
    func merges(_ change: Change) throws {
        let library = try library()
        try library.change(library.source, change.source)
        let statements = SharedList<String>()
        let report = try library.verify(trace: { event in statements.append(event.text) })
        #expect(report.differences == [])
        // Neither the links of tags, nor those of authors, who were found or created from the books themselves.
        let sorted = statements.all.filter { $0.hasPrefix("SELECT DISTINCT") }
        #expect(sorted.filter { $0.contains("FROM destination.Z_") } == [])
    }

    static let wrong = [
        Change(
            what: "A link that the destination alone has", destination: "INSERT INTO Z_3TAGS VALUES (9100, 3, 4096)"),
        Change(
            what: "A dangling link in both stores",
            source: "INSERT INTO Z_1TAGS VALUES (9100, 88, 4096)",
            destination: "INSERT INTO Z_3TAGS VALUES (9100, 88, 4096)"),
        Change(what: "A missing link", destination: "DELETE FROM Z_3TAGS WHERE Z_3TAGGED = 9100"),
        Change(what: "A missing position", destination: "UPDATE Z_3TAGS SET Z_FOK_6TAGS = NULL"),
        Change(
            what: "A missing position in both stores", source: "UPDATE Z_1TAGS SET Z_FOK_3TAGS = NULL",
            destination: "UPDATE Z_3TAGS SET Z_FOK_6TAGS = NULL"),
        Change(
            what: "A position of another storage class",
            destination: "UPDATE Z_3TAGS SET Z_FOK_6TAGS = 'x' WHERE Z_3TAGGED = 9100"),
        Change(what: "A missing key", destination: "UPDATE ZBOOK SET ZUSER = NULL, Z_FOK_USER = NULL"),
        Change(
            what: "A dangling key in both stores", source: "UPDATE ZBOOK SET ZUSER = 77 WHERE Z_PK = 100",
            destination: "UPDATE ZBOOK SET ZUSER = 77, Z_FOK_USER = 2048 WHERE Z_PK = 100"),
        Change(
            what: "A key that is a text", destination: "UPDATE ZBOOK SET ZUSER = 'x', Z_FOK_USER = 1 WHERE Z_PK = 100"),
        Change(
            what: "A position of no key", destination: "UPDATE ZBOOK SET Z_FOK_USER = 2048 WHERE Z_PK = 100"),
    ]

    @Test("Links that the source does not have are found", arguments: wrong)
    func findsLinks(_ change: Change) throws {
        let library = try library()
        try library.change(library.source, change.source)
        try library.change(library.destination, change.destination)
        let found = try library.verify().differences
        let checks: Set<VerificationCheck> = [.relationships, .references]
        #expect(found.contains { checks.contains($0.check) && $0.entity == "Book" }, "\(found)")
    }
}
