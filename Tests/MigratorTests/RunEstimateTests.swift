import Ferry
import FerryBase
import Foundation
import Testing

/// Runs that take what such runs took once, event by event: how far the estimate is from what comes.
@Suite("The time to the end of a run")
struct RunEstimateTests {
    /// What progress told of a run, and when, with what its plan knew before.
    struct Recorded: Sendable, CustomTestStringConvertible {
        struct Head: Decodable {
            struct Mapping: Decodable {
                var name: String
                var rows: Double
                var made: Double?
                var found: String?
                var iterated, swift: Bool?
            }
            struct Content: Decodable {
                var names: [String]
                var rows: Double
                var text: Bool?
            }
            struct Step: Decodable {
                var copy: Bool
                var bytes: Double
                var mappings: [Mapping]?
                var tables, joins, indexes: [Content]?
                var rewritten: Double?
            }
            var seconds: Double
            var steps: [Step]
            var transaction, snapshot, verified, swaps: Bool
        }

        struct Event: Decodable {
            var t: Double
            var phase: Phase
            var step: Int?
            var subject: String?
            var done: Int64
            var total: Int64?
        }

        var name: String
        var testDescription: String { name }

        func read() throws -> (work: RunWork, seconds: Double, events: [Event]) {
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("Runs/\(name).jsonl")
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { Data($0.utf8) }
            let head = try JSONDecoder().decode(Head.self, from: lines[0])
            let events = try lines.dropFirst().map { try JSONDecoder().decode(Event.self, from: $0) }
            return (work(head), head.seconds, events)
        }

        private func work(_ head: Head) -> RunWork {
            func contents(_ list: [Head.Content]?) -> [RunWork.Step.Content] {
                (list ?? []).map { .init($0.names, rows: $0.rows, isText: $0.text == true) }
            }
            let steps = head.steps.map { step in
                var made = RunWork.Step(isCopy: step.copy, bytes: step.bytes)
                made.mappings = (step.mappings ?? []).map {
                    .init(
                        $0.name, rows: $0.rows, made: $0.made, foundIn: $0.found, isIterated: $0.iterated == true,
                        isInSwift: $0.swift == true)
                }
                (made.tables, made.joins) = (contents(step.tables), contents(step.joins))
                made.indexes = contents(step.indexes)
                made.rewritten = step.rewritten ?? 0
                return made
            }
            return RunWork(
                steps: steps, isOneTransaction: head.transaction, takesSnapshot: head.snapshot,
                verify: head.verified ? .full : .none, swaps: head.swaps)
        }
    }

    static let recorded = ["default", "renamed", "copy", "three", "files"].map {
        Recorded(name: $0)
    }

    @Test(
        "After a tenth of the work nineteen of twenty estimates are a fifth off at most, also on a machine twice as slow",
        arguments: recorded, [1.0, 2.0])
    func foresees(_ run: Recorded, slower: Double) throws {
        let (work, seconds, events) = try run.read()
        let total = seconds * slower
        var estimate = RunEstimate(work)
        var position: (Phase, Int?)?
        var fraction = 0.0
        var (checked, misses) = (0, 0)
        for event in events where event.phase != .preflight {
            let now = UInt64(event.t * slower * 1e9)
            if position?.0 != event.phase || position?.1 != event.step {
                position = (event.phase, event.step)
                estimate.begin(event.phase, step: event.step, at: now)
            }
            estimate.advance(event.subject, event.done, of: event.total, at: now)
            #expect(estimate.fraction >= fraction && estimate.fraction <= 1, "a run goes backwards in \(event.phase)")
            fraction = estimate.fraction
            guard event.t * slower >= total / 10 else { continue }
            // Before anything was measured nothing is told.
            guard let left = estimate.secondsLeft(at: now) else { continue }
            let error = (event.t * slower + left - total) / total
            checked += 1
            misses += abs(error) > 0.2 ? 1 : 0
            // The machine on which they were recorded had other work: it was not as quick at all times.
            #expect(
                abs(error) <= 0.3,
                "\(event.phase) \(event.step ?? 0) \(event.subject ?? "") at \(event.t * slower) of \(total) s: \(left) s left"
            )
        }
        #expect(checked > 5 && fraction > 0.9 && misses <= max(1, checked / 20), "\(misses) of \(checked)")
    }

    @Test("A run that goes on begins with what earlier calls did, and counts its own speed alone")
    func goesOn() throws {
        var step = RunWork.Step(isCopy: true, bytes: 1_048_576)
        step.mappings = [.init("BookToBook", rows: 1_000_000)]
        step.indexes = [.init(["ZBOOK_INDEX"], rows: 2_000_000)]
        var estimate = RunEstimate(RunWork(steps: [step, step], verify: .none))
        estimate.begin(.rows, step: 2, at: 0)
        estimate.advance("BookToBook", 500_000, of: 1_000_000, at: 0)
        #expect(estimate.fraction > 0.5 && estimate.fraction < 0.7)
        #expect(estimate.secondsLeft(at: 1_000_000_000) == nil)
        // A quarter of the rows take as long as three quarters should: so does what follows.
        let whole = 1_000_000 * 0.6e-6
        estimate.advance("BookToBook", 750_000, of: 1_000_000, at: UInt64(whole * 0.75 * 1e9))
        let left = try #require(estimate.secondsLeft(at: UInt64(whole * 0.75 * 1e9)))
        #expect(left > 2 * (whole / 4 + 0.9) && left < 3.5 * (whole / 4 + 0.9), "\(left)")
    }

    @Test("What was not known before counts from when it is told")
    func recounts() throws {
        var step = RunWork.Step(isCopy: true, bytes: 1_048_576)
        step.mappings = [.init("A", rows: 1_000_000), .init("B", rows: 1_000_000)]
        var estimate = RunEstimate(RunWork(steps: [step], verify: .none))
        estimate.begin(.rows, step: 1, at: 0)
        estimate.advance("A", 1_000, of: 1_000_000, at: 1_000_000)
        #expect(estimate.fraction < 0.01)
        // There is but a hundredth of the other mapping.
        estimate.advance("B", 5_000, of: 10_000, at: 600_000_000)
        #expect(estimate.fraction > 0.85)
    }

    @Test("What the plan expects has the names that the run tells: the fraction moves with every entity mapping")
    func hasTheirNames() throws {
        let small = try SmallMigration(rows: 200)
        let told = Locked<[(subject: String, fraction: Double)]>([])
        let step = Locked(0)
        _ = try small.migrator().migrate(Configuration(composes: false)) { event in
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
