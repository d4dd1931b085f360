import Ferry
import FerryBase
import FerrySQLite
import FerrySnapshot
import Foundation
import TestSupport
import Testing

/// Properties of the estimates: no test knows a machine's speed or reads a clock.
@Suite("The plan's estimates")
struct EstimateTests {
    private func configuration(machine: Double = 1, budget: Duration? = nil) -> Configuration {
        var configuration = Configuration.allowingLosses()
        configuration.thresholds.machine = machine
        configuration.limits.budget = budget
        return configuration
    }

    private func plan(rows: Int64, machine: Double = 1, budget: Duration? = nil) throws -> PlanReport {
        let migration = try InferredMigration(rows: rows)
        return try withExtendedLifetime(migration) {
            try migration.migrator().plan(configuration(machine: machine, budget: budget))
        }
    }

    @Test("The transaction of a step in place takes longer with more rows, and on a slower machine")
    func transaction() throws {
        let few = try #require(try plan(rows: 5_000).longestUnit)
        let many = try #require(try plan(rows: 50_000).longestUnit)
        let slow = try #require(try plan(rows: 50_000, machine: 4).longestUnit)
        #expect(few.kind == .transaction && few.rows == 5_000 && many.rows == 50_000)
        #expect(abs(slow.time / many.time - 4) < 0.001)
        #expect(many.time / few.time > 5 && many.time / few.time < 20)
    }

    @Test("The whole time contains the transaction")
    func whole() throws {
        let plan = try plan(rows: 50_000)
        #expect(try #require(plan.estimatedTime) > #require(plan.longestUnit).time)
        let upToDate = try InferredMigration(rows: 5)
        defer { withExtendedLifetime(upToDate) {} }
        _ = try upToDate.migrator().migrate(.allowingLosses())
        let nothing = try upToDate.migrator().plan()
        #expect(nothing.isUpToDate && nothing.estimatedTime == nil && nothing.longestUnit == nil)
    }

    @Test("A budget that one transaction may outlast fills the tables in units; of the swap it warns, with the time")
    func dividesForBudget() throws {
        let unit = try #require(try plan(rows: 20_000, machine: 6).longestUnit)
        let short = try plan(rows: 20_000, machine: 6, budget: unit.time / 2)
        #expect(short.steps.first?.mode == .copy && short.refusals.isEmpty)
        let swap = try #require(short.longestUnit)
        let shorter = try plan(rows: 20_000, machine: 6, budget: swap.time / 2)
        let warning = try #require(shorter.warnings.first { $0.code == .budgetTooShort })
        #expect(warning.message.contains("cannot be met") && warning.message.contains(" s on this machine"))
        let enough = try plan(rows: 20_000, machine: 6, budget: unit.time * 4)
        #expect(enough.steps.first?.mode == .inPlace && !enough.warnings.contains { $0.code == .budgetTooShort })
    }

    @Test("A report has the estimates and what the call took")
    func reports() throws {
        for migrate: () throws -> MigrationReport in [
            {
                let migration = try InferredMigration(rows: 300)
                return try withExtendedLifetime(migration) { try migration.migrator().migrate(configuration()) }
            },
            {
                let migration = try SmallMigration(rows: 300)
                return try withExtendedLifetime(migration) { try migration.migrator().migrate(configuration()) }
            },
        ] {
            let report = try migrate()
            let estimates = try #require(report.estimates)
            #expect(estimates.wallTime > estimates.longestUnit ?? .zero && estimates.peakDiskBytes > 0)
            let longest = try #require(report.longestUnit)
            #expect(longest > .zero && longest <= report.wallTime && report.peakDiskBytes ?? 0 > 0)
        }
    }

