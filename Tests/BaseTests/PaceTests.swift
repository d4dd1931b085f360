import FerryBase
import Foundation
import Testing

@Suite("Pace")
struct PaceTests {
    private static func orders(_ change: (inout Pace.Orders) -> Void) -> Pace.Orders {
        var orders = Pace.Orders()
        change(&orders)
        return orders
    }

    @Test("Paused work continues when it may, and tells both")
    func pauses() throws {
        let told = Locked<[Bool]>([])
        let (stop, pace) = (StopRequest(), Pace())
        pace.connect(onPause: { isAtRest in told.withLock { $0.append(isAtRest) } })
        stop.pace = pace
        try stop.checkBetweenUnits()
        #expect(told.withLock { $0 }.isEmpty)
        pace.set(Self.orders { $0.isPaused = true })
        let thread = Locked(false)
        try WorkThread.start("test") {
            while told.withLock({ $0 }).isEmpty { Clock.wait(milliseconds: 1) }
            thread.withLock { $0 = true }
            pace.set(Pace.Orders())
        }
        try stop.checkBetweenUnits()
        #expect(thread.withLock { $0 } && told.withLock { $0 } == [true, false])
    }

    @Test("A stop, or a spent budget, ends a pause even before the first unit")
    func stops() throws {
        let paused = Self.orders { $0.isPaused = true }
        let spent = FerryError(.budgetSpent, "spent")
        let budget = StopRequest(following: StopRequest(), budgetNanoseconds: 1_000_000, budgetSpent: spent)
        let stop = StopRequest()
        for request in [budget, stop] {
            request.pace = Pace()
            request.pace?.set(paused)
        }
        #expect { try budget.checkBetweenUnits() } throws: { ($0 as? FerryError)?.code == .budgetSpent }
        try WorkThread.start("test") {
            Clock.wait(milliseconds: 20)
            stop.request(FerryError(.interrupted, "stop"))
        }
        #expect { try stop.checkBetweenUnits() } throws: { ($0 as? FerryError)?.code == .interrupted }
    }

    @Test("A look for orders goes no deeper after many others: nothing is added between two units")
    func looksAlike() throws {
        // Counts calls, because an address on the stack says nothing under the address sanitizer, which moves variables.
        let depths = Locked<[Int]>([])
        let (stop, pace) = (StopRequest(), Pace())
        pace.connect(look: {
            let depth = Thread.callStackReturnAddresses.count
            depths.withLock { $0.append(depth) }
        })
        stop.pace = pace
        for _ in 0..<1_000 { try stop.checkBetweenUnits() }
        let seen = depths.withLock { $0 }
        #expect(seen.count == 1_000 && seen.last == seen.first)
    }

    @Test("Throttled work rests in proportion to the unit before", arguments: [0.0, 0.5, 0.9])
    func rests(_ share: Double) throws {
        let (stop, pace) = (StopRequest(), Pace())
        stop.pace = pace
        pace.set(Self.orders { $0.rest = share })
        let worked: UInt64 = 20_000_000
        let start = Clock.nanoseconds()
        try stop.checkBetweenUnits(after: worked)
        let rested = Double(Clock.nanoseconds(since: start))
        #expect(rested >= Double(worked) * share / (1 - share))
    }
}
