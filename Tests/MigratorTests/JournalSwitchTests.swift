import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("A large store, migrated in place")
struct JournalSwitchTests {
    private static let logged: [TinyStore.Form] = [.closedLog, .filledLog]
    /// `FERRY_SWEEP=1` tries every operation.
    private static let step = Sweep.stride ?? 6

    private func configuration(_ trace: TraceHook? = nil) -> Configuration {
        var configuration = Configuration.allowingLosses { $0.trace = trace }
        configuration.thresholds.largestLoggedStore = 0
        return configuration
    }

    private func snapshots(_ store: String) throws -> Int {
        let folder = StoreFiles(URL(fileURLWithPath: store))
        return try folder.verifySnapshots().filter { $0.verified == true }.count
    }

    /// Kills a run at an operation, counted from the first operation of the transaction's phase.
    private func kill(_ small: InferredMigration, _ form: TinyStore.Form, at operation: Int) throws -> Bool {
        do {
            _ = try small.migrator(files: FileLayer(faults: FaultPlan(trigger: operation))).migrate(configuration())
            return false
        } catch {
            return true
        }
    }

    /// Returns the operations of a whole run, and the first with a rollback journal.
    private func operations(_ form: TinyStore.Form) throws -> (first: Int, last: Int, all: Int) {
        let small = try InferredMigration(form: form)
        let faults = FaultPlan()
        let counts = SharedList<Int>()
        let trace: TraceHook = { event in
            // This condition finds statements that set the mode, not queries.
            if event.text.contains("journal_mode = ") { counts.append(faults.count) }
        }
        _ = try small.migrator(files: FileLayer(faults: faults)).migrate(configuration(trace))
        let found = counts.all
        try #require(found.count >= 2)
        return (found[0], found[found.count - 1], faults.count)
    }

    @Test("Leaves WAL mode for its one transaction and returns to it, without files beside it", arguments: logged)
    func comesBack(_ form: TinyStore.Form) throws {
        let small = try InferredMigration(form: form)
        let modes = SharedList<String>()
        let report = try small.migrator().migrate(
            configuration { event in if event.text.contains("journal_mode") { modes.append(event.text) } })
        #expect(report.outcome == .migrated && report.warnings.isEmpty)
        #expect(modes.all.contains { $0.hasSuffix("= TRUNCATE") } && modes.all.contains { $0.hasSuffix("= WAL") })
        for side in ["-journal", "-shm"] { #expect(try !FileLayer().exists(small.store + side)) }
        #expect(try Connection(path: small.store, mode: .readWrite).value("PRAGMA journal_mode") == .text("wal"))
        let plain = try InferredMigration(form: form)
        _ = try plain.migrator().migrate(.allowingLosses())
        #expect(try DatabaseDump.text(small.store) == DatabaseDump.text(plain.store))
    }

    @Test("Stays in WAL mode while another program has it open, and reports this")
    func staysInLog() throws {
        let small = try InferredMigration(form: .closedLog)
        let app = try Connection(path: small.store, mode: .readWrite)
        #expect(try app.integer("SELECT count(*) FROM ZBOOK") == 30)
        let modes = SharedList<String>()
        let report = try small.migrator().migrate(configuration { modes.append($0.text) })
        #expect(report.outcome == .migrated)
        #expect(report.warnings.contains { $0.message.contains("is open in another program") })
        #expect(!modes.all.contains { $0.hasSuffix("= TRUNCATE") })
        #expect(try app.integer("SELECT count(*) FROM ZBOOK WHERE ZCOPIES = 2") == 30)
    }

    @Test("A run that is killed at any moment resumes with its snapshot", arguments: logged)
    func goesOn(_ form: TinyStore.Form) throws {
        let (first, last, all) = try operations(form)
        try #require(first < last && last < all)
        let whole = try InferredMigration(form: form)
        _ = try whole.migrator().migrate(configuration())
        for operation in stride(from: first, through: all, by: Self.step) {
            let small = try InferredMigration(form: form)
            guard try kill(small, form, at: operation) else { continue }
            let report = try small.migrator().migrate(configuration())
            // Without a run folder the call has nothing to resume.
            #expect(report.resumed || report.outcome == .upToDate, "operation \(operation)")
            #expect(try snapshots(small.store) == 1, "operation \(operation)")
            #expect(try DatabaseDump.text(small.store) == DatabaseDump.text(whole.store), "operation \(operation)")
            let store = try Connection(path: small.store, mode: .readWrite)
            #expect(try store.value("PRAGMA journal_mode") == .text("wal"), "operation \(operation)")
            #expect(try !FileLayer().exists(small.store + "-journal"), "operation \(operation)")
        }
    }

    @Test("A run that is stopped within the transaction returns the store to WAL mode at once", arguments: logged)
    func isGivenBack(_ form: TinyStore.Form) throws {
        let small = try InferredMigration(form: form)
        let before = try DatabaseDump.text(small.store)
        let stop = StopRequest()
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(
                configuration { event in
                    guard event.text.hasPrefix("UPDATE ZBOOK") else { return }
                    stop.request(FerryError(.interrupted, "Stopped by hand."))
                }, stop: stop)
        }
        #expect(error?.code == .interrupted)
        for side in ["-journal", "-wal", "-shm"] { #expect(try !FileLayer().exists(small.store + side)) }
        #expect(try FileLayer().read(small.store)[18...19] == [2, 2])
        #expect(try DatabaseDump.text(small.store) == before)
        let report = try small.migrator().migrate(configuration())
        #expect(report.outcome == .migrated && report.resumed)
        #expect(try snapshots(small.store) == 1)
    }

    enum Writer: CaseIterable {
        /// Opens the store as Core Data does.
        case app
        /// Opens the store in its present journal mode.
        case plain
    }

    @Test(
        "Another program's writes after a kill are in the next snapshot and in the new store",
        arguments: Writer.allCases)
    func noticesWrites(_ writer: Writer) throws {
        let (first, last, _) = try operations(.closedLog)
        for operation in stride(from: first - 3, through: last, by: Self.step) {
            let small = try InferredMigration(form: .closedLog)
            #expect(try kill(small, .closedLog, at: operation))
            var isOld = true
            do {
                let other = try Connection(path: small.store, mode: .readWrite)
                if writer == .app { try other.setPragma("journal_mode", to: "WAL") }
                isOld = try other.integer("SELECT count(*) FROM pragma_table_info('ZBOOK') WHERE name = 'ZTITLE'") == 1
                if isOld { try other.execute("UPDATE ZBOOK SET ZTITLE = 'Written' WHERE Z_PK = 7") }
            }
            guard isOld else { continue }
            let report = try small.migrator().migrate(configuration())
            #expect(report.outcome == .migrated && !report.resumed, "operation \(operation)")
            do {
                let store = try Connection(path: small.store, mode: .readWrite)
                #expect(try store.value("SELECT ZHEADING FROM ZBOOK WHERE Z_PK = 7") == .text("Written"))
            }
            _ = try StoreFiles(URL(fileURLWithPath: small.store)).rollback()
            let old = try Connection(path: small.store, mode: .readWrite)
            #expect(
                try old.value("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 7") == .text("Written"), "operation \(operation)")
        }
    }
}
