import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("A chain with steps in place and copied ones")
struct MixedChainTests {
    /// Runs every step separately: a composed pass would combine the last two.
    private let quick = Configuration.allowingLosses {
        $0.chunks.size = .rows(5)
        $0.composition = false
        $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
    }

    /// The test tries every n-th operation; the sweep tries all.
    static let stride = Sweep.stride ?? 53

    @Test("Lists in its plan the steps in place, and the reasons for the copied ones")
    func plans() throws {
        let mixed = try MixedMigration()
        let plan = try mixed.migrator().plan(quick)
        #expect(plan.refusals.isEmpty)
        #expect(plan.steps.map(\.mode) == [.inPlace, .copy, .inPlace, .inPlace])
        #expect(try mixed.migrator().plan().steps.map(\.mode) == [.inPlace, .copy, .inPlace])
    }

    @Test(
        "Ends in the rows of a chain of copies, verified, and does not change the store before the swap",
        arguments: TinyStore.Form.allCases)
    func agrees(_ form: TinyStore.Form) throws {
        let copied = try MixedMigration(form: form, isAllCopies: true)
        var copying = quick
        copying.executor = .set
        #expect(try copied.migrator().plan(copying).steps.allSatisfy { $0.mode == .copy })
        _ = try copied.migrator().migrate(copying)
        let mixed = try MixedMigration(form: form)
        let report = try mixed.migrator().migrate(quick)
        #expect(report.mode == .copy && report.chain.count == 5)
        #expect(report.verification.differences.isEmpty)
        #expect(report.entityMappings.filter { $0.destination == "Book" }.map(\.written) == [12, 12, 12, 12])
        #expect(try StoreRows.text(atPath: mixed.store) == StoreRows.text(atPath: copied.store))
        let store = try Connection(path: mixed.store, mode: .readWrite)
        #expect(try store.value("PRAGMA integrity_check") == .text("ok"))
        let names = try FileLayer().list(mixed.folder.path).map(\.name).filter { $0.hasPrefix("App.sqlite") }
        #expect(
            Set(StoreFileNames.lasting(names)).isSubset(of: [
                "App.sqlite", "App.sqlite.ferry-log.json", "App.sqlite.snapshots",
            ]))
    }

    @Test("Leaves the store unchanged with an output, and can run with less than full verification")
    func output() throws {
        for verify in [VerifyMode.full, .quick, .none] {
            let mixed = try MixedMigration(form: .filledLog)
            let before = try StoreBytes(mixed.store)
            var configuration = quick
            configuration.verification = verify
            configuration.output = URL(fileURLWithPath: mixed.folder.file("New.sqlite"))
            let report = try mixed.migrator().migrate(configuration)
            #expect(report.verification.mode == verify)
            #expect((report.verification.checked > 0) == (verify == .full))
            #expect(try StoreBytes(mixed.store) == before)
            let store = try Connection(path: mixed.folder.file("New.sqlite"), mode: .readWrite)
            #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZCOPIES = 2 AND ZPAGES = 100") == 12)
        }
    }

    @Test(
        "A failure at any operation leaves the old store or the new one, and the same call finishes",
        arguments: TinyStore.Form.allCases)
    func resumes(_ form: TinyStore.Form) throws {
        let whole = try MixedMigration(form: form)
        let count = FaultPlan()
        let original = try DatabaseDump.text(whole.store)
        _ = try whole.migrator(files: FileLayer(faults: count)).migrate(quick)
        let expected = try DatabaseDump.text(whole.store)
        let start = 1 + (TinyStore.Form.allCases.firstIndex(of: form) ?? 0) * Self.stride / 3
        for operation in Swift.stride(from: start, through: count.count, by: Self.stride) {
            let mixed = try MixedMigration(form: form)
            // A failure after the swap is a warning.
            var warnings: [FerryWarning]?
            let faults = FaultPlan(trigger: operation, keepsNames: true)
            do { warnings = try mixed.migrator(files: FileLayer(faults: faults)).migrate(quick).warnings } catch {}
            guard faults.count >= operation else { continue }
            let isReporting = faults.names[operation - 1].contains("/proc/self/")
            #expect(
                isReporting || warnings?.contains { $0.code == .cleanUpFailed } != false,
                "operation \(operation): \(faults.names[operation - 1])")
            let between = try DatabaseDump.text(mixed.store)
            #expect(between == original || between == expected, "operation \(operation)")
            let report = try mixed.migrator().migrate(quick)
            #expect(try DatabaseDump.text(mixed.store) == expected, "operation \(operation)")
            #expect(report.outcome == .migrated || between == expected)
            let names = try FileLayer().list(mixed.folder.path).map(\.name).filter { $0.hasPrefix("App.sqlite") }
            #expect(
                StoreFileNames.lasting(names).sorted() == [
                    "App.sqlite", "App.sqlite.ferry-log.json", "App.sqlite.snapshots",
                ],
                "operation \(operation)")
        }
    }

    @Test("Verifies a step in place: damage after its COMMIT keeps the store unchanged", arguments: [1, 3])
    func findsDamage(step: Int) throws {
        let mixed = try MixedMigration()
        let before = try StoreBytes(mixed.store)
        let error = #expect(throws: FerryError.self) {
            try mixed.migrator().migrate(quick) { event in
                guard case .phase(.verify, step: step) = event else { return }
                do {
                    let destination = try Connection(
                        path: mixed.store + ".ferry/step-\(step)/destination.sqlite", mode: .readWrite)
                    destination.keepWriteAheadLogOnClose()
                    // The first such event is from the checks within the transaction, before the result is visible.
                    let isLocked =
                        try destination.integer("SELECT 1 FROM pragma_table_info('ZBOOK') WHERE name = 'ZCOPIES'")
                        == nil
                    if step == 1, isLocked { return }
                    do throws(DatabaseError) {
                        try destination.execute("UPDATE ZBOOK SET ZCOPIES = 3 WHERE Z_PK = 3")
                    } catch {
                        guard error.isBusy else { throw error }
                    }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(error?.code == .verificationFailed)
        #expect((error?.cause as? VerificationDifferences)?.summary.differences.isEmpty == false)
        #expect(try StoreBytes(mixed.store) == before)
        var again = quick
        again.restart = true
        #expect(try mixed.migrator().migrate(again).outcome == .migrated)
    }
}
