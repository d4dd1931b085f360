import FerryBase
import FerryMapping
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

@Suite("A verification that is stopped")
struct ResumedVerificationTests {
    /// A library with so many more books that a walk through them stops on the way.
    private func library() throws -> Library {
        var library = try Library()
        try library.change(
            library.source,
            """
            WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 3099)
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPRICE) SELECT i, 1, 1, 'Book ' || i, 1.0 FROM n;
            UPDATE Z_PRIMARYKEY SET Z_MAX = 3099 WHERE Z_NAME = 'Book'
            """)
        try library.change(
            library.destination,
            """
            WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 3099)
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZHEADING, ZPRICE, ZSTATE) SELECT i, 3, 1, 'Book ' || i, 1.2, 1 FROM n;
            UPDATE Z_PRIMARYKEY SET Z_MAX = 3099 WHERE Z_NAME = 'Book';
            UPDATE ZBOOK SET ZHEADING = 'other' WHERE Z_PK % 500 = 3
            """)
        for index in library.counts.indices where library.counts[index].source == "Book" {
            guard ["BookToBook", "BookAuthor", "BookArtist"].contains(library.counts[index].name) else { continue }
            if library.counts[index].name == "BookToBook" {
                library.counts[index].read += 3000
                library.counts[index].written += 3000
            } else if library.counts[index].name == "BookAuthor" {
                library.counts[index].read += 3000
                library.counts[index].dropped += 3000
            }
        }
        return library
    }

    private func verification(_ library: Library, key: String?, stop: StopRequest = StopRequest()) -> Verification {
        var verification = Verification(
            mode: .full, step: library.step, sourcePath: library.source, isSourcePrivate: false,
            destinationPath: library.destination, workFolder: library.folder.path, counts: library.counts,
            now: 700_000_000.5, stop: stop)
        verification.resumeKey = key
        verification.leastNanoseconds = 0
        return verification
    }

    private func spent() -> StopRequest {
        StopRequest(
            following: StopRequest(), budgetNanoseconds: 1, budgetSpent: FerryError(.budgetSpent, "It is spent."))
    }

    @Test("Goes on between two rows and ends with the same report as one that was not stopped")
    func goesOn() throws {
        let library = try library()
        let whole = try verification(library, key: nil).run()
        #expect(whole.differences.contains { $0.check == "rows" && $0.entity == "Book" && $0.count == 6 })
        var calls = 0
        var report: VerificationReport?
        while report == nil {
            calls += 1
            try #require(calls < 500)
            do {
                report = try verification(library, key: "run", stop: spent()).run()
            } catch let error as FerryError where error.code == .budgetSpent {}
        }
        #expect(report?.differences == whole.differences)
        #expect(report?.checked == whole.checked && report?.notRecomputed == whole.notRecomputed)
        // Five stops in each walk over the books beside one for each check and table.
        #expect(calls > 40, "\(calls) calls")
        #expect(try FileLayer().list(library.folder.path).map(\.name).filter { $0.hasPrefix("verify") } == [])
    }

    @Test("Begins anew when the destination was written meanwhile, or for another run", arguments: [true, false])
    func beginsAnew(_ isWritten: Bool) throws {
        let library = try library()
        for _ in 0..<60 {
            do {
                _ = try verification(library, key: "run", stop: spent()).run()
            } catch let error as FerryError where error.code == .budgetSpent {}
        }
        if isWritten { try library.change(library.destination, "UPDATE ZBOOK SET ZHEADING = 'x' WHERE Z_PK = 200") }
        let report = try verification(library, key: isWritten ? "run" : "another", stop: StopRequest()).run()
        let rows = report.differences.first { $0.check == "rows" && $0.entity == "Book" }
        #expect(rows?.count == (isWritten ? 7 : 6))
    }
}
