import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("A budget")
struct BudgetTests {
    /// The kinds of runs with a budget: all migrations; a clone is no unit of its own.
    static let kinds = Scenario.Kind.allCases.filter { ![.snapshot, .rollback].contains($0) && !$0.clones }

    /// The kinds with a piece of work that no other kind has, and a store with a write-ahead log; the sweep tries all kinds.
    private static let differing: [(Scenario.Kind, TinyStore.Form)] =
        (Sweep.stride != nil ? kinds : [.inPlaceToOutput, .staged, .keptBesidePolicy]).map { ($0, .plain) }
        + [(.mixedToOutput, .filledLog), (.inPlace, .closedLog)]

    /// Repeats calls with an exhausted budget until a call does the last piece of work.
    private func loop(_ scenario: Scenario) throws -> Int {
        for call in 1...500 {
            do {
                try scenario.run { $0.limits.budget = .nanoseconds(1) }
                return call
            } catch let error as FerryError {
                try #require(error.code == .budgetSpent, "\(error)")
                #expect(error.code.consequence == .resumable)
                #expect(error.message.contains(" of work, which "), "\(error.message)")
                #expect(error.remedy.description.contains("again"))
            }
        }
        Issue.record("500 calls did not end the run.")
        return 500
    }

    @Test(
        "Each call does one unit even with an exhausted budget, until the run ends in the same store",
        arguments: differing)
    func endsInUnits(_ kind: Scenario.Kind, _ form: TinyStore.Form) throws {
        let whole = try Scenario(kind, form: form)
        try whole.run()
        let scenario = try Scenario(kind, form: form)
        let calls = try loop(scenario)
        #expect(try scenario.result(sortsColumns: true) == whole.result(sortsColumns: true))
        #expect(try scenario.leftovers() == [])
        // What only renames is one unit beside the snapshot.
        #expect(
            calls
                >= ([.inPlace, .inPlaceByLog, .unchangedToOutput].contains(kind)
                    ? 3 : kind == .inPlaceToOutput ? 8 : 20),
            "\(calls) calls")
    }

    @Test("A large enough budget changes nothing")
    func isNotSpent() throws {
        let small = try SmallMigration()
        let report = try small.migrator().migrate(.allowingLosses { $0.limits.budget = .seconds(3_600) })
        #expect(report.outcome == .migrated && !report.resumed)
    }

    /// Chance decides which statement is interrupted; the interrupt must not be the reported reason.
    @Test(
        "A budget that ends during a long statement is the reason for the stop",
        arguments: Sweep.stride != nil ? Array(1...8) : [2, 5])
    func isReason(_ statement: Int) throws {
        let small = try SmallMigration()
        let (isIn, statements) = (Locked(Phase.preflight), Locked(0))
        var configuration = Configuration.allowingLosses { $0.limits.budget = .milliseconds(500) }
        configuration.trace = { event in
            guard event.kind == .statement, event.text.hasPrefix("SELECT"), isIn.withLock({ $0 == .rows }) else {
                return
            }
            let number = statements.withLock { statements in
                statements += 1
                return statements
            }
            if number == statement { Thread.sleep(forTimeInterval: 1.2) }
        }
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(configuration) { event in
                if case .phase(let phase, _) = event { isIn.withLock { $0 = phase } }
            }
        }
        #expect(error?.code == .budgetSpent, "\(String(describing: error))")
    }

    @Test("A requested stop takes precedence, with its own reason")
    func stopComesFirst() throws {
        let small = try SmallMigration()
        let stop = StopRequest()
        stop.request(FerryError(.interrupted, "Stopped by hand."))
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(.allowingLosses { $0.limits.budget = .nanoseconds(1) }, stop: stop)
        }
        #expect(error?.code == .interrupted)
    }
}

@Suite("A held swap")
struct HeldSwapTests {
    private let held: (inout Configuration) -> Void = { $0.holdsSwap = true }

    private func hold(_ scenario: Scenario) throws {
        let error = #expect(throws: FerryError.self) { try scenario.run(nil, held) }
        #expect(error?.code == .swapHeld && error?.code.consequence == .resumable)
        #expect(error?.remedy.description.contains("without `holdsSwap`") == true)
    }

    @Test(
        "Leaves the store unchanged, also in a second call, and the next call only swaps", arguments: BudgetTests.kinds)
    func holds(_ kind: Scenario.Kind) throws {
        let whole = try Scenario(kind, form: .filledLog)
        try whole.run()
        let scenario = try Scenario(kind, form: .filledLog)
        let before = try StoreBytes(scenario.store)
        try hold(scenario)
        try hold(scenario)
        #expect(try StoreBytes(scenario.store) == before)
        let place = URL(fileURLWithPath: scenario.output ?? scenario.store)
        #expect(try StoreFiles(place).status().state == .interrupted)
        #expect(try StoreFiles(place).status().phase == .swap)
        try scenario.run()
        #expect(try scenario.result() == whole.result())
        #expect(try scenario.leftovers() == [])
    }

    @Test("Lets an app use the store meanwhile, and refuses to swap over the app's writes", arguments: [true, false])
    func noticesWrites(_ writes: Bool) throws {
        let scenario = try Scenario(.copy, form: .plain)
        try hold(scenario)
        do {
            let app = try Connection(path: scenario.store, mode: .readWrite)
            #expect(try app.integer("SELECT count(*) FROM ZBOOK") == 12)
            if writes { try app.execute("UPDATE ZBOOK SET ZTITLE = 'new' WHERE Z_PK = 1") }
        }
        guard writes else { return try scenario.run() }
        let error = #expect(throws: FerryError.self) { try scenario.run() }
        #expect(error?.code == .sourceChanged && error?.code.consequence == .refused)
        #expect(error?.remedy.description.contains("restart = true") == true)
        try scenario.run { $0.restart = true }
        let store = try Connection(path: scenario.store, mode: .readWrite)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZHEADING = 'new'") == 1)
    }
}
