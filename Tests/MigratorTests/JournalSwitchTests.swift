import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("The journal of a store that is migrated in place")
struct JournalSwitchTests {
    /// `FERRY_SWEEP=1` tries every operation.
    private static let step = Sweep.stride ?? 6

    private func configuration(_ trace: TraceHook? = nil) -> Configuration {
        Configuration.allowingLosses { $0.trace = trace }
    }

    private func mode(_ store: String) throws -> Value? {
        try Connection(path: store, mode: .readWrite).value("PRAGMA journal_mode")
    }

    /// Kills a run at an operation, counted from the first operation of the transaction's phase.
    private func kill(_ small: InferredMigration, at operation: Int) throws -> Bool {
        do {
            _ = try small.migrator(files: FileLayer(faults: FaultPlan(trigger: operation))).migrate(configuration())
            return false
        } catch {
            return true
        }
    }

    /// Returns the operations of a whole run on a store with a rollback journal: the first and the last in WAL mode.
    private func operations() throws -> (first: Int, last: Int, all: Int) {
        let small = try InferredMigration(form: .plain)
        let faults = FaultPlan()
        let counts = SharedList<Int>()
        let trace: TraceHook = { event in
            // This condition finds statements that set the mode, not queries.
            if event.text.contains("main.journal_mode = ") { counts.append(faults.count) }
        }
        _ = try small.migrator(files: FileLayer(faults: faults)).migrate(configuration(trace))
        let found = counts.all
        try #require(found.count >= 2)
        return (found[0], found[found.count - 1], faults.count)
    }

    @Test(
        "Is as before, without files beside the store; only a rollback journal is changed",
        arguments: TinyStore.Form.allCases)
    func comesBack(_ form: TinyStore.Form) throws {
        let small = try InferredMigration(form: form)
        let before = try mode(small.store)
        let modes = SharedList<String>()
        let report = try small.migrator().migrate(
            configuration { event in if event.text.contains("main.journal_mode = ") { modes.append(event.text) } })
        #expect(report.outcome == .migrated && report.warnings.isEmpty)
        let changes = modes.all.map { $0.suffix(8) }
        #expect(changes == (form == .plain ? ["de = WAL", "= DELETE"] : []))
        #expect(try !FileLayer().exists(small.store + "-journal"))
        #expect(try mode(small.store) == before)
    }

    @Test("Is as before while another program has the store open in WAL mode")
    func staysInLog() throws {
        let small = try InferredMigration(form: .closedLog)
        let app = try Connection(path: small.store, mode: .readWrite)
        #expect(try app.integer("SELECT count(*) FROM ZBOOK") == 30)
        #expect(try small.migrator().migrate(configuration()).outcome == .migrated)
        #expect(try app.integer("SELECT count(*) FROM ZBOOK WHERE ZCOPIES = 2") == 30)
    }

    @Test("A rollback journal that another program reads beside refuses the run, with the store as before")
    func isRead() throws {
        let small = try InferredMigration(form: .plain)
        let before = try DatabaseDump.text(small.store)
        let app = try Connection(path: small.store, mode: .readWrite)
        try app.execute("BEGIN; SELECT count(*) FROM ZBOOK")
        #expect(throws: FerryError.self) { try small.migrator().migrate(configuration()) }
        try app.execute("ROLLBACK")
        #expect(try DatabaseDump.text(small.store) == before)
        #expect(try small.migrator().migrate(configuration()).outcome == .migrated)
    }

    @Test("Is as before after a kill at any moment and the next call")
    func goesOn() throws {
        let (first, last, all) = try operations()
        try #require(first < last && last < all)
        let whole = try InferredMigration(form: .plain)
        _ = try whole.migrator().migrate(configuration())
        let mode = try mode(whole.store)
        for operation in stride(from: first, through: all, by: Self.step) {
            let small = try InferredMigration(form: .plain)
            guard try kill(small, at: operation) else { continue }
            _ = try small.migrator().migrate(configuration())
            #expect(try DatabaseDump.text(small.store) == DatabaseDump.text(whole.store), "operation \(operation)")
            #expect(try self.mode(small.store) == mode, "operation \(operation)")
            #expect(try !FileLayer().exists(small.store + "-journal"), "operation \(operation)")
        }
    }

    @Test("Is as before at once if the run is stopped within the transaction", arguments: TinyStore.Form.allCases)
    func isGivenBack(_ form: TinyStore.Form) throws {
        let small = try InferredMigration(form: form)
        let (before, mode) = (try DatabaseDump.text(small.store), try mode(small.store))
        let stop = StopRequest()
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(
                configuration { event in
                    guard event.text.hasPrefix("UPDATE ZBOOK") else { return }
                    stop.request(FerryError(.interrupted, "Stopped by hand."))
                }, stop: stop)
        }
        #expect(error?.code == .interrupted)
        #expect(try self.mode(small.store) == mode)
        #expect(try DatabaseDump.text(small.store) == before)
        #expect(try small.migrator().migrate(configuration()).outcome == .migrated)
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
        let (first, last, _) = try operations()
        for operation in stride(from: first - 3, through: last, by: Self.step) {
            let small = try InferredMigration(form: .plain)
            #expect(try kill(small, at: operation))
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
