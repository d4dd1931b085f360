import FerryBase
import FerryEngine
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Each write of the engine fails once: committed rows stay, and the next call ends in the same store.
@Suite("Faults in a step")
struct FaultTests {
    /// Find-or-create and JSON write rows, associations and lookups in one commit; the ordered case sets orders
    /// afterwards; the keys of extracted objects are counted from chunk to chunk.
    static let cases = Case.all.filter {
        ["authors-found-or-created", "for-each-json", "ordered-made", "split-out-with-new-keys"].contains($0.name)
    }

    /// The test tries every n-th operation; a prime, so that it hits all kinds of operations in the three cases.
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
