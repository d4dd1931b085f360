import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

/// The fraction and the time left of runs that take as long as their plan says, or longer.
@Suite("The time to the end of a run")
struct RunEstimateTests {
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
            Configuration.allowingLosses {
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
