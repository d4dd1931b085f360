import FerryBase
import FerryEngine
import FerryMapping
import FerryPlan
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

/// Objects that a uniqueness constraint lets stand side by side; one merged with another is a difference.
@Suite("Verification of objects with nil in a constraint")
struct NilInUniqueTests {
    private static let testCase = Case(name: "unique-by-constraint")

    private func differences(_ damage: String, knownValueLimit: Int?) throws -> [VerificationSummary.Difference] {
        let folder = try TemporaryFolder()
        let run = try Self.testCase.prepare(in: folder, chunkSize: .automatic)
        let report = try run.run()
        try Connection(path: run.destinationPath, mode: .readWrite).execute(damage)
        var verification = Verification(
            mode: .full, step: run.step.resolved, sourcePath: run.sourcePath, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: run.folder, counts: report.counts, now: 700_000_000)
        verification.knownValueLimit = knownValueLimit
        return try verification.run().differences
    }

    @Test("A sound result has no differences", arguments: [1, nil])
    func sound(limit: Int?) throws {
        #expect(try differences("", knownValueLimit: limit).isEmpty)
    }

    @Test(
        "Merged objects, objects in the place of others, and merged links are found",
        arguments: [
            // The last two of equal values with nil.
            "DELETE FROM ZUSER WHERE Z_PK = 9",
            "DELETE FROM ZUSER WHERE Z_PK = 8; DELETE FROM Z_4USERS WHERE Z_5USERS = 8",
            "UPDATE Z_4USERS SET Z_5USERS = 5 WHERE Z_5USERS = 8",
            "UPDATE ZUSER SET ZDOMAIN = 'e' WHERE Z_PK = 6", "UPDATE ZUSER SET ZREMOTEID = NULL WHERE Z_PK = 6",
            "UPDATE ZUSER SET ZREMOTEID = 7 WHERE Z_PK = 5", "UPDATE ZUSER SET ZNAME = 'five' WHERE Z_PK = 5",
            "UPDATE ZUSER SET ZGROUP = NULL WHERE Z_PK = 1", "UPDATE ZUSER SET ZGROUP = 1 WHERE Z_PK = 7",
            "UPDATE ZPOST SET ZAUTHOR = 5 WHERE Z_PK = 3",
            "INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZDOMAIN) VALUES (10, 5, 1, 'd')",
        ], [1, nil])
    func damaged(sql: String, limit: Int?) throws {
        #expect(try !differences(sql, knownValueLimit: limit).isEmpty, "\(sql)")
    }
}
