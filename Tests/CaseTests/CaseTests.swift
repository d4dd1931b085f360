import FerryBase
import FerryEngine
import FerryMapping
import FerryPlan
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Every case with every chunk size; `FERRY_RECORD=1` writes the results as the new expectations.
@Suite("Cases")
struct CaseTests {
    static let isRecording = ProcessInfo.processInfo.environment["FERRY_RECORD"] == "1"
    static let chunkSizes: [ChunkSize] = [.automatic, .rows(1), .rows(7)]

    @Test("There are cases with a mapping model and inferred ones: without cases the other tests would pass")
    func areThere() { #expect(Set(Case.all.map(\.isInferred)).count == 2) }

    @Test("A case gives the expected store with any chunk size", arguments: Case.all)
    func expected(of testCase: Case) throws {
        let expectation = "\(testCase.path)/expected.txt"
        for chunkSize in Self.chunkSizes {
            let folder = try TemporaryFolder()
            let outcome = try testCase.run(in: folder, chunkSize: chunkSize, executor: .set)
            let text = try outcome.text()
            if Self.isRecording, chunkSize == .automatic {
                try text.write(toFile: expectation, atomically: true, encoding: .utf8)
            }
            #expect(text == (try String(contentsOfFile: expectation, encoding: .utf8)), "chunk size \(chunkSize)")
            for counts in outcome.counts { #expect(counts.balances, "\(counts.name)") }
            #expect(outcome.verification.differences.isEmpty, "\(outcome.verification.differences)")
        }
    }

    @Test(
        "A policy with the default behaviour gives the same store",
        arguments: Case.all.filter { !$0.isInferred })
    func policies(of testCase: Case) throws {
        struct Policy: EntityMigrationPolicy {}
        let folder = try TemporaryFolder()
        let outcome = try testCase.run(in: folder, chunkSize: .rows(7), policy: { Policy() })
        #expect(try outcome.text() == String(contentsOfFile: "\(testCase.path)/expected.txt", encoding: .utf8))
        #expect(outcome.verification.differences.isEmpty, "\(outcome.verification.differences)")
    }
}
