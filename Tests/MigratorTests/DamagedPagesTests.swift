import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// A store in which a leaf of a table has lost its second half: SQLite reads the rest without an error.
@Suite("Damaged pages of a store")
struct DamagedPagesTests {

    /// Returns the error of a refused run; checks that the store stays unchanged.
    private func refusal(_ store: String, _ migrate: () throws -> Void) throws -> FerryError {
        let before = try StoreBytes(store)
        let error = try #require(throws: FerryError.self) { try migrate() }
        #expect(try StoreBytes(store) == before)
        #expect(try !FileLayer().exists(store + ".ferry"))
        #expect(try !FileLayer().exists(store + ".snapshots"))
        return error
    }

    @Test("Damaged pages are refused before a copy, with the possible remedies")
    func refusedBeforeCopy() throws {
        let small = try SmallMigration(rows: 60)
        try hideRows(of: "ZBOOK", in: small.store)
        for damaged in [DamagedRows.refuse, .keep] {
            let error = try refusal(small.store) {
                _ = try small.migrator().migrate(.allowingLosses { $0.damaged = damaged })
            }
            #expect(error.code == .storeDamaged && error.code.consequence == .refused, "\(error)")
            #expect(
                error.remedy.description.contains(".recover") && error.remedy.description.contains("damaged = .drop"))
        }
        #expect(try small.migrator().plan(checksRows: true).refusals.map(\.code) == [.storeDamaged])
        #expect(try small.migrator().plan().refusals.isEmpty)
    }

    @Test("Damaged pages are refused before a migration in place, with remedies", arguments: [true, false])
    func refusedInPlace(takesSnapshot: Bool) throws {
        let small = try InferredMigration(rows: 60)
        try hideRows(of: "ZBOOK", in: small.store)
        for damaged in [DamagedRows.refuse] {
            let error = try refusal(small.store) {
                _ = try small.migrator().migrate(
                    Configuration.allowingLosses {
                        $0.snapshots.form = takesSnapshot ? .archive : .none
                        $0.damaged = damaged
                    })
            }
            #expect(error.code == .storeDamaged && error.code.consequence == .refused, "\(error)")
            #expect(
                error.remedy.description.contains(".recover") && error.remedy.description.contains("damaged = .keep"))
        }
    }

    @Test("A copy without the unreachable rows is valid, and the report names the loss")
    func droppedFromCopy() throws {
        let small = try SmallMigration(rows: 60)
        try hideRows(of: "ZBOOK", in: small.store)
        let report = try small.migrator().migrate(.allowingLosses { $0.damaged = .drop })
        #expect(report.outcome == .migrated)
        #expect(report.warnings.contains { $0.message.contains("left out") }, "\(report.warnings)")
        let store = try Connection(path: small.store, mode: .readWrite)
        #expect(try store.value("PRAGMA integrity_check") == .text("ok"))
        let books = try store.integer("SELECT count(*) FROM ZBOOK") ?? 0
        #expect(books > 0 && books < 60)
    }

    @Test("In place damaged pages stay if the option keeps them")
    func keptInPlace() throws {
        let small = try InferredMigration(rows: 60)
        try hideRows(of: "ZBOOK", in: small.store)
        let report = try small.migrator().migrate(.allowingLosses { $0.damaged = .keep })
        #expect(report.outcome == .migrated)
        #expect(report.warnings.contains { $0.code == .damagedPages }, "\(report.warnings)")
    }

    @Test("Unreadable pages are damage of the store too, in place and in a copy")
    func unreadable() throws {
        let (copied, altered) = (try SmallMigration(rows: 60), try InferredMigration(rows: 60))
        for (store, migrator) in [(copied.store, try copied.migrator()), (altered.store, try altered.migrator())] {
            let size: Int64 = 4096
            let root = try Connection(path: store, mode: .readOnly).integer(
                "SELECT rootpage FROM sqlite_master WHERE name = 'ZBOOK'")
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: store))
            try file.seek(toOffset: UInt64((try #require(root) - 1) * size))
            try file.write(contentsOf: [UInt8](repeating: 0xFF, count: 64))
            try file.close()
            for damaged in [DamagedRows.refuse, .keep, .drop] {
                let error = try refusal(store) { _ = try migrator.migrate(.allowingLosses { $0.damaged = damaged }) }
                #expect(error.code == .storeDamaged && error.remedy.description.contains(".recover"), "\(error)")
            }
            #expect(throws: FerryError.self) { _ = try migrator.plan(checksRows: true) }
        }
    }

    @Test("Whatever page cannot be read, nothing was changed when a call says so", arguments: [true, false])
    func anyPage(inPlace: Bool) throws {
        let (copied, altered) = (try SmallMigration(rows: 400), try InferredMigration(rows: 400))
        let store = inPlace ? altered.store : copied.store
        let migrator = inPlace ? try altered.migrator() : try copied.migrator()
        try Connection(path: store, mode: .readWrite).execute("PRAGMA journal_mode = DELETE")
        let before = try Data(contentsOf: URL(fileURLWithPath: store))
        let pages = before.count / 4096
        #expect(pages > 6)
        var refused = 0
        for page in 0...pages {
            var bytes = before
            // The last one is a form of schema that SQLite does not know.
            let place = page == pages ? 47..<48 : max(page * 4096, 100)..<(page * 4096 + 164)
            bytes.replaceSubrange(place, with: [UInt8](repeating: 0xFF, count: place.count))
            let calls: [() throws -> Void] = [
                { _ = try migrator.plan() }, { _ = try migrator.plan(checksRows: true) },
                { _ = try migrator.identify() },
                { _ = try migrator.migrate(.allowingLosses { $0.snapshots.form = .none }) },
            ]
            for (number, call) in calls.enumerated() {
                try bytes.write(to: URL(fileURLWithPath: store))
                do { try call() } catch let error as FerryError {
                    refused += 1
                    #expect(error.code.consequence == .refused, "page \(page), call \(number): \(error.code) \(error)")
                    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == bytes)
                }
            }
        }
        #expect(refused > pages)
    }

    @Test("A violated constraint is no damage of pages")
    func oddValues() throws {
        let small = try SmallMigration()
        do {
            let store = try Connection(path: small.store, mode: .readWrite)
            try store.execute(
                """
                CREATE TABLE strict_ones (a INTEGER NOT NULL, b TEXT CHECK (length(b) < 3));
                INSERT INTO strict_ones VALUES (1, 'x'), (2, 'y');
                PRAGMA ignore_check_constraints = ON;
                UPDATE strict_ones SET b = 'longer';
                PRAGMA ignore_check_constraints = OFF;
                """)
            store.allowSchemaWrites()
            try store.execute(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_master SET sql = replace(sql, 'b TEXT CHECK', 'b TEXT NOT NULL CHECK')
                    WHERE name = 'strict_ones';
                PRAGMA writable_schema = RESET;
                """)
            try store.execute("INSERT OR IGNORE INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (99, 1, 1, 5)")
            #expect(try store.value("PRAGMA quick_check") != .text("ok"))
            #expect(try store.damagedPages() == [])
        }
        #expect(try small.migrator().plan(checksRows: true).refusals.map(\.code) == [])
    }

    @Test("A step in place without row changes reads no page of a large store")
    func isExempt() throws {
        let migration = try InferredMigration()
        _ = try migration.migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.snapshots.form = .none
            })
        try Connection(path: migration.store, mode: .readWrite)
            .execute("UPDATE ZBOOK SET ZTITLE = hex(zeroblob(524288)) WHERE Z_PK <= 17")
        let checks = Locked(0)
        var configuration = Configuration.allowingLosses { $0.snapshots.form = .none }
        configuration.trace = { event in
            if event.text.contains("quick_check") && !event.text.contains("(\"Z_") { checks.withLock { $0 += 1 } }
        }
        #expect(try migration.migrator().migrate(configuration).outcome == .migrated)
        #expect(checks.withLock { $0 } == 0)
    }
}
