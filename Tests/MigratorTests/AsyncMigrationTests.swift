import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

@Suite("A migration as a task")
struct AsyncMigrationTests {
    private let small: SmallMigration
    private let migrator: Migrator
    private let byRows = Configuration.allowingLosses {
        $0.chunks.size = .rows(5)
        $0.executor = .set
        $0.snapshots.form = .none
    }

    init() throws {
        small = try SmallMigration(rows: 120)
        migrator = try small.migrator()
    }

    /// Holds a migration before its second step until the test opens the gate, so that it cannot end before its reader
    /// acts.
    private final class Gate: Sendable {
        private let isOpen = Locked(false)

        func open() { isOpen.withLock { $0 = true } }

        func configuration(_ plain: Configuration) -> Configuration {
            var held = plain
            held.willMigrate = { [isOpen] stage in
                // However long: the reader waits for its turn among all concurrent tests.
                while stage.number == 2, !isOpen.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
            }
            return held
        }
    }

    /// Returns the text of an event that must never be missing; nil for other events.
    private static func word(_ event: MigrationEvent) -> String? {
        switch event {
        case .planned(let plan): "planned \(plan.chain)"
        case .phase(let phase, let step): "\(phase) \(step ?? 0)"
        case .warning(let warning): warning.message
        case .finished(let report): "finished \(report.outcome)"
        case .progress: nil
        }
    }

    @Test("The call returns the report, outside of the threads of tasks")
    func returns() async throws {
        let tasks = Locked(0)
        let report = try await migrator.migrate(byRows) { _ in
            let isTask = withUnsafeCurrentTask { $0 != nil }
            if isTask { tasks.withLock { $0 += 1 } }
        }
        #expect(report.outcome == .migrated && report.verification.differences.isEmpty)
        #expect(tasks.withLock { $0 } == 0)
        #expect(try await migrator.migrate(byRows).outcome == .upToDate)
    }

    @Test("A cancelled task ends within one chunk, leaves no work running, and the next call resumes", arguments: 1...2)
    func cancels(_ step: Int) async throws {
        let (begun, after, task) = (Locked(false), Locked(0), Locked<Task<MigrationReport, any Error>?>(nil))
        let statements = Locked(0)
        var configuration = byRows
        configuration.trace = { _ in statements.withLock { $0 += 1 } }
        let (migrator, running) = (migrator, configuration)
        let work = Task {
            // Waits until the task exists.
            while task.withLock({ $0 == nil }) { await Task.yield() }
            return try await migrator.migrate(running) { event in
                guard case .progress(let update) = event, update.phase == .rows, update.done > 0 else { return }
                if begun.withLock({ $0 }) { after.withLock { $0 += 1 } }
                guard small.stepAtWork == step else { return }
                begun.withLock { $0 = true }
                task.withLock { $0 }?.cancel()
            }
        }
        task.withLock { $0 = work }
        let error = await #expect(throws: FerryError.self) { try await work.value }
        #expect(error?.code == .interrupted && error?.cause is CancellationError)
        #expect(after.withLock { $0 } <= 1, "chunks after the one at work")
        // No work is running: no statement runs any more, and no lock is held.
        let told = statements.withLock { $0 }
        #expect(try StoreFiles(URL(fileURLWithPath: small.store)).status().state == .interrupted)
        try await Task.sleep(for: .milliseconds(150))
        #expect(statements.withLock { $0 } == told)
        let report = try await migrator.migrate(byRows)
        #expect(report.outcome == .migrated && report.resumed)
    }

    @Test("Plan, rehearsal, rollback and both verifications return in a task what they return without one")
    func otherCalls() async throws {
        let files = StoreFiles(URL(fileURLWithPath: small.store))
        let before = try FileManager.default.contentsOfDirectory(atPath: small.folder.path).sorted()
        #expect(try await migrator.plan(byRows).chain == ["App 1", "App 2", "App 3"])
        let rehearsal = try await migrator.rehearse(byRows)
        #expect(rehearsal.migration?.outcome == .migrated)
        #expect(try FileManager.default.contentsOfDirectory(atPath: small.folder.path).sorted() == before)
        var configuration = byRows
        configuration.snapshots.form = .archive
        _ = try await migrator.migrate(configuration)
        let verifier = try Verifier(
            store: URL(fileURLWithPath: small.store),
            models: [.url(URL(fileURLWithPath: small.folder.file("App.xcdatamodeld")))])
        #expect(try await verifier.verifyStore().differences.isEmpty)
        _ = try await files.rollback()
        #expect(try migrator.identify().version == "App 1")
    }

