import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("Recovery of a hot journal")
struct JournalRecoveryTests {
    /// A store whose writer ended in the middle of a transaction.
    private struct Stage {
        let small: SmallMigration
        let hot: StoreBytes
        let original: String
        var folder: String { small.store + ".snapshots" }

        init() throws {
            small = try SmallMigration(rows: 40)
            original = try DatabaseDump.text(small.store)
            let files = FileLayer()
            do {
                // The files of a writer that has spilled into the main file, copied within the transaction.
                let writer = try Connection(path: small.store, mode: .readWrite)
                try writer.execute("PRAGMA cache_size = 1; BEGIN; UPDATE ZBOOK SET ZTITLE = hex(randomblob(4000))")
                for suffix in ["", "-journal"] {
                    try files.replace(small.folder.file("photo") + suffix, with: files.read(small.store + suffix))
                }
            }
            for suffix in ["", "-journal"] {
                try files.rename(small.folder.file("photo") + suffix, to: small.store + suffix)
            }
            hot = try StoreBytes(small.store)
        }

        func recover(_ faults: FaultPlan? = nil) throws -> URL? {
            try StoreFiles(URL(fileURLWithPath: small.store), files: FileLayer(faults: faults)).recoverJournal()
        }

        func migrate() throws -> MigrationReport {
            try small.migrator()
                .migrate(Configuration.allowingLosses { $0.now = { Date(timeIntervalSinceReferenceDate: 0) } })
        }

        /// Returns the folders with raw copies of both files.
        func copies() throws -> [String] {
            guard try FileLayer().exists(folder) else { return [] }
            return try FileLayer().list(folder).filter { $0.isDirectory && $0.name.hasSuffix("-hot-journal") }
                .map { folder + "/" + $0.name }
        }
    }

    @Test("A hot journal is refused; with the option SQLite rolls it back after both files were copied unchanged")
    func recovers() throws {
        let stage = try Stage()
        #expect(stage.hot.journal?.isEmpty == false)
        let error = #expect(throws: FerryError.self) { try stage.migrate() }
        #expect(error?.code == .hotJournal && error?.remedy.actions == [.recoverJournal])
        #expect(try StoreBytes(stage.small.store) == stage.hot && stage.copies().isEmpty)

        let recovered = try stage.recover()
        let copies = try #require(try stage.copies().first)
        #expect(recovered?.path == copies)
        #expect(try stage.migrate().outcome == .migrated)
        #expect(try StoreBytes(copies + "/App.sqlite") == stage.hot)
        #expect(try FileLayer().attributes(copies).mode == 0o700)
        #expect(try FileLayer().list(stage.folder).allSatisfy { !$0.name.hasPrefix("hot-journal-") })
        // The snapshot holds the store before the writer's transaction.
        _ = try StoreFiles(URL(fileURLWithPath: stage.small.store)).rollback()
        #expect(try DatabaseDump.text(stage.small.store) == stage.original)
        // The copies are not a snapshot, but a store that SQLite's recovery repairs.
        _ = try Connection(path: copies + "/App.sqlite", mode: .readWrite).integer("SELECT count(*) FROM ZBOOK")
        #expect(try DatabaseDump.text(copies + "/App.sqlite") == stage.original)
    }

    @Test("With any failure the files are copied whole before the store changes, and the next call resumes")
    func survivesFaults() throws {
        let count = FaultPlan(keepsNames: true)
        _ = try Stage().recover(count)
        #expect(count.names.contains { $0.contains("-hot-journal") })
        // A sweep tries each operation.
        for operation in stride(from: 1, through: count.names.count, by: Sweep.stride ?? 11) {
            let stage = try Stage()
            #expect(throws: (any Error).self) { try stage.recover(FaultPlan(trigger: operation)) }
            let whole = try stage.copies().filter { try StoreBytes($0 + "/App.sqlite") == stage.hot }
            #expect(try whole.count == stage.copies().count, "operation \(operation)")
            #expect(try !whole.isEmpty || StoreBytes(stage.small.store) == stage.hot, "operation \(operation)")
            _ = try stage.recover()
            #expect(try stage.migrate().outcome == .migrated, "operation \(operation)")
            #expect(try FileLayer().list(stage.folder).allSatisfy { !$0.name.hasPrefix("hot-journal-") })
        }
    }

    @Test("The journal of a running program stays, and without a journal there is nothing to recover")
    func leavesWriter() throws {
        let small = try SmallMigration()
        let writer = try Connection(path: small.store, mode: .readWrite)
        try writer.execute("BEGIN; UPDATE ZBOOK SET ZTITLE = 'app'")
        #expect(try FileLayer().exists(small.store + "-journal"))
        let files = StoreFiles(URL(fileURLWithPath: small.store))
        #expect(try files.recoverJournal() == nil)
        #expect(try FileLayer().exists(small.store + "-journal"))
        try writer.execute("ROLLBACK")
        #expect(try files.recoverJournal() == nil)
    }
}
