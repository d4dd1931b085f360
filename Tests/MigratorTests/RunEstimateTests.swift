import Ferry
import FerryBase
import Testing

/// Runs that take what such runs took once, second by second: how far the estimate is from what comes.
@Suite("The time to the end of a run")
struct RunEstimateTests {
    /// A phase of a run as it was: its step, its seconds, and what it counted in all.
    struct Part {
        var phase: Phase
        var step: Int?
        var seconds: Double
        var rows: Int64 = 0
    }

    struct Run: CustomTestStringConvertible {
        var testDescription: String
        var extent: RunEstimate.Extent
        var parts: [Part]
    }

    /// 300,000 books over the three copied steps of the demo, as the program of 0.2.0 took them; rows of the third step
    /// are not known before.
    private static let copied: [Part] = [
        Part(phase: .rows, step: 1, seconds: 1.0, rows: 303_000), Part(phase: .relationships, step: 1, seconds: 0.5),
        Part(phase: .indexes, step: 1, seconds: 0.9), Part(phase: .verify, step: 1, seconds: 2.3, rows: 1_185_479),
        Part(phase: .rows, step: 2, seconds: 2.4, rows: 603_000), Part(phase: .relationships, step: 2, seconds: 0.7),
        Part(phase: .indexes, step: 2, seconds: 1.8), Part(phase: .verify, step: 2, seconds: 4.8, rows: 1_567_063),
        Part(phase: .rows, step: 3, seconds: 2.6, rows: 782_912), Part(phase: .relationships, step: 3, seconds: 0.7),
        Part(phase: .indexes, step: 3, seconds: 2.2), Part(phase: .verify, step: 3, seconds: 4.6, rows: 1_471_872),
    ]

    static let runs: [Run] = [
        Run(
            testDescription: "three copied steps",
            extent: .init(rows: [303_000, 603_000, 603_000], isCopy: [true, true, true]), parts: copied),
        Run(
            testDescription: "three copied steps with a snapshot and the swap",
            extent: .init(
                rows: [303_000, 603_000, 603_000], isCopy: [true, true, true], takesSnapshot: true, swaps: true),
            parts: [Part(phase: .snapshot, step: nil, seconds: 1.1)] + copied
                + [Part(phase: .swap, step: nil, seconds: 1.0)]),
        Run(
            testDescription: "not verified",
            extent: .init(rows: [303_000, 603_000, 603_000], isCopy: [true, true, true], verify: .none),
            parts: copied.filter { $0.phase != .verify }),
        // A machine whose disk is three times as slow for all alike.
        Run(
            testDescription: "a slow machine",
            extent: .init(rows: [303_000, 603_000, 603_000], isCopy: [true, true, true]),
            parts: copied.map { Part(phase: $0.phase, step: $0.step, seconds: $0.seconds * 3, rows: $0.rows) }),
    ]

    @Test("After a tenth of the work the error is a fifth at most", arguments: runs)
    func foresees(_ run: Run) throws {
        let total = run.parts.map(\.seconds).reduce(0, +)
        var estimate = RunEstimate(run.extent)
        var now = 0.0
        var fraction = 0.0
        var checked = 0
        for part in run.parts {
            estimate.begin(part.phase, step: part.step, at: UInt64(now * 1e9))
            let ticks = max(1, Int(part.seconds * 10))
            for tick in 1...ticks {
                let share = Double(tick) / Double(ticks)
                let time = now + part.seconds * share
                let known = [.snapshot, .swap].contains(part.phase) ? share : nil
                // Phases that tell nothing of themselves while they run have no rows here.
                if part.rows > 0 || known != nil { estimate.advance(rows: Int64(Double(part.rows) * share), of: known) }
                #expect(estimate.fraction >= fraction, "a run goes backwards in \(part.phase)")
                fraction = estimate.fraction
                guard time >= total / 10 else { continue }
                let left = try #require(estimate.secondsLeft(at: UInt64(time * 1e9)))
                let error = abs(time + left - total) / total
                #expect(error <= 0.2, "\(part.phase) \(part.step ?? 0) at \(time) of \(total) s: \(left) s left")
                checked += 1
            }
            now += part.seconds
        }
        #expect(checked > 50)
        estimate.begin(.cleanUp, step: nil, at: UInt64(now * 1e9))
        #expect(estimate.fraction == 1)
    }

    @Test("A run that goes on begins with what earlier calls did, and counts its own speed alone")
    func goesOn() throws {
        var estimate = RunEstimate(.init(rows: [1_000, 1_000], isCopy: [true, true], verify: .none))
        estimate.begin(.rows, step: 2, at: 0)
        estimate.advance(rows: 500, of: nil)
        #expect(estimate.fraction > 0.6 && estimate.fraction < 0.8)
        #expect(estimate.secondsLeft(at: 1_000_000_000) == nil)
        estimate.advance(rows: 750, of: nil)
        // A quarter of the rows took a second: one more for the rest, and five for relationships and indexes.
        let left = try #require(estimate.secondsLeft(at: 1_000_000_000))
        #expect(abs(left - 6) < 0.1, "\(left)")
    }
}
