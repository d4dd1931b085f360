import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// After the swap, no failure makes the migration fail.
@Suite("Behind the swap")
struct AfterSwapTests {
    private static func log(of store: String) -> String { store + ".ferry-log.json" }

    enum Kind: CaseIterable { case copy, inPlace }

    private func migrator(_ kind: Kind) throws -> (store: String, folder: TemporaryFolder, migrator: Migrator) {
        if kind == .copy {
            let small = try SmallMigration()
            return (small.store, small.folder, try small.migrator())
        }
        let inferred = try InferredMigration()
        return (inferred.store, inferred.folder, try inferred.migrator())
    }

    @Test("An unreadable log is moved aside, with a warning", arguments: ["large", "text"], Kind.allCases)
    func setsLogAside(_ what: String, _ kind: Kind) throws {
        let (store, folder, migrator) = try migrator(kind)
        let log = Self.log(of: store)
        let content =
            what == "text" ? Array("no log".utf8) : Array("{\"x\":\"".utf8) + [UInt8](repeating: 97, count: 17 << 20)
        try FileLayer().replace(log, with: content)
        let report = try migrator.migrate(.allowingLosses())
        #expect(report.outcome == .migrated && report.to == "App 3")
        let warning = report.warnings.first { $0.code == .logReplaced }
        #expect(warning?.subject.path == log && warning?.message.contains(log + ".unreadable") == true)
        #expect(try FileLayer().attributes(log + ".unreadable").size == content.count)
        #expect(try !FileLayer().exists(store + ".ferry"))
        // The new log is readable.
        #expect(try StoreFiles(URL(fileURLWithPath: store)).status().state == .finished)
        #expect(try migrator.migrate(.allowingLosses()).outcome == .upToDate)
        withExtendedLifetime(folder) {}
    }

    @Test("A failed clean-up is a warning, and the next command finishes it", arguments: Kind.allCases)
    func leavesCleanUp(_ kind: Kind) throws {
        let (store, folder, migrator) = try migrator(kind)
        let (log, files) = (Self.log(of: store), FileLayer())
        // Ferry can neither read these paths nor move them aside.
        for path in [log, log + ".unreadable"] {
            try files.createDirectory(path)
            try files.replace(path + "/x", with: [1])
        }
        for _ in 0..<2 {
            let report = try migrator.migrate(.allowingLosses())
            #expect(report.outcome == .migrated && report.to == "App 3")
            #expect(report.warnings.contains { $0.code == .cleanUpFailed }, "\(report.warnings)")
            #expect(try files.exists(store + ".ferry/run.json"))
            let connection = try Connection(path: store, mode: .readOnly)
            #expect(try connection.integer("SELECT count(ZHEADING) FROM ZBOOK") ?? 0 > 0)
        }
        try files.removeTree(log)
        let report = try migrator.migrate(.allowingLosses())
        #expect(report.outcome == .migrated && report.warnings.allSatisfy { $0.code != .cleanUpFailed })
        #expect(try !files.exists(store + ".ferry"))
        #expect(try migrator.migrate(.allowingLosses()).outcome == .upToDate)
        withExtendedLifetime(folder) {}
    }

    @Test(
        "One failed operation ends with the old store and an error, or with the new one and at most a warning",
        arguments: [TinyStore.Form.plain, .closedLog])
    func failsOnce(_ form: TinyStore.Form) throws {
        var configuration = Configuration()
        configuration.thresholds.largestLoggedStore = 0
        let counted = FaultPlan()
        let whole = try InferredMigration(form: form)
        _ = try whole.migrator(files: FileLayer(faults: counted)).migrate(configuration)
        withExtendedLifetime(whole) {}
        for operation in stride(from: 1, through: counted.count, by: Sweep.stride ?? 5) {
            let small = try InferredMigration(form: form)
            let faults = FaultPlan(trigger: operation, outcome: .failOnce)
            var failure: FerryError?
            do {
                _ = try small.migrator(files: FileLayer(faults: faults)).migrate(configuration)
            } catch { failure = error as? FerryError }
            // Opening it rolls back what is left.
            let store = try Connection(path: small.store, mode: .readWrite)
            let isNew = try store.rows("SELECT 1 FROM pragma_table_info('ZBOOK') WHERE name = 'ZHEADING'").count == 1
            #expect(isNew == (failure == nil), "operation \(operation): \(String(describing: failure))")
            #expect(failure?.code != .verificationFailed, "operation \(operation)")
        }
    }

    @Test("An output that another program changed before the clean-up is refused, and replaced with --restart")
    func changedOutput() throws {
        let (small, files) = (try SmallMigration(), FileLayer())
        let output = small.folder.file("New.sqlite")
        var configuration = Configuration.allowingLosses { $0.output = URL(fileURLWithPath: output) }
        for path in [Self.log(of: output), Self.log(of: output) + ".unreadable"] {
            try files.createDirectory(path)
            try files.replace(path + "/x", with: [1])
        }
        let report = try small.migrator().migrate(configuration)
        #expect(report.warnings.contains { $0.code == .cleanUpFailed }, "\(report.warnings)")
        #expect(truncate(output, 0) == 0)
        try files.removeTree(Self.log(of: output))
        let error = #expect(throws: FerryError.self) { try small.migrator().migrate(configuration) }
        #expect(error?.code == .outputExists && error?.message.contains("changed by another program") == true)
        try files.rename(output, to: output + ".aside")
        configuration.restart = true
        #expect(try small.migrator().migrate(configuration).outcome == .migrated)
        #expect(try Connection(path: output, mode: .readOnly).integer("SELECT count(*) FROM ZBOOK") == 12)
    }
}
