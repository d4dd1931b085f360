import FerryBase
import Testing

@Suite("The memory of a verification")
struct VerificationBudgetTests {
    private static let own = 256 << 10

    @Test("Small schemas leave the whole share to the caches, as many walkers as fit into it")
    func ignoresSmallSchemas() {
        let budget = MemoryBudget()
        #expect(budget.verificationCaches(schema: 100 << 10) == budget.workingCaches)
        #expect(budget.walkers(atMost: 8, beside: Self.own, schema: 100 << 10) == 3)
        let caches = budget.walkerCaches(of: 3, beside: Self.own, schema: 100 << 10)
        #expect(3 * caches + Self.own <= budget.workingCaches)
    }

    @Test("Large schemas take the memory of walkers and of their caches", arguments: [24, 32, 64, 256])
    func countsSchemas(_ mebibytes: Int) {
        let budget = MemoryBudget(limit: mebibytes << 20)
        var (walkers, caches) = (Int.max, Int.max)
        for schema in stride(from: 0, through: 4 << 20, by: 64 << 10) {
            let next = budget.walkers(atMost: 64, beside: Self.own, schema: schema)
            #expect((1...walkers).contains(next))
            let whole = budget.verificationCaches(schema: schema)
            #expect(whole <= caches && whole > Self.own)
            let each = budget.walkerCaches(of: next, beside: Self.own, schema: schema)
            #expect(each > 0 && next * each + Self.own <= budget.workingCaches)
            (walkers, caches) = (next, whole)
        }
        #expect(walkers == 1)
    }
}
