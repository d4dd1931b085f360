import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

@Suite("The final report")
struct FinalReportTests {
    @Test("The report has the rows of each phase, the times of chunks, and the bytes read and written")
    func tellsNumbers() throws {
        let small = try SmallMigration(rows: 200)
        let report = try small.migrator().migrate(.allowingLosses { $0.chunks.size = .rows(50) })
        func phase(_ phase: Phase) -> MigrationReport.PhaseTime? { report.phases.first { $0.phase == phase } }
        #expect(phase(.rows)?.rows == report.entityMappings.map(\.read).reduce(0, +))
        #expect(phase(.verify)?.rows == report.verification.checked)
        #expect(phase(.snapshot)?.bytes ?? 0 > 4_096)
        #expect(phase(.rows)?.rowsPerSecond ?? 0 > 0 && phase(.snapshot)?.bytesPerSecond ?? 0 > 0)
        #expect(phase(.indexes)?.rows == report.entityMappings.map(\.written).reduce(0, +))
        let longest = try #require(report.chunks.longest)
        #expect(longest > .zero && longest >= report.chunks.percentile90 ?? .zero)
        #if os(Linux)
            #expect(report.bytesRead ?? 0 > 0 && report.bytesWritten ?? 0 > 0)
        #endif
    }

    @Test("The phases add up to the time of all calls, in place and as a copy", arguments: [true, false])
    func addsUp(_ isCopy: Bool) throws {
        let (small, inferred) = (try SmallMigration(rows: 500), try InferredMigration())
        let migrator = isCopy ? try small.migrator() : try inferred.migrator()
        let held = #expect(throws: FerryError.self) { try migrator.migrate(.allowingLosses { $0.holdsSwap = true }) }
        #expect(held?.code == .swapHeld)
        let report = try migrator.migrate(.allowingLosses())
        #expect(report.outcome == .migrated && report.resumed && report.earlierTime > .zero)
        let phases = report.phases.map(\.time.inSeconds).reduce(0, +)
        let calls = (report.wallTime + report.earlierTime).inSeconds
        // The rest is the time of a call's first and last lines.
        #expect(abs(phases - calls) < 0.02 + calls / 20, "\(report.phases) \(calls)")
        #expect(report.phases.allSatisfy { $0.time >= .zero })
        #if os(Linux)
            #expect(report.phases.allSatisfy { $0.bytesRead != nil && $0.bytes != nil })
        #endif
    }

    @Test("A stopped rehearsal leaves no files, and a running one excludes another")
    func rehearsesAlone() throws {
        let small = try SmallMigration(rows: 200)
        let before = try FileManager.default.contentsOfDirectory(atPath: small.folder.path).sorted()
        let stop = StopRequest()
        let refusals = Locked<[FerryError.Code]>([])
        let onEvent: @Sendable (MigrationEvent) -> Void = { event in
            guard case .progress(let update) = event, update.phase == .rows, update.done > 0 else { return }
            do {
                _ = try small.migrator().rehearse()
            } catch {
                if let error = error as? FerryError { refusals.withLock { $0.append(error.code) } }
            }
            stop.request(FerryError(.interrupted, "Enough."))
        }
        let error = #expect(throws: FerryError.self) {
            try small.migrator().rehearse(.allowingLosses { $0.chunks.size = .rows(10) }, stop: stop, onEvent: onEvent)
        }
        #expect(error?.code == .interrupted)
        #expect(refusals.withLock { $0 } == [.runActive])
        #expect(try FileManager.default.contentsOfDirectory(atPath: small.folder.path).sorted() == before)
    }
}
