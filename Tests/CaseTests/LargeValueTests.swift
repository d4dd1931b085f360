import FerryBase
import FerryEngine
import FerryPlan
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Values above the limit are written in pieces; the result is the same.
@Suite("Values above the limit")
struct LargeValueTests {
    /// At 16 bytes nearly every row is too large for its chunk, at 60 bytes some are.
    @Test(
        "A case has the same result if rows are too large for their chunks", arguments: Case.all,
        [16, 60])
    func comesOutTheSame(testCase: Case, limit: Int) throws {
        let expected = try? String(contentsOfFile: "\(testCase.path)/expected.txt", encoding: .utf8)
        let folder = try TemporaryFolder()
        var run = try testCase.prepare(in: folder, chunkSize: .rows(7))
        run.options.valueLimit = limit
        let outcome = try testCase.complete(run)
        #expect(outcome.verification.differences.isEmpty)
        #expect(try outcome.text() == expected)
    }
}
