import FerryBase
import Testing

@Suite("The memory budget")
struct MemoryBudgetTests {
    @Test("The shares and the program stay below the limit", arguments: [24, 25, 32, 48, 64, 128, 1024])
    func staysBelowLimit(_ mebibytes: Int) {
        let budget = MemoryBudget(limit: mebibytes << 20)
        let shares = [
            budget.guardCache + budget.workingCaches + budget.queue + budget.lookups,
            budget.guardCache + budget.snapshot,
        ]
        for sum in shares { #expect(sum + MemoryBudget.program <= budget.limit) }
    }

    @Test("At 32 MiB databases have 8 MiB, lookups 4 MiB, and rows in transit 2 MiB")
    func sharesDefaultLimit() {
        let budget = MemoryBudget()
        #expect(budget.limit == 32 << 20)
        #expect(budget.databases == 8 << 20)
        #expect(budget.lookups == 4 << 20)
        #expect(budget.queue == 2 << 20)
    }

    @Test("A limit below the program's need is refused with the lowest possible limit")
    func refusesTooLittle() {
        let error = #expect(throws: FerryError.self) { try MemoryBudget.check(24 << 20 - 1) }
        #expect(error?.code == .usage)
        #expect(error?.remedy == "Give at least 24MiB.")
        #expect(throws: Never.self) { try MemoryBudget.check(24 << 20) }
    }
}
