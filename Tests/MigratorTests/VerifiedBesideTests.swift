import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite(
    "A step that is verified beside the next step",
    .enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1, "needs two processors"))
struct VerifiedBesideTests {
    /// The test tries every n-th operation; the sweep tries all.
    static let stride = Sweep.stride ?? 61

    /// Returns a configuration of four copied steps, each separate.
    private static func configuration(beside: Bool = true) -> Configuration {
        var configuration = Configuration.allowingLosses {
            $0.chunkSize = .rows(5)
            $0.executor = .set
            $0.composes = false
            $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
            // What the test's own process holds (a sanitizer holds much) must not decide whether there are two shares.
            $0.memoryLimit = 256 << 20
        }
        configuration.thresholds.leastVerifiedBeside = beside ? 0 : .max
        return configuration
    }

    private static func names(_ mixed: MixedMigration) throws -> [String] {
        let names = try FileLayer().list(mixed.folder.path).map(\.name).filter { $0.hasPrefix("App.sqlite") }
        return StoreFileNames.lasting(names).sorted()
    }

    private static let lasting = ["App.sqlite", "App.sqlite.ferry-log.json", "App.sqlite.snapshots"]

    @Test("Gives the same store and the same counts as separate verification", arguments: TinyStore.Form.allCases)
    func agrees(_ form: TinyStore.Form) throws {
        let alone = try MixedMigration(form: form, isAllCopies: true)
        let expected = try alone.migrator().migrate(Self.configuration(beside: false))
        let mixed = try MixedMigration(form: form, isAllCopies: true)
        let migrated = Locked<MigrationReport?>(nil)
        let told = try Self.phases { hook in
            let report = try mixed.migrator().migrate(Self.configuration(), onEvent: hook)
            migrated.withLock { $0 = report }
            return report
        }
        let report = try #require(migrated.withLock { $0 })
        #expect(try DatabaseDump.text(mixed.store) == DatabaseDump.text(alone.store))
        #expect(report.entityMappings == expected.entityMappings && report.entityMappings.count > 4)
        #expect(report.verification == expected.verification && report.verification.checked > 0)
        // The rows of each later step begin before the run waits for the verification of the step before.
        for step in 1...3 {
            let next = try #require(told.firstIndex(of: "rows \(step + 1)"))
            let waited = try #require(told.firstIndex(of: "verify \(step)"))
            #expect(next < waited)
        }
        #expect(told.contains("verify 4"))
        #expect(try Self.names(mixed) == Self.lasting)
    }

    @Test("A difference in an earlier step ends the run, and removes the later step's result", arguments: [1, 2, 3])
    func findsDamage(step: Int) throws {
        let mixed = try MixedMigration(isAllCopies: true)
        let before = try StoreBytes(mixed.store)
        let destination = mixed.store + ".ferry/step-\(step)/destination.sqlite"
        let isDamaged = Locked(false)
        var configuration = Self.configuration()
        configuration.trace = { event in
            // The last statement of a step before its record as finished.
            guard event.text == "PRAGMA main.journal_mode = DELETE" else { return }
            do {
                let files = FileLayer()
                guard try files.exists(destination), try !files.exists(mixed.store + ".ferry/step-\(step + 1)") else {
                    return
                }
                try Connection(path: destination, mode: .readWrite).execute(
                    "UPDATE ZBOOK SET ZCOPIES = 3 WHERE Z_PK = 3")
                isDamaged.withLock { $0 = true }
            } catch {
                Issue.record(error)
            }
        }
        for _ in 1...2 {
            let error = #expect(throws: FerryError.self) { try mixed.migrator().migrate(configuration) }
            #expect(error?.code == .verificationFailed, "\(error.map { "\($0)" } ?? "")")
            #expect(isDamaged.withLock { $0 })
            #expect(try StoreBytes(mixed.store) == before)
            #expect(try !FileLayer().exists(mixed.store + ".ferry/step-\(step + 1)"))
            #expect(try FileLayer().exists(destination))
            // A repeated call finds the difference again, and does not resume from the damaged step.
            configuration.trace = nil
        }
        configuration.restarts = true
        #expect(try mixed.migrator().migrate(configuration).outcome == .migrated)
    }

