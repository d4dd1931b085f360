import FerryBase
import FerryEngine
import FerryPlan
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

/// JSON that a thread reads ahead of the comparison: the same findings as without it.
@Suite("JSON read ahead")
struct ElementsAheadTests {
    private func report(
        _ damage: String, source change: String = "", readsAhead: Bool, bytes: Int = 1
    ) throws -> VerificationSummary {
        let folder = try TemporaryFolder()
        let run = try Case(name: "for-each-json").prepare(in: folder, chunkSize: .automatic)
        let report = try run.run()
        try Connection(path: run.destinationPath, mode: .readWrite).execute(damage)
        try Connection(path: run.sourcePath, mode: .readWrite).execute(change)
        var verification = Verification(
            mode: .full, step: run.step.resolved, sourcePath: run.sourcePath, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: run.folder, counts: report.counts, now: 700_000_000)
        // Other walkers are not started for as few rows, and one job reads nothing ahead.
        verification.jobs = readsAhead ? 2 : 1
        verification.leastReadAhead = 0
        verification.readAheadBytes = bytes
        return try verification.run()
    }

    @Test(
        "A sound result has no differences, however few elements are handed over at a time",
        arguments: [1, 200, 1 << 20])
    func sound(bytes: Int) throws {
        let (ahead, alone) = (try report("", readsAhead: true, bytes: bytes), try report("", readsAhead: false))
        #expect(ahead.differences.isEmpty)
        #expect(ahead.checked == alone.checked && alone.checked > 0)
    }

    @Test(
        "A damage is found as without it",
        arguments: [
            "UPDATE ZARTIST SET ZPLAYS = 4 WHERE Z_PK = 1", "UPDATE ZARTIST SET ZNAME = 'Ben' WHERE Z_PK = 2",
            "DELETE FROM ZARTIST WHERE Z_PK = 3", "DELETE FROM ZARTIST", "UPDATE ZARTIST SET ZIMAGEURL = NULL",
            "INSERT INTO ZARTIST (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (9, 1, 1, 'Dee')",
        ])
    func damaged(sql: String) throws {
        let (ahead, alone) = (try report(sql, readsAhead: true), try report(sql, readsAhead: false))
        #expect(!ahead.differences.isEmpty && ahead.differences == alone.differences)
    }

    @Test(
        "A source that was changed meanwhile is a difference, and no thread waits for ever",
        arguments: [
            "UPDATE ZTRACK SET ZJSON = 'no json' WHERE Z_PK = 1", "DELETE FROM ZTRACK WHERE Z_PK > 1",
            "UPDATE ZTRACK SET ZJSON = '{\"artists\": 5}' WHERE Z_PK = 6",
        ])
    func changed(sql: String) throws {
        let (ahead, alone) = (
            try report("", source: sql, readsAhead: true), try report("", source: sql, readsAhead: false)
        )
        #expect(!ahead.differences.isEmpty && ahead.differences == alone.differences)
    }
}
