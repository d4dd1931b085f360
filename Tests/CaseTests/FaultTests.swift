import FerryBase
import FerryEngine
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// The engine's writes, each made to fail once: what was committed stays, and the next call ends in the same store.
@Suite("Faults in a step")
struct FaultTests {
    /// Find-or-create and JSON write rows, associations and lookups in one commit; the ordered case settles afterwards;
    /// the keys of what is split out are counted from chunk to chunk.
    static let cases = Case.all.filter {
        ["authors-found-or-created", "for-each-json", "ordered-made", "split-out-with-new-keys"].contains($0.name)
    }

    /// Every n-th operation is tried; a prime, so that the three cases and all kinds of operations are met.
    static let stride = 7

    @Test("A step that fails at any operation resumes to the expected store", arguments: cases)
    func resumes(testCase: Case) throws {
        let expected = try String(contentsOfFile: "\(testCase.path)/expected.txt", encoding: .utf8)
        let operations = try countOperations(of: testCase)
        #expect(operations > 100)
        for operation in Swift.stride(from: 1, through: operations, by: Self.stride) {
            let folder = try TemporaryFolder()
            let faults = FaultPlan(trigger: operation, outcome: .fail)
            #expect(throws: (any Error).self, "operation \(operation)") {
                let run = try testCase.prepare(
                    in: folder, chunkSize: .rows(2), vfs: VFS(temporaryFolder: folder.path, faults: faults))
                _ = try run.run()
                try run.finish()
            }
            let outcome = try testCase.complete(testCase.prepare(in: folder, chunkSize: .rows(2)))
            #expect(try outcome.text() == expected, "resumed after operation \(operation)")
        }
    }

    private func countOperations(of testCase: Case) throws -> Int {
        let folder = try TemporaryFolder()
        let faults = FaultPlan()
        let run = try testCase.prepare(
            in: folder, chunkSize: .rows(2), vfs: VFS(temporaryFolder: folder.path, faults: faults))
        _ = try run.run()
        try run.finish()
        return faults.count
    }
}