    @Test("A cancelled task stops each of these calls")
    func cancelsOtherCalls() async throws {
        let files = StoreFiles(URL(fileURLWithPath: small.store))
        _ = try await migrator.migrate(.allowingLosses { $0.chunks.size = .rows(5) })
        let migrated = try StoreBytes(small.store)
        let verifier = try Verifier(
            store: URL(fileURLWithPath: small.store),
            models: [.url(URL(fileURLWithPath: small.folder.file("App.xcdatamodeld")))])
        func codes(_ call: @escaping @Sendable () async throws -> Void) async -> FerryError.Code? {
            await #expect(throws: FerryError.self) {
                try await Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    try await call()
                }.value
            }?.code
        }
        let migrator = migrator
        #expect(await codes { _ = try await migrator.plan() } == .interrupted)
        #expect(await codes { _ = try await migrator.rehearse() } == .interrupted)
        #expect(await codes { _ = try await files.rollback() } == .interrupted)
        #expect(await codes { _ = try await verifier.verifyStore() } == .interrupted)
        #expect(try StoreBytes(small.store) == migrated)
    }

    @Test("A call in a cancelled task begins nothing")
    func cancelledBefore() async throws {
        let before = try StoreBytes(small.store)
        let (migrator, byRows) = (migrator, byRows)
        let error = await #expect(throws: FerryError.self) {
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await migrator.migrate(byRows)
            }.value
        }
        #expect(error?.code == .interrupted)
        #expect(try StoreBytes(small.store) == before)
        #expect(try StoreFiles(URL(fileURLWithPath: small.store)).status().state == .none)
    }

    @Test("A slow reader receives the same events as a fast one, except progress", arguments: [0, 10, 40])
    func keepsEvents(milliseconds: Int) async throws {
        let all = Locked<[MigrationEvent]>([])
        let damaged = "UPDATE ZBOOK SET ZCOVER = NULL WHERE Z_PK = 2"
        let (store, other) = (try DamagedStore(.copy, damage: [damaged]), try DamagedStore(.copy, damage: [damaged]))
        var configuration = Configuration.allowingLosses {
            $0.target = "App 2"
            $0.chunks.size = .rows(1)
            $0.snapshots.form = .none
        }
        configuration.output = nil
        _ = try store.migrator().migrate(configuration, stop: StopRequest()) { event in
            all.withLock { $0.append(event) }
        }
        var seen: [MigrationEvent] = []
        for try await event in try other.migrator().run(configuration) {
            seen.append(event)
            if milliseconds > 0 { try await Task.sleep(for: .milliseconds(milliseconds)) }
        }
        let wanted = all.withLock { $0 }.compactMap(Self.word)
        #expect(seen.compactMap(Self.word) == wanted)
        #expect(wanted.first?.hasPrefix("planned") == true && wanted.last == "finished migrated")
        #expect(wanted.contains { $0.contains("does not match") })
        // A slow reader misses only progress events, and receives them in order.
        #expect(seen.count <= all.withLock { $0.count })
        let fractions = seen.compactMap { if case .progress(let update) = $0 { update.fraction } else { nil } }
        #expect(fractions == fractions.sorted())
    }

    @Test("Of unread progress events in a row, only the latest is kept")
    func thinsProgress() async throws {
        let queue = EventQueue()
        for done in 1...1_000 { queue.put(.progress(ProgressUpdate(phase: .rows, done: Int64(done)))) }
        queue.put(.warning(FerryWarning(.unnamed, "one")))
        queue.put(.progress(ProgressUpdate(phase: .verify, done: 7)))
        queue.put(.warning(FerryWarning(.unnamed, "two")))
        queue.end(.failure(FerryError(.diskFull, "The end.")))
        var told: [String] = []
        let error = await #expect(throws: FerryError.self) {
            while let event = try await queue.next() {
                if case .progress(let update) = event { told.append("\(update.done)") }
                if case .warning(let warning) = event { told.append(warning.message) }
            }
        }
        #expect(told == ["1000", "one", "7", "two"] && error?.code == .diskFull)
        #expect(try await queue.next() == nil)
    }

    @Test("A loop in a cancelled task ends with the reason, after the work has ended")
    func cancelsLoop() async throws {
        let gate = Gate()
        let (migrator, held) = (migrator, gate.configuration(byRows))
        let error = await #expect(throws: FerryError.self) {
            try await Task {
                for try await event in migrator.run(held) {
                    guard case .phase(.rows, _) = event else { continue }
                    withUnsafeCurrentTask { $0?.cancel() }
                    gate.open()
                }
            }.value
        }
        #expect(error?.code == .interrupted)
        #expect(try StoreFiles(URL(fileURLWithPath: small.store)).status().state == .interrupted)
        #expect(try await migrator.migrate(held).resumed)
    }

    @Test("Leaving a loop stops the run, and the run can be resumed")
    func leavesLoop() async throws {
        let gate = Gate()
        let held = gate.configuration(byRows)
        for try await event in migrator.run(held) {
            if case .phase(.rows, _) = event { break }
        }
        gate.open()
        let files = StoreFiles(URL(fileURLWithPath: small.store))
        while try files.status().state == .running { try await Task.sleep(for: .milliseconds(20)) }
        #expect(try files.status().state == .interrupted)
        #expect(try await migrator.migrate(held).resumed)
    }

    @Test("A loop and a call throw the error of a run")
    func throwsErrors() async throws {
        let wrong = Configuration.allowingLosses { $0.target = "No such version" }
        await #expect(throws: FerryError.self) { for try await _ in migrator.run(wrong) {} }
        await #expect(throws: FerryError.self) { try await migrator.migrate(wrong) }
    }

    @Test("Each progress event after preflight has a fraction of the whole, which is 1 only at the end")
    func fractions() async throws {
        let (updates, progress) = (Locked<[ProgressUpdate]>([]), Progress(totalUnitCount: 1))
        _ = try await migrator.migrate(.allowingLosses { $0.chunks.size = .rows(20) }, progress: progress) { event in
            if case .progress(let update) = event { updates.withLock { $0.append(update) } }
        }
        #expect(progress.fractionCompleted == 1)
        let measured = updates.withLock { $0 }.filter { $0.phase != .preflight }
        #expect(measured.count > 20 && measured.allSatisfy { (0..<1).contains($0.fraction ?? -1) })
        let fractions = measured.compactMap(\.fraction)
        // The swap's share of so small a run depends on the disk.
        #expect(fractions == fractions.sorted() && fractions.last ?? 0 > 0.5, "\(fractions.last ?? 0)")
    }

    @Test("A Progress receives the fraction, and its cancellation stops the run")
    func followsProgress() async throws {
        let progress = Progress(totalUnitCount: 1)
        let (seen, byRows) = (Locked<[Double]>([]), byRows)
        let error = await #expect(throws: FerryError.self) {
            try await migrator.migrate(byRows, progress: progress) { event in
                seen.withLock { $0.append(progress.fractionCompleted) }
                if case .phase(.rows, step: 2) = event { progress.cancel() }
            }
        }
        #expect(error?.code == .interrupted)
        let first = seen.withLock { $0 }
        #expect(first == first.sorted() && first.last ?? 0 > 0.2 && first.last ?? 1 < 1)
        let second = Progress(totalUnitCount: 1)
        let report = try await migrator.migrate(byRows, progress: second)
        #expect(report.resumed && second.isFinished && second.fractionCompleted == 1)
        let third = Progress(totalUnitCount: 1)
        third.cancel()
        await #expect(throws: FerryError.self) { try await migrator.migrate(byRows, progress: third) }
    }
}

extension SmallMigration {
    /// The last step with a folder.
    fileprivate var stepAtWork: Int {
        FileManager.default.fileExists(atPath: store + ".ferry/step-2") ? 2 : 1
    }
}
