import FerryBase
import Testing

@Suite("The memory budget")
struct MemoryBudgetTests {
    @Test("The shares and the program stay below the limit", arguments: [24, 25, 32, 48, 64, 128, 1024])
    func staysBelowLimit(_ mebibytes: Int) {
        let budget = MemoryBudget(limit: mebibytes << 20)
        let shares = [
            budget.guardCache + budget.workingCaches + budget.lookups,
            budget.guardCache + budget.snapshot,
        ]
        for sum in shares { #expect(sum + MemoryBudget.program <= budget.limit) }
    }

    @Test("At 32 MiB databases have 8 MiB, and lookups 4 MiB")
    func sharesDefaultLimit() {
        let budget = MemoryBudget()
        #expect(budget.limit == 32 << 20)
        #expect(budget.databases == 8 << 20)
        #expect(budget.lookups == 4 << 20)
    }

    @Test("What models and plan hold is taken from the shares", arguments: [0, 3, 6, 10, 13, 17])
    func subtractsHeldMemory(_ mebibytes: Int) {
        let (limit, held) = (32 << 20, mebibytes << 20)
        let (budget, whole) = (MemoryBudget(limit: limit, held: held), MemoryBudget(limit: limit))
        let shares = budget.guardCache + budget.workingCaches + budget.lookups
        #expect(shares + held + 11 << 20 <= limit)
        #expect(shares < whole.databases + whole.lookups || held <= 6 << 20)
        // The refused levels are those of the limit alone.
        #expect(budget.snapshot == whole.snapshot)
    }

    @Test("The least share remains however much models and plan hold")
    func keepsLeastShare() {
        for held in [20 << 20, 1 << 40, .max] {
            let budget = MemoryBudget(held: held)
            #expect(budget.databases >= 2 << 20)
        }
    }

    @Test("SQLite's own limits are below the process's, the soft one first")
    func limitsHeap() {
        for limit in [24, 32, 1024] {
            let budget = MemoryBudget(limit: limit << 20)
            #expect(budget.softHeap < budget.hardHeap)
            #expect(budget.hardHeap < budget.limit)
            #expect(budget.databases + budget.lookups <= budget.softHeap)
        }
    }

    @Test("A limit below the program's need is refused with the lowest possible limit")
    func refusesTooLittle() {
        let error = #expect(throws: FerryError.self) { try MemoryBudget.check(24 << 20 - 1) }
        #expect(error?.code == .usage)
        #expect(error?.remedy == "Use at least 24MiB.")
        #expect(throws: Never.self) { try MemoryBudget.check(24 << 20) }
    }
}