    @Test(
        "A failure at any operation leaves the old store or the new one, and the same call finishes",
        arguments: TinyStore.Form.allCases)
    func resumes(_ form: TinyStore.Form) throws {
        let whole = try MixedMigration(form: form, isAllCopies: true)
        let count = FaultPlan()
        let original = try DatabaseDump.text(whole.store)
        _ = try whole.migrator(files: FileLayer(faults: count)).migrate(Self.configuration())
        let expected = try DatabaseDump.text(whole.store)
        let start = 1 + (TinyStore.Form.allCases.firstIndex(of: form) ?? 0) * Self.stride / 3
        var failed = 0
        for operation in Swift.stride(from: start, through: count.count, by: Self.stride) {
            let mixed = try MixedMigration(form: form, isAllCopies: true)
            let faults = FaultPlan(trigger: operation)
            do { _ = try mixed.migrator(files: FileLayer(faults: faults)).migrate(Self.configuration()) } catch {
                failed += 1
            }
            let between = try DatabaseDump.text(mixed.store)
            #expect(between == original || between == expected, "operation \(operation)")
            let report = try mixed.migrator().migrate(Self.configuration())
            #expect(try DatabaseDump.text(mixed.store) == expected, "operation \(operation)")
            #expect(report.outcome == .migrated || between == expected)
            #expect(try Self.names(mixed) == Self.lasting, "operation \(operation)")
        }
        #expect(failed > 3)
    }

    @Test("Stopped at any unit, later calls end in the same store, with or without steps side by side")
    func stops() throws {
        let whole = try MixedMigration(isAllCopies: true)
        _ = try whole.migrator().migrate(Self.configuration())
        let mixed = try MixedMigration(isAllCopies: true)
        for call in 1...500 {
            // A call may do alone the work that an earlier call did beside another step.
            var configuration = Self.configuration()
            configuration.budget = .nanoseconds(1)
            configuration.memoryLimit = (call.isMultiple(of: 3) ? 24 : 32) << 20
            do {
                _ = try mixed.migrator().migrate(configuration)
                break
            } catch let error as FerryError {
                try #require(error.code == .budgetSpent, "\(error)")
                try #require(call < 500)
            }
        }
        #expect(try DatabaseDump.text(mixed.store) == DatabaseDump.text(whole.store))
        #expect(try Self.names(mixed) == Self.lasting)
    }

    @Test(
        "Both shares together stay within the limit, and a low limit has no shares", arguments: [24, 28, 32, 64, 1_024])
    func shares(mebibytes: Int) throws {
        let whole = MemoryBudget(limit: mebibytes << 20)
        guard let (step, verification) = whole.besideEachOther else {
            #expect(mebibytes < 32)
            return
        }
        #expect(mebibytes >= 32)
        let sum = step.databases + step.queue + step.lookups + verification.databases
        #expect(sum + MemoryBudget.program <= whole.limit)
        #expect(step.databases > 0 && step.databases <= whole.databases && verification.databases >= 5 << 19)
    }

    @Test("If the disk has room for two new stores only, steps are verified one after another")
    func needsRoom() throws {
        let mixed = try MixedMigration(isAllCopies: true)
        let need = try mixed.migrator().plan(Self.configuration()).peakDiskBytes.values.reduce(0, +)
        let files = FileLayer(faults: FaultPlan(freeBytes: need))
        let phases = try Self.phases { try mixed.migrator(files: files).migrate(Self.configuration(), onEvent: $0) }
        let (waited, next) = (phases.firstIndex(of: "verify 1"), phases.firstIndex(of: "rows 2"))
        #expect(try #require(waited) < #require(next))
    }

    /// Returns the phases and steps of a migration, from its events.
    private static func phases(
        _ migrate: (@escaping @Sendable (MigrationEvent) -> Void) throws -> MigrationReport
    ) rethrows -> [String] {
        let phases = Locked<[String]>([])
        _ = try migrate { event in
            guard case .phase(let phase, let step) = event else { return }
            phases.withLock { $0.append("\(phase) \(step ?? 0)") }
        }
        return phases.withLock { $0 }
    }
}
