import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

/// Every kind of migration, as a task that is cancelled at moments of all its phases.
@Suite("A task that is cancelled at any moment")
struct CancelledTaskTests {
    /// The work of a call after its task was cancelled.
    private struct Outcome {
        var report: MigrationReport?
        var error: FerryError?
        /// The committed transactions, those of the progress record included.
        var commits: Int
    }

    /// The reports of the migration's thread.
    private struct Told {
        var moments = 0
        var commitsAfter = 0
        var task: Task<MigrationReport, any Error>?
    }

    /// Returns a moment of every second phase; together the kinds cover all phases, at other places of each.
    ///
    /// `FERRY_SWEEP=1` tries every moment, `FERRY_SWEEP=7` every seventh.
    private static func moments(_ phases: [Phase?], _ kind: Scenario.Kind) -> [Int] {
        if let sweep = Sweep.stride { return Array(stride(from: 1, through: phases.count, by: sweep)) }
        let number = Scenario.Kind.allCases.firstIndex(of: kind) ?? 0
        let inOrder = ([nil] + Phase.allCases).filter { phases.contains($0) }
        return inOrder.enumerated().filter { $0.offset % 2 == number % 2 }.map { _, phase in
            let own = phases.indices.filter { phases[$0] == phase }
            return own[own.count * (number + 1) / (Scenario.Kind.allCases.count + 1)] + 1
        }
    }

    /// The reports of an undisturbed run.
    private struct WholeRun {
        var moments: [Phase?] = []
        var phase: Phase?
    }

    /// Returns the phase of each statement and file operation of a whole run.
    private func moments(of scenario: Scenario) throws -> [Phase?] {
        let told = Locked(WholeRun())
        var configuration = scenario.configuration()
        configuration.trace = { _ in told.withLock { $0.moments.append($0.phase) } }
        _ = try scenario.migrator().migrate(configuration) { event in
            if case .phase(let phase, _) = event { told.withLock { $0.phase = phase } }
        }
        return told.withLock { $0.moments }
    }

    /// Migrates in a task that is cancelled at the n-th statement or file operation.
    private func cancel(_ scenario: Scenario, at moment: Int) async throws -> Outcome {
        let told = Locked(Told())
        var configuration = scenario.configuration()
        configuration.trace = { event in
            let task = told.withLock { told -> Task<MigrationReport, any Error>? in
                told.moments += 1
                if told.moments > moment, event.kind == .statement, event.text.hasPrefix("COMMIT") {
                    told.commitsAfter += 1
                }
                guard told.moments == moment else { return nil }
                return told.task
            }
            task?.cancel()
        }
        let (migrator, running) = (try scenario.migrator(), configuration)
        let work = Task {
            // Waits until the task exists.
            while told.withLock({ $0.task == nil }) { await Task.yield() }
            return try await migrator.migrate(running)
        }
        told.withLock { $0.task = work }
        let result = await work.result
        try await expectNothingAtWork(scenario, told)
        let commits = told.withLock { $0.commitsAfter }
        switch result {
        case .success(let report): return Outcome(report: report, commits: commits)
        case .failure(let error): return Outcome(error: error as? FerryError, commits: commits)
        }
    }

    /// Checks that no file of the store's folder is open, no lock is held, and no more events arrive.
    private func expectNothingAtWork(_ scenario: Scenario, _ told: Locked<Told>) async throws {
        let moments = told.withLock { $0.moments }
        #expect(OpenFiles.below(scenario.folder.path) == [])
        let place = URL(fileURLWithPath: scenario.output ?? scenario.store)
        #expect(try StoreFiles(place).status().state != .running)
        try await Task.sleep(for: .milliseconds(5))
        #expect(told.withLock { $0.moments } == moments)
    }

    @Test(
        "Ends within a unit as the old store or the new one, with no work running, and the next call resumes",
        arguments: BudgetTests.kinds)
    func cancels(_ kind: Scenario.Kind) async throws {
        let whole = try Scenario(kind, form: .plain)
        let original = try whole.content()
        let phasesOfMoments = try moments(of: whole)
        let count = phasesOfMoments.count
        let (expected, final) = (try whole.result(), try whole.content())
        var phases: Set<Phase?> = []
        for moment in Self.moments(phasesOfMoments, kind) {
            let scenario = try Scenario(kind, form: .plain)
            let outcome = try await cancel(scenario, at: moment)
            let phase = phasesOfMoments[moment - 1]
            let place: Comment = "\(kind), moment \(moment) of \(count), \(phase?.rawValue ?? "before")"
            phases.insert(phase)
            if outcome.report == nil {
                #expect(outcome.error?.code == .interrupted && outcome.error?.cause is CancellationError, place)
                #expect(outcome.commits <= 2, place)
                let content = try scenario.content()
                #expect(content == original || content == final, place)
                try scenario.run()
            }
            #expect(try scenario.result() == expected, place)
            #expect(try scenario.content() == final, place)
            #expect(try scenario.leftovers() == [], place)
        }
        #expect(phases.count > 2, "\(phases)")
    }
}
