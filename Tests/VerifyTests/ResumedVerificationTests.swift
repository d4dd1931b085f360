import FerryBase
import FerryMapping
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

@Suite("A stopped verification")
struct ResumedVerificationTests {
    private func library() throws -> Library {
        let library = try Library.withMoreBooks(300, spacing: 1_000)
        try library.change(
            library.destination, "UPDATE ZBOOK SET ZHEADING = 'other' WHERE Z_PK > 9 AND Z_PK % 50000 = 100")
        return library
    }

    private func verification(
        _ library: Library, key: String?, jobs: Int, stop: StopRequest = StopRequest()
    ) -> Verification {
        var verification = Verification(
            mode: .full, step: library.step, sourcePath: library.source, isSourcePrivate: false,
            destinationPath: library.destination, workFolder: library.folder.path, counts: library.counts,
            now: 700_000_000.5, stop: stop)
        verification.resumeKey = key
        verification.leastNanoseconds = 0
        verification.jobs = jobs
        return verification
    }

    private func spent() -> StopRequest {
        StopRequest(
            following: StopRequest(), budgetNanoseconds: 1, budgetSpent: FerryError(.budgetSpent, "It is spent."))
    }

    @Test("Resumes between two ranges and ends with the same report as an unstopped one", arguments: [1, 3])
    func goesOn(_ jobs: Int) throws {
        let library = try library()
        let whole = try verification(library, key: nil, jobs: 1).run()
        #expect(whole.differences.contains { $0.check == .rows && $0.entity == "Book" && $0.count == 6 })
        var calls = 0
        var report: VerificationSummary?
        while report == nil {
            calls += 1
            try #require(calls < 500)
            do {
                report = try verification(library, key: "run", jobs: jobs, stop: spent()).run()
                // On a busy machine a statement may take longer than a stopped call waits.
            } catch let error as FerryError where error.code == .budgetSpent || error.code == .interrupted {}
        }
        #expect(report?.differences == whole.differences)
        #expect(report?.checked == whole.checked && report?.notRecomputed == whole.notRecomputed)
        // One for each range of the books, and one for each check and table.
        #expect(calls > 40, "\(calls) calls")
        #expect(try FileLayer().list(library.folder.path).map(\.name).filter { $0.hasPrefix("verify") } == [])
    }

    @Test("Restarts after a write to the destination, or for another run", arguments: [true, false])
    func beginsAnew(_ isWritten: Bool) throws {
        let library = try library()
        for _ in 0..<60 {
            do {
                _ = try verification(library, key: "run", jobs: 2, stop: spent()).run()
                // On a busy machine a statement may take longer than a stopped call waits.
            } catch let error as FerryError where error.code == .budgetSpent || error.code == .interrupted {}
        }
        if isWritten { try library.change(library.destination, "UPDATE ZBOOK SET ZHEADING = 'x' WHERE Z_PK = 1100") }
        let report = try verification(library, key: isWritten ? "run" : "another", jobs: 2).run()
        let rows = report.differences.first { $0.check == .rows && $0.entity == "Book" }
        #expect(rows?.count == (isWritten ? 7 : 6))
    }
}
