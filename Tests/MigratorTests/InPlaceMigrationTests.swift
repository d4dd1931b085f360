import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("A migration in place")
struct InPlaceMigrationTests {
    @Test("Reads no row of a large store when it writes none", arguments: [true, false])
    func renaming(isLarge: Bool) throws {
        let migration = try InferredMigration()
        _ = try migration.migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.snapshots.form = .none
            })
        if isLarge {
            let store = try Connection(path: migration.store, mode: .readWrite)
            try store.execute("UPDATE ZBOOK SET ZTITLE = hex(zeroblob(524288)) WHERE Z_PK <= 17")
        }
        let report = try migration.migrator().migrate(.allowingLosses { $0.snapshots.form = .none })
        let book = try #require(report.entityMappings.first { $0.source == "Book" })
        #expect(book.read == 30 && book.written == 30)
        #expect((book.isEstimated == true) == isLarge)
        #expect(report.warnings.contains { $0.message.hasPrefix("No rows are written") } == isLarge)
        #expect(report.verification.checked == 0)
        let store = try Connection(path: migration.store, mode: .readWrite)
        #expect(try store.integer("SELECT count(ZHEADING) FROM ZBOOK") == 30)
        #expect(try store.value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("Changes the store's own file, over all steps, with a snapshot", arguments: TinyStore.Form.allCases)
    func migrates(_ form: TinyStore.Form) throws {
        let small = try InferredMigration(form: form)
        let files = FileLayer()
        let inode = try files.attributes(small.store).inode
        let original = try DatabaseDump.text(small.store)
        let mode = try Connection(path: small.store, mode: .readWrite).value("PRAGMA journal_mode")
        let report = try small.migrator().migrate(.allowingLosses())
        #expect(report.mode == .inPlace && report.outcome == .migrated && report.chain == ["App 1", "App 3"])
        #expect(report.verification.mode == .full)
        #expect(report.verification.checked == 30)
        #expect(report.entityMappings.map(\.written) == [30])
        #expect(try files.attributes(small.store).inode == inode)
        do {
            let store = try Connection(path: small.store, mode: .readWrite)
            let books = "SELECT count(*) FROM ZBOOK WHERE Z_ENT = 2 AND ZCOPIES = 2 AND ZHEADING LIKE 'Book%'"
            #expect(try store.integer(books) == 30)
            #expect(try store.value("PRAGMA integrity_check") == .text("ok"))
            #expect(try store.value("PRAGMA journal_mode") == mode)
        }
        #expect(try !files.exists(small.store + ".ferry"))
        _ = try StoreFiles(URL(fileURLWithPath: small.store)).rollback()
        #expect(try DatabaseDump.text(small.store) == original)
        #expect(try small.migrator().migrate(.allowingLosses()).outcome == .migrated)
        #expect(try small.migrator().migrate(.allowingLosses()).outcome == .upToDate)
    }

    @Test("A step is verified in full also while another program has the store open; in part if asked")
    func checksInPart() throws {
        let (open, quick) = (try InferredMigration(form: .filledLog), try InferredMigration())
        let reader = try Connection(path: open.store, mode: .readOnly)
        #expect(try reader.integer("SELECT count(*) FROM ZBOOK") == 30)
        let report = try open.migrator().migrate(.allowingLosses { $0.snapshots.form = .none })
        #expect(report.outcome == .migrated)
        #expect(report.verification.checked == 30)
        withExtendedLifetime(reader) {}
        let other = try quick.migrator().migrate(
            Configuration.allowingLosses {
                $0.verification = .quick
                $0.snapshots.form = .none
            })
        #expect(other.outcome == .migrated && other.verification.mode == .quick)
    }

    @Test("The plan names the mode")
    func plans() throws {
        let small = try InferredMigration()
        var configuration = Configuration.allowingLosses()
        configuration.chain = .versions(["App 1", "App 2", "App 3"])
        let plan = try small.migrator().plan(configuration)
        #expect(plan.steps.map(\.mode) == [.inPlace] && plan.refusals.isEmpty)
        #expect(plan.steps.first?.versions == plan.chain && plan.chain.count == 3)
        configuration.composition = false
        let stepwise = try small.migrator().plan(configuration)
        #expect(stepwise.steps.map(\.mode) == [.inPlace, .inPlace])
    }

    @Test("With an output the store stays unchanged, byte for byte", arguments: TinyStore.Form.allCases)
    func output(_ form: TinyStore.Form) throws {
        let small = try InferredMigration(form: form)
        let before = try StoreBytes(small.store)
        let output = small.folder.file("New.sqlite")
        let report = try small.migrator().migrate(.allowingLosses { $0.output = URL(fileURLWithPath: output) })
        #expect(report.mode == .inPlace && report.snapshot == nil)
        #expect(try StoreBytes(small.store) == before)
        let store = try Connection(path: output, mode: .readWrite)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE Z_ENT = 2 AND ZCOPIES = 2") == 30)
    }

    @Test(
        "A failure at any operation leaves the old store or the new one, and the same call finishes",
        arguments: TinyStore.Form.allCases)
    func resumes(_ form: TinyStore.Form) throws {
        let whole = try InferredMigration(form: form)
        let count = FaultPlan()
        let original = try DatabaseDump.text(whole.store)
        _ = try whole.migrator(files: FileLayer(faults: count)).migrate(.allowingLosses())
        let expected = try DatabaseDump.text(whole.store)
        let start = 1 + (TinyStore.Form.allCases.firstIndex(of: form) ?? 0)
        for operation in stride(from: start, through: count.count, by: 5) {
            let small = try InferredMigration(form: form)
            var failed = false
            do {
                _ = try small.migrator(files: FileLayer(faults: FaultPlan(trigger: operation))).migrate(
                    .allowingLosses())
            } catch {
                failed = true
            }
            // Every other time an app returns the pages that the failed transaction took; otherwise the next call must.
            if operation.isMultiple(of: 2) {
                _ = try Connection(path: small.store, mode: .readWrite).integer("SELECT count(*) FROM sqlite_master")
                let between = try DatabaseDump.text(small.store)
                #expect(between == original || between == expected, "operation \(operation)")
            }
            let report = try small.migrator().migrate(.allowingLosses())
            #expect(try DatabaseDump.text(small.store) == expected, "operation \(operation)")
            // A failure after the commit is a warning, and the next call finishes.
            #expect(failed || report.outcome == .upToDate || report.resumed)
            let names = try FileLayer().list(small.folder.path).map(\.name).filter { $0.hasPrefix("App.sqlite") }
            #expect(
                names.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted()
                    == ["App.sqlite", "App.sqlite.ferry-log.json", "App.sqlite.snapshots"], "operation \(operation)")
        }
    }

    @Test("A store that an app is reading is not changed, and the next call migrates it")
    func readerAtCommit() throws {
        let small = try InferredMigration()
        let original = try DatabaseDump.text(small.store)
        do {
            let app = try Connection(path: small.store, mode: .readWrite)
            try app.execute("BEGIN")
            _ = try app.integer("SELECT count(*) FROM ZBOOK")
            let error = #expect(throws: FerryError.self) { try small.migrator().migrate(.allowingLosses()) }
            #expect(error?.code == .storeInUseAtSwap)
            try app.execute("COMMIT")
        }
        #expect(try DatabaseDump.text(small.store) == original)
        let report = try small.migrator().migrate(.allowingLosses())
        #expect(report.outcome == .migrated && report.resumed)
    }
}
