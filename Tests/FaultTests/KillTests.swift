internal import FerryBase
internal import FerryGenerate
internal import Foundation
internal import TestSupport
internal import Testing

/// `kill -9` of the program, aimed by its own trace.
///
/// `FERRY_KILLS` gives the number of kills (default: one in each phase), `FERRY_KILL_SEED` the seed, `FERRY_BINARY` the
/// program (default: the one built with the tests). `scripts/kills` sets all three.
@Suite("A killed program")
struct KillTests {
    /// The phases; each gets the same number of kills.
    static let phases: [Phase] = [.snapshot, .rows, .relationships, .indexes, .verify, .swap, .cleanUp]

    private static let environment = ProcessInfo.processInfo.environment
    private static let kills = environment["FERRY_KILLS"].flatMap { Int($0) } ?? phases.count
    private static let seed = environment["FERRY_KILL_SEED"].flatMap { UInt64($0) } ?? 1

    @Test("The store is the old or the new one at every moment, and the next call ends in the same destination")
    func survives() throws {
        let program = try #require(
            Self.environment["FERRY_BINARY"] ?? BuiltProgram.path, "the program ferry stands beside the test bundle")
        // Few kills run with one job; many kills hit each phase in every job that has it.
        let isThorough = Self.kills > Self.phases.count
        let kinds = isThorough ? KillJob.Kind.allCases : [.replaced]
        // In place there are moments within the transaction only if it writes pages before its end.
        let jobs = try kinds.map { kind in
            let isInPlace = [.inPlace, .inPlaceWithJournal].contains(kind)
            return try KillJob(kind, program: program, books: isInPlace ? 8_000 : isThorough ? 500 : 150)
        }
        var random = SeededRandom(Self.seed)
        var kills: [Phase: Int] = [:]
        var missed = 0
        for number in 0..<Self.kills {
            let phase = Self.phases[number % Self.phases.count]
            let fitting = jobs.filter { ($0.lines[phase] ?? 0) > 0 }
            let turn = number / Self.phases.count
            let job = fitting[turn % fitting.count]
            var (turnOfJob, isStruck) = (turn / fitting.count, false)
            while !isStruck {
                let kill = AimedKill(job, phase, number: turnOfJob, random: &random)
                if let outcome = try kill.strike() {
                    isStruck = true
                    kills[phase, default: 0] += 1
                    #expect(
                        outcome.complaint == nil,
                        "\(job.kind.rawValue), \(phase.rawValue), line \(kill.line) (\(outcome.lastLine)), seed \(Self.seed)"
                    )
                } else {
                    // The program can end before a kill at one of its last lines. The next aim is random.
                    missed += 1
                    turnOfJob = 2
                    try #require(missed <= 5 + Self.kills / 5, "the program is done before it can be killed")
                }
            }
        }
        for phase in Self.phases { #expect(kills[phase] ?? 0 >= Self.kills / Self.phases.count, "\(phase.rawValue)") }
    }
}