    @Test("The transaction of a run with a file is its swap; a run that writes a new store has none")
    func swap() throws {
        var configuration = configuration()
        let small = try SmallMigration(rows: 3_000)
        #expect(try small.migrator().plan(configuration).longestUnit?.kind == .swap)
        configuration.output = URL(fileURLWithPath: small.store + ".new")
        let plan = try small.migrator().plan(configuration)
        #expect(plan.longestUnit == nil && plan.estimatedTime ?? .zero > .zero)
        #expect(try small.migrator().migrate(configuration).estimates != nil)
    }

    @Test("Rows with texts too long to be read count by the size of the file")
    func longTexts() throws {
        func time(rows: Int64, kilobytes: Int) throws -> TimeInterval {
            let small = try SmallMigration(rows: rows)
            do {
                let connection = try Connection(path: small.store, mode: .readWrite)
                try connection.execute("UPDATE ZBOOK SET ZTITLE = hex(zeroblob(\(kilobytes << 9)))")
            }
            return try #require(try small.migrator().plan(configuration()).estimatedTime) / .seconds(1)
        }
        let (long, short) = try (time(rows: 2, kilobytes: 8_192), time(rows: 32, kilobytes: 512))
        #expect(long > short / 2 && long < 2 * short)
    }

    @Test("The units of a call are measured from the end of preflight on")
    func units() {
        let stop = StopRequest()
        stop.unitIsDone(at: 5)
        #expect(stop.longestUnitNanoseconds == 0)
        stop.beginUnits(at: 10)
        for time: UInt64 in [30, 35, 85, 90] { stop.unitIsDone(at: time) }
        #expect(stop.longestUnitNanoseconds == 50 && stop.unitsDone == 5)
    }

    @Test("A unit ends where a stop would lose nothing, although nothing is recorded there")
    func unrecordedUnits() {
        let stop = StopRequest()
        stop.unitTook(nanoseconds: 70)
        #expect(stop.longestUnitNanoseconds == 0)
        stop.beginUnits(at: 10)
        stop.unitCanEnd(at: 30)
        stop.unitCanEnd(at: 45)
        #expect(stop.longestUnitNanoseconds == 20 && stop.unitsDone == 0)
        // Beside the others: the time of the next one still counts from its own beginning.
        stop.unitTook(nanoseconds: 25)
        #expect(stop.longestUnitNanoseconds == 25 && stop.unitsDone == 0)
        stop.unitIsDone(at: 75)
        #expect(stop.longestUnitNanoseconds == 30 && stop.unitsDone == 1)
    }

    @Test("A snapshot of what cannot be compressed needs its size, one of zeros almost nothing")
    func snapshotShare() throws {
        struct Content: PageSource {
            let byteCount: Int64 = 3 << 20
            let isRandom: Bool
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) {
                var state = UInt64(offset) &+ 88_172_645_463_325_252
                for index in buffer.indices {
                    state ^= state << 13
                    state ^= state >> 7
                    state ^= state << 17
                    buffer[index] = isRandom ? UInt8(truncatingIfNeeded: state) : 0
                }
            }
        }
        for form in SnapshotForm.known {
            let level = form.levels.lowerBound
            #expect(try form.share(of: Content(isRandom: true), level: level) > 0.99)
            #expect(try form.share(of: Content(isRandom: false), level: level) < 0.01)
        }
    }

    @Test("Progress names each statement of a transaction in order, and the checks last")
    func namesStatements() throws {
        let places = Locked<[ProgressUpdate.StatementPlace]>([])
        let migration = try InferredMigration(rows: 50)
        defer { withExtendedLifetime(migration) {} }
        _ = try migration.migrator().migrate(configuration()) { event in
            if case .progress(let update) = event, let place = update.statement {
                places.withLock { $0.append(place) }
            }
        }
        let seen = places.withLock { $0 }
        let first = try #require(seen.first), last = try #require(seen.last)
        #expect(first.index == 0 && last.index == last.count - 1)
        for (one, next) in zip(seen, seen.dropFirst()) {
            #expect((one.list, one.index) <= (next.list, next.index))
        }
    }
}
