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

        func migrate(_ faults: FaultPlan? = nil, recovers: Bool = true) throws -> MigrationReport {
            try small.migrator(files: FileLayer(faults: faults))
                .migrate(
                    Configuration.allowingLosses {
                        $0.recovers = recovers
                        $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
                    })
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
        let error = #expect(throws: FerryError.self) { try stage.migrate(recovers: false) }
        #expect(error?.code == .hotJournal && error?.remedy.settings == [Setting(.recovers, .flag(true))])
        #expect(try StoreBytes(stage.small.store) == stage.hot && stage.copies().isEmpty)

        let report = try stage.migrate()
        #expect(report.outcome == .migrated)
        let copies = try #require(try stage.copies().first)
        #expect(report.warnings.contains { $0.code == .recoveredJournal && $0.message.contains(copies) })
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
        _ = try Stage().migrate(count)
        let end = try #require(count.names.lastIndex { $0.contains("-hot-journal") }) + 12
        // A sweep tries each operation.
        for operation in stride(from: 1, through: end, by: Sweep.stride ?? 11) {
            let stage = try Stage()
            #expect(throws: (any Error).self) { try stage.migrate(FaultPlan(trigger: operation)) }
            let whole = try stage.copies().filter { try StoreBytes($0 + "/App.sqlite") == stage.hot }
            #expect(try whole.count == stage.copies().count, "operation \(operation)")
            #expect(try !whole.isEmpty || StoreBytes(stage.small.store) == stage.hot, "operation \(operation)")
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
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(.allowingLosses { $0.recovers = true })
        }
        #expect(error?.code == .storeInUse)
        try writer.execute("ROLLBACK")
        let report = try small.migrator().migrate(.allowingLosses { $0.recovers = true })
        #expect(report.outcome == .migrated && report.warnings.allSatisfy { $0.code != .recoveredJournal })
    }
}
