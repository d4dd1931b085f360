import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("Another executor in a later call")
struct ExecutorChangeTests {
    @Test(
        "A run resumes as it began, and ends in the same store",
        arguments: [
            (.inPlace, [.automatic, .row]), (.inPlaceToOutput, [.row, .set, .automatic]),
            (.mixedToOutput, [.automatic, .row]),
        ] as [(Scenario.Kind, [ExecutorChoice])])
    func goesOn(_ kind: Scenario.Kind, _ executors: [ExecutorChoice]) throws {
        let whole = try Scenario(kind, form: .plain)
        try whole.run { $0.executor = executors[0] }
        let scenario = try Scenario(kind, form: .plain)
        for call in 0..<500 {
            do {
                try scenario.run {
                    $0.executor = executors[call % executors.count]
                    $0.limits.budget = .nanoseconds(1)
                }
                break
            } catch let error as FerryError {
                try #require(error.code == .budgetSpent, "call \(call): \(error)")
            }
        }
        #expect(try scenario.result(sortsColumns: true) == whole.result(sortsColumns: true))
        #expect(try scenario.leftovers() == [])
    }

    @Test(
        "An app's values in the header of its store are carried over", arguments: [Scenario.Kind.copy, .mixedToOutput])
    func header(_ kind: Scenario.Kind) throws {
        let scenario = try Scenario(kind, form: .plain)
        try Connection(path: scenario.store, mode: .readWrite)
            .execute("PRAGMA user_version = -7; PRAGMA application_id = 1234")
        try scenario.run()
        let store = try Connection(path: scenario.output ?? scenario.store, mode: .readOnly)
        #expect(try store.pragma("user_version")?.integer == -7 && store.pragma("application_id")?.integer == 1234)
    }
}
