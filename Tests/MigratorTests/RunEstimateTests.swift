import Ferry
import FerryBase
import Foundation
import Testing

/// Replays recorded runs event by event, and compares the estimates with the actual times.
@Suite("The time to the end of a run")
struct RunEstimateTests {
    /// The progress events of a run with their times, and the plan's estimates.
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
                var text, early: Bool?
            }
            struct Step: Decodable {
                var copy: Bool
                var bytes, objects: Double
                var mappings: [Mapping]?
                var tables, joins, indexes: [Content]?
                var rewritten: Double?
            }
            var seconds: Double
            var steps: [Step]
            var transaction, snapshot, verified, swaps: Bool
            /// Steps that were verified beside the next step.
            var beside: [Int]?
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
                (list ?? []).map { .init($0.names, rows: $0.rows, isText: $0.text == true, isEarly: $0.early == true) }
            }
            let steps = head.steps.map { step in
                var made = RunWork.Step(isCopy: step.copy, bytes: step.bytes, objects: step.objects)
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
                verify: head.verified ? .full : .none, verifiedBeside: { head.beside?.contains($0) == true },
                swaps: head.swaps)
        }
    }

    static let recorded = ["default", "renamed", "copy", "authors", "files", "three"].map {
        Recorded(name: $0)
    }

    @Test(
        "After a tenth of the work 19 of 20 estimates are at most a fifth off, also on a machine with half the speed",
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
            // Without measurements there is no estimate.
            guard let left = estimate.secondsLeft(at: now) else { continue }
            let error = (event.t * slower + left - total) / total
            checked += 1
            misses += abs(error) > 0.2 ? 1 : 0
            // The machine of the recordings had other work, so its speed varied.
            #expect(
                abs(error) <= 0.3,
                "\(event.phase) \(event.step ?? 0) \(event.subject ?? "") at \(event.t * slower) of \(total) s: \(left) s left"
            )
        }
        #expect(checked > 5 && fraction > 0.9 && misses <= max(1, checked / 20), "\(misses) of \(checked)")
    }

    @Test("A resumed run starts with the work of earlier calls, and uses only its own speed")
    func goesOn() throws {
        var step = RunWork.Step(isCopy: true, bytes: 1_048_576, objects: 1_000_000)
        step.mappings = [.init("BookToBook", rows: 1_000_000)]
        step.indexes = [.init(["ZBOOK_INDEX"], rows: 1_000_000)]
        let work = RunWork(steps: [step, step], verify: .none)
        func seconds(_ phase: Phase) -> Double { work.pieces.first { $0.phase == phase }?.seconds ?? 0 }
        let (rows, indexes) = (seconds(.rows), seconds(.indexes))
        var estimate = RunEstimate(work)
        estimate.begin(.rows, step: 2, at: 0)
        estimate.advance("BookToBook", 500_000, of: 1_000_000, at: 0)
        #expect(estimate.fraction > 0.5 && estimate.fraction < 0.7)
        #expect(estimate.secondsLeft(at: 1_000_000_000) == nil)
        // A quarter of the rows took as long as three quarters should: the rest is estimated at this speed.
        let now = UInt64(rows * 0.75 * 1e9)
        estimate.advance("BookToBook", 750_000, of: 1_000_000, at: now)
        let left = try #require(estimate.secondsLeft(at: now))
        #expect(left > 2 * (rows / 4 + indexes) && left < 3.5 * (rows / 4 + indexes), "\(left)")
    }

    @Test("Work that was unknown counts from its first report")
    func recounts() throws {
        var step = RunWork.Step(isCopy: true, bytes: 1_048_576, objects: 1_000_000)
        step.mappings = [.init("A", rows: 10_000_000), .init("B", rows: 10_000_000)]
        var estimate = RunEstimate(RunWork(steps: [step], verify: .none))
        estimate.begin(.rows, step: 1, at: 0)
        estimate.advance("A", 10_000, of: 10_000_000, at: 1_000_000)
        #expect(estimate.fraction < 0.01)
        // The other mapping has only a hundredth of the expected rows.
        estimate.advance("B", 50_000, of: 100_000, at: 600_000_000)
        #expect(estimate.fraction > 0.85)
    }

    @Test("The plan's estimates have the names of the run's events: the fraction moves with every entity mapping")
    func hasTheirNames() throws {
        let small = try SmallMigration(rows: 200)
        let told = Locked<[(subject: String, fraction: Double)]>([])
        let step = Locked(0)
        _ = try small.migrator().migrate(
            Configuration {
                $0.executor = .set
                $0.composes = false
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

    // MARK: Statements of one transaction

    private static func transaction(_ seconds: [Double]) -> RunWork {
        var step = RunWork.Step(isCopy: false, bytes: 1_048_576, objects: 1_000_000)
        step.lists = [
            .init(preparation: 0.1, statements: seconds.map { ("index of the new version", $0) }, checks: 0.2)
        ]
        return RunWork(steps: [step], isOneTransaction: true)
    }

    /// Runs statements that each take a multiple of their seconds, with a look every half second; returns estimates
    /// of the whole time with the time at which they were made.
    private static func estimates(
        of seconds: [Double], machine: Double = 1, slower: (Int) -> Double
    ) -> (whole: Double, told: [(at: Double, whole: Double)]) {
        var estimate = RunEstimate(transaction(seconds), machine: machine)
        estimate.begin(.rows, step: 1, at: 0)
        var now = 0.0
        var told: [(at: Double, whole: Double)] = []
        let all = [0.1] + seconds + [0.2]
        for (index, expected) in all.enumerated() {
            let place = ProgressUpdate.StatementPlace(list: 0, index: index, count: all.count)
            let end = now + expected * slower(index)
            repeat {
                estimate.advance(to: place, at: UInt64(now * 1e9))
                if let left = estimate.secondsLeft(at: UInt64(now * 1e9)) { told.append((now, now + left)) }
                now = min(end, now + 0.5)
            } while now < end
        }
        return (now, told)
    }

    @Test(
        "The time left in one transaction is within a factor of two after a tenth, on any machine",
        arguments: [0.5, 1, 3, 8], [0.7, 1, 1.4])
    func foreseesTransaction(slower: Double, error: Double) {
        // The probe finds the speed of the machine roughly; each statement has an error of its own.
        let run = Self.estimates(of: [4, 0.5, 1, 1, 1, 0.2, 2, 2, 1, 3], machine: slower * error) {
            slower * ($0 % 3 == 0 ? 1.3 : 0.9)
        }
        let judged = run.told.filter { $0.at >= run.whole / 10 }
        #expect(judged.count > 10)
        for (at, whole) in judged {
            #expect(whole > run.whole / 2 && whole < run.whole * 2, "\(whole) of \(run.whole) s at \(at) s")
        }
    }

    @Test("A statement that takes longer than expected raises the estimate while it runs")
    func learnsDuringStatement() throws {
        let run = Self.estimates(of: [1, 1, 1, 1]) { $0 == 2 ? 12 : 1 }
        let before = try #require(run.told.last { $0.at < 2 })
        let during = run.told.filter { $0.at > 8 && $0.at < 13 }
        #expect(!during.isEmpty)
        for (at, whole) in during { #expect(whole > before.whole + 4 && whole > at, "\(whole) at \(at) s") }
    }

    @Test("A run with another number of statements than expected is at the same share of them")
    func scalesStatements() {
        var estimate = RunEstimate(Self.transaction([1, 1, 1, 1, 1, 1]))
        estimate.begin(.rows, step: 1, at: 0)
        estimate.advance(to: .init(list: 0, index: 8, count: 16), at: 3_000_000_000)
        #expect(estimate.fraction > 0.3 && estimate.fraction < 0.7)
        // A list that was not expected changes nothing.
        let before = estimate.fraction
        estimate.advance(to: .init(list: 3, index: 1, count: 5), at: 4_000_000_000)
        #expect(estimate.fraction == before)
    }
}
