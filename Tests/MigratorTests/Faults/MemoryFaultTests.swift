import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// SQLite gets no memory, as near its upper limit in a process that runs nothing but Ferry.
@Suite("Memory that SQLite is refused")
struct MemoryFaultTests {
    private static let kinds: [Scenario.Kind] = [.copy, .inPlace, .mixed, .mapped]

    /// A few writes of SQLite's, from the first to the last of an undisturbed run.
    private static func writes(_ kind: Scenario.Kind) throws -> [Int] {
        let count = FaultPlan()
        try Scenario(kind, form: .plain).run(count)
        try #require(count.writes > 5, "the run writes by SQLite")
        return (0..<5).map { 1 + (count.writes - 1) * $0 / 5 }
    }

    @Test("A statement that is refused once succeeds with the smallest caches, in the same store", arguments: kinds)
    func succeedsWithLess(_ kind: Scenario.Kind) throws {
        let whole = try Scenario(kind, form: .plain)
        try whole.run()
        let expected = try whole.result()
        for write in try Self.writes(kind) {
            let scenario = try Scenario(kind, form: .plain)
            let faults = FaultPlan(withoutMemory: write...write)
            try scenario.run(faults)
            #expect(faults.writes > write, "the run went on after write \(write)")
            #expect(try scenario.result() == expected, "write \(write)")
            #expect(try scenario.leftovers() == [])
        }
    }

    @Test("A statement that is always refused ends the run, and leaves the store as before", arguments: kinds)
    func endsClearly(_ kind: Scenario.Kind) throws {
        let original = try Scenario(kind, form: .plain).content()
        let whole = try Scenario(kind, form: .plain)
        try whole.run()
        for write in try Self.writes(kind).prefix(3) {
            let scenario = try Scenario(kind, form: .plain)
            let error = #expect(throws: FerryError.self) { try scenario.run(FaultPlan(withoutMemory: write...Int.max)) }
            let said = "write \(write): \(String(describing: error))"
            #expect(error?.code == .outOfMemory, "\(said)")
            #expect(
                error?.remedy.description.contains("memory") == true, "write \(write): \(String(describing: error))")
            #expect(try scenario.content() == original, "write \(write)")
            try scenario.run()
            #expect(try scenario.result() == whole.result(), "write \(write)")
        }
    }
}
