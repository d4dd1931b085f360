import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

/// Properties of the completed share and of the time left, for runs that take as long as their plan says, or longer.
@Suite("The time to the end of a run")
struct RunEstimateTests {
    private static let second: UInt64 = 1_000_000_000

    /// Two steps that fill a table and index it.
    private static let steps: [WorkItem] = (1...2).flatMap { step in
        [
            WorkItem(.rows, step: step, "BookToBook", .statement, bytes: 4e8, rows: 1_000_000),
            WorkItem(.indexes, step: step, "ZBOOK_INDEX", .sort, bytes: 5e7, rows: 1_000_000),
        ]
    }

    private static func rows(_ name: String, _ done: Int64, of total: Int64? = 1_000_000) -> ProgressUpdate {
        ProgressUpdate(phase: .rows, subject: name, done: done, total: total)
    }

    @Test("A resumed run starts with the work of earlier calls, and uses only its own speed")
    func goesOn() {
        var estimate = RunEstimate(Self.steps)
        estimate.begin(.rows, step: 2, at: 0)
        estimate.advance(Self.rows("BookToBook", 500_000), step: 2, at: 0)
        let (fraction, left) = (estimate.fraction(at: 0), estimate.secondsLeft(at: 0))
        #expect(fraction > 0.5 && fraction < 0.9)
        // A quarter of the rows took as long as all of the rest should.
        let now = UInt64(left * 1e9)
        estimate.advance(Self.rows("BookToBook", 750_000), step: 2, at: now)
        #expect(estimate.secondsLeft(at: now) > left && estimate.secondsLeft(at: now) < 4 * left)
    }

    @Test("Mappings that share a pass report under the name of the first one; what comes before them is done")
    func names() {
        let items = ["A", "B"].map { WorkItem(.rows, step: 1, $0, .statement, bytes: 1e9, rows: 100) }
        var estimate = RunEstimate(items)
        estimate.begin(.rows, step: 1, at: 0)
        estimate.advance(Self.rows("B and 2 more", 50, of: nil), step: 1, at: 2 * Self.second)
        #expect(abs(estimate.fraction(at: 2 * Self.second) - 0.75) < 0.01)
        // A name that was not expected changes nothing.
        estimate.advance(Self.rows("C", 90, of: 100), step: 1, at: 3 * Self.second)
        #expect(estimate.fraction(at: 3 * Self.second) < 0.76)
    }

    @Test("The share grows to the end and the time left falls, at any speed", arguments: [0.3, 1, 4], [1.0, 3])
    func isMonotone(slower: Double, machine: Double) {
        var estimate = RunEstimate(Self.steps, machine: machine)
        let whole = estimate.secondsLeft(at: 0) / machine * slower
        var shares: [Double] = []
        var told: [Double] = []
        for step in 1...2 {
            for (place, phase) in [Phase.rows, .indexes].enumerated() {
                for part in 0..<50 {
                    let share = (Double(step - 1) + (Double(place) + Double(part) / 50) / 2) / 2
                    let now = UInt64(share * whole * 1e9)
                    if part == 0 { estimate.begin(phase, step: step, at: now) }
                    let name = phase == .rows ? "BookToBook" : "ZBOOK_INDEX"
                    estimate.advance(
                        ProgressUpdate(phase: phase, subject: name, done: Int64(part), total: 50), step: step, at: now)
                    shares.append(estimate.fraction(at: now))
                    if share > 0.1 { told.append(share * whole + estimate.secondsLeft(at: now)) }
                }
            }
        }
        #expect(zip(shares, shares.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(shares.allSatisfy { (0...1).contains($0) } && shares.last ?? 0 > 0.9)
        // Rows and index take the same time here, though not as many bytes.
        #expect(told.allSatisfy { $0 > whole / 3 && $0 < whole * 3 }, "\(told) of \(whole)")
    }

    // MARK: Statements of one transaction

    private static func transaction(_ bytes: [Double]) -> [WorkItem] {
        bytes.map { bytes in
            var item = WorkItem(.rows, step: 1, "index of the new version", .statement, bytes: bytes * 1e9)
            item.isStatement = true
            return item
        }
    }

    private static func statement(_ index: Int, of count: Int) -> ProgressUpdate {
        var update = ProgressUpdate(phase: .rows, subject: "index of the new version")
        update.statement = .init(list: 0, index: index, count: count)
        return update
    }

    @Test("The time left never stands still while a statement reports nothing, and grows if it takes too long")
    func moves() {
        var estimate = RunEstimate(Self.transaction([1, 1, 1, 1]))
        let whole = estimate.secondsLeft(at: 0)
        estimate.begin(.rows, step: 1, at: 0)
        var told: [Double] = []
        for tick in 0...40 {
            let now = UInt64(whole * Double(tick) / 10 * 1e9)
            estimate.advance(Self.statement(1, of: 6), step: 1, at: now)
            told.append(estimate.secondsLeft(at: now))
        }
        #expect(zip(told, told.dropFirst()).allSatisfy { $0 != $1 })
        #expect(told[1] < told[0] && told[40] > 2 * whole)
        #expect(estimate.fraction(at: UInt64(whole * 4e9)) < 0.25)
    }

    @Test("A run with another number of statements than expected ends at its last one")
    func scalesStatements() {
        var estimate = RunEstimate(Self.transaction([1, 1, 1]))
        estimate.begin(.rows, step: 1, at: 0)
        estimate.advance(Self.statement(9, of: 16), step: 1, at: 3 * Self.second)
        let share = estimate.fraction(at: 3 * Self.second)
        #expect(share > 0.6 && share <= 1)
    }

    @Test("The plan's estimates have the names of the run's events: the fraction moves with every entity mapping")
    func hasTheirNames() throws {
        let small = try SmallMigration(rows: 200)
        let told = Locked<[(subject: String, fraction: Double)]>([])
        let step = Locked(0)
        _ = try small.migrator().migrate(
            Configuration.allowingLosses {
                $0.executor = .set
                $0.composition = false
            }
        ) { event in
            switch event {
            case .phase(_, let number): step.withLock { $0 = number ?? $0 }
            case .progress(let update):
                guard update.phase == .rows, let subject = update.subject, let fraction = update.fraction,
                    update.done > 0
                else { return }
                let name = "\(step.withLock { $0 }) \(subject)"
                told.withLock { told in
                    if told.last?.subject == name { told.removeLast() }
                    told.append((name, fraction))
                }
            default: break
            }
        }
        let last = told.withLock { $0 }
        #expect(last.count >= 4, "\(last)")
        for (one, next) in zip(last, last.dropFirst()) { #expect(one.fraction < next.fraction, "\(one) \(next)") }
    }
}
