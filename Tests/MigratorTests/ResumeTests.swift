import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("A stopped migration")
struct ResumeTests {
    private let quick = Configuration.allowingLosses {
        $0.chunks.size = .rows(5)
        $0.executor = .set
        $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
    }

    @Test(
        "A repeated call after a failure at any operation ends in the same store",
        arguments: TinyStore.Form.allCases)
    func resumes(_ form: TinyStore.Form) throws {
        let whole = try SmallMigration(form: form)
        let count = FaultPlan()
        _ = try whole.migrator(files: FileLayer(faults: count)).migrate(quick)
        let expected = try DatabaseDump.text(whole.store)
        let untouched = try SmallMigration(form: form)
        let original = try DatabaseDump.text(untouched.store)
        // The step is a prime far below the number of operations, with another start for each form; of the last
        // operations, the swap and the clean-up, every third.
        let first = 1 + (TinyStore.Form.allCases.firstIndex(of: form) ?? 0) * 7
        let swap = count.count - 48
        for operation in Array(stride(from: first, to: swap, by: 41))
            + Array(stride(from: swap + first % 3, through: count.count, by: 3))
        {
            let small = try SmallMigration(form: form)
            // A failure after the swap is a warning.
            let faults = FaultPlan(trigger: operation, keepsNames: true)
            var warnings: [FerryWarning]?
            do { warnings = try small.migrator(files: FileLayer(faults: faults)).migrate(quick).warnings } catch {}
            // The number of progress writes depends on the time: the last operations may be missing.
            guard faults.count >= operation else { continue }
            // After the clean-up the report reads memory and bytes, and works without them.
            let isReporting = faults.names[operation - 1].contains("/proc/self/")
            #expect(
                isReporting || warnings?.contains { $0.code == .cleanUpFailed } != false,
                "operation \(operation): \(faults.names[operation - 1])")
            let between = try DatabaseDump.text(small.store)
            #expect(between == original || between == expected, "operation \(operation)")
            let report = try small.migrator().migrate(quick)
            #expect(try DatabaseDump.text(small.store) == expected, "operation \(operation)")
            #expect(report.outcome == .migrated || between == expected)
            let names = try FileLayer().list(small.folder.path).map(\.name).filter { $0.hasPrefix("App.sqlite") }
            // The dump's connection leaves its companion files beside a store in WAL mode.
            #expect(
                StoreFileNames.lasting(names).sorted()
                    == ["App.sqlite", "App.sqlite.ferry-log.json", "App.sqlite.snapshots"],
                "operation \(operation)")
        }
    }

    @Test("A run can be resumed with another spelling of its output, and with no other output")
    func otherSpelling() throws {
        let small = try SmallMigration()
        func migrate(_ output: String, holdsSwap: Bool) throws -> MigrationReport {
            var configuration = quick
            configuration.output = URL(fileURLWithPath: small.folder.file(output))
            configuration.holdsSwap = holdsSwap
            return try small.migrator().migrate(configuration)
        }
        #expect(throws: FerryError.self) { try migrate("New.sqlite", holdsSwap: true) }
        // On a file system that ignores case both names lead to the run's folder.
        let names = ["New.sqlite.ferry", "NEW.sqlite.ferry"].map(small.folder.file)
        try FileManager.default.moveItem(atPath: names[0], toPath: names[1])
        try FileManager.default.createSymbolicLink(atPath: names[0], withDestinationPath: names[1])
        let report = try migrate("NEW.sqlite", holdsSwap: false)
        #expect(report.outcome == .migrated && report.resumed && report.warnings.isEmpty, "\(report.warnings)")
        #expect(try FileLayer().exists(small.folder.file("NEW.sqlite")))
        // Moves the folder of another output's run to the path of this output's run folder.
        let other = try SmallMigration()
        var held = quick
        held.holdsSwap = true
        held.output = URL(fileURLWithPath: other.folder.file("One.sqlite"))
        #expect(throws: FerryError.self) { try other.migrator().migrate(held) }
        let (from, to) = (other.folder.file("One.sqlite.ferry"), other.folder.file("Two.sqlite.ferry"))
        try FileManager.default.moveItem(atPath: from, toPath: to)
        held.output = URL(fileURLWithPath: other.folder.file("Two.sqlite"))
        let error = #expect(throws: FerryError.self) { try other.migrator().migrate(held) }
        #expect(error?.code == .runDiffers, "\(String(describing: error))")
    }

    /// Stops a run in its second step, after the first step.
    private func interrupted(_ configuration: Configuration) throws -> SmallMigration {
        let small = try SmallMigration()
        let stop = StopRequest()
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(configuration, stop: stop) { event in
                if case .phase(.rows, step: 2) = event { stop.request(FerryError(.interrupted, "Stopped.")) }
            }
        }
        #expect(error?.code == .interrupted)
        #expect(try FileLayer().exists(small.store + ".ferry/run.json"))
        return small
    }

    @Test("A stopped run is resumable, reports this, and resumes")
    func stops() throws {
        let small = try interrupted(quick)
        let status = try StoreFiles(URL(fileURLWithPath: small.store)).status()
        #expect(status.state == .interrupted && status.runID != nil)
        let report = try small.migrator().migrate(quick)
        #expect(report.resumed && report.entityMappings.count == 4)
        #expect(try StoreFiles(URL(fileURLWithPath: small.store)).status().state == .finished)
    }

    @Test("A run resumes with its models and mapping models in another folder, as after an app's update")
    func movedInputs() throws {
        let small = try interrupted(quick)
        let elsewhere = small.folder.file("Updated")
        try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: false)
        for name in ["App.xcdatamodeld", "One.json", "Two.json"] {
            try FileManager.default.moveItem(atPath: small.folder.file(name), toPath: elsewhere + "/" + name)
        }
        let migrator = try Migrator(
            store: URL(fileURLWithPath: small.store),
            models: [.url(URL(fileURLWithPath: elsewhere + "/App.xcdatamodeld"))],
            mappings: ["One.json", "Two.json"].map { URL(fileURLWithPath: elsewhere + "/" + $0) })
        #expect(try migrator.migrate(quick).resumed)
    }

    @Test("Another plan is refused until it is restarted")
    func refusesOtherPlan() throws {
        let small = try interrupted(quick)
        var other = quick
        other.target = "App 2"
        let error = #expect(throws: FerryError.self) { try small.migrator().migrate(other) }
        #expect(error?.code == .runDiffers && error?.remedy.description.contains("restart = true") == true)

        try small.write(
            """
            { "source": "App 2", "destination": "App 3", "entityMappings": [
              { "name": "BookToBook", "source": "Book", "destination": "Book",
                "attributes": { "heading": "'same'" } } ] }
            """, to: "Two.json")
        let changed = #expect(throws: FerryError.self) { try small.migrator().migrate(quick) }
        #expect(changed?.code == .runDiffers && changed?.message.contains("Two.json") == true)

        var restart = quick
        restart.restart = true
        let report = try small.migrator().migrate(restart)
        #expect(!report.resumed)
        let store = try Connection(path: small.store, mode: .readWrite)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZHEADING = 'same'") == 12)
    }

    @Test("A store with later writes of an app is refused until the run is restarted")
    func refusesChangedStore() throws {
        let small = try interrupted(quick)
        let app = try Connection(path: small.store, mode: .readWrite)
        try app.execute("UPDATE ZBOOK SET ZTITLE = 'new' WHERE Z_PK = 1")
        let error = #expect(throws: FerryError.self) { try small.migrator().migrate(quick) }
        #expect(error?.code == .sourceChanged && error?.code.consequence == .refused)
        var restart = quick
        restart.restart = true
        _ = try small.migrator().migrate(restart)
        let store = try Connection(path: small.store, mode: .readWrite)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZHEADING = 'new'") == 1)
    }

    @Test("A run can be resumed with other chunks and every step a copy: both give the same result")
    func goesOnOtherwise() throws {
        let whole = try SmallMigration()
        _ = try whole.migrator().migrate(quick)
        let small = try interrupted(quick)
        var other = quick
        (other.chunks.size, other.executor) = (.rows(3), .row)
        let report = try small.migrator().migrate(other)
        #expect(report.resumed)
        #expect(try DatabaseDump.text(small.store) == DatabaseDump.text(whole.store))
    }

    @Test("Another treatment of damaged rows, other objects to drop and a changed model are refused by name")
    func refusesOtherInput() throws {
        let small = try interrupted(quick)
        var other = quick
        other.damaged = .drop
        let treated = #expect(throws: FerryError.self) { try small.migrator().migrate(other) }
        #expect(treated?.code == .runDiffers && treated?.message.contains("treatment of damaged rows") == true)
        other = quick
        other.repairs.removals = ["view"]
        let dropped = #expect(throws: FerryError.self) { try small.migrator().migrate(other) }
        #expect(dropped?.code == .runDiffers && dropped?.message.contains("objects to drop") == true)
        let model = "App.xcdatamodeld/App 2.xcdatamodel/contents"
        let bytes = try FileLayer().read(small.folder.file(model))
        try small.write(String(decoding: bytes, as: UTF8.self) + "\n", to: model)
        let changed = #expect(throws: FerryError.self) { try small.migrator().migrate(quick) }
        #expect(changed?.code == .runDiffers && changed?.message.contains("App 2.xcdatamodel") == true)
    }

    @Test("A folder that was copied within a commit is refused before SQLite reads it")
    func refusesMovedRun() throws {
        let count = FaultPlan(keepsNames: true)
        let whole = try SmallMigration()
        _ = try whole.migrator(files: FileLayer(faults: count)).migrate(quick)
        // Deleting the super-journal commits rows and lookups together.
        let commit = try #require(count.names.firstIndex { $0.hasPrefix("delete ") && $0.contains("-mj") })
        let small = try SmallMigration()
        #expect(throws: (any Error).self) {
            try small.migrator(files: FileLayer(faults: FaultPlan(trigger: commit + 1))).migrate(quick)
        }
        let (folder, away) = (small.store + ".ferry", small.folder.file("away"))
        try FileLayer().rename(folder, to: away)
        try FileManager.default.copyItem(atPath: away, toPath: folder)
        let error = #expect(throws: FerryError.self) { try small.migrator().migrate(quick) }
        #expect(error?.code == .runMoved && error?.code.consequence == .refused)
        #expect(error?.remedy.description.contains("restart = true") == true)
        try FileLayer().removeTree(folder)
        try FileLayer().rename(away, to: folder)
        #expect(try small.migrator().migrate(quick).resumed)
    }

    @Test("A run's state can be read during and after the run, without blocking it")
    func tellsItsState() throws {
        let small = try SmallMigration()
        let files = StoreFiles(URL(fileURLWithPath: small.store))
        #expect(try files.status().state == .none)
        let stop = StopRequest()
        let seen = Locked<[RunStatus]>([])
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(quick, stop: stop) { event in
                if case .phase(.indexes, step: 2) = event { stop.request(FerryError(.interrupted, "Stopped.")) }
                guard case .phase(.rows, _) = event else { return }
                do {
                    let status = try files.status()
                    seen.withLock { $0.append(status) }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(error?.code == .interrupted)
        let running = seen.withLock { $0 }
        #expect(running.count == 2 && running.allSatisfy { $0.state == .running && $0.runID != nil && $0.steps == 2 })
        // A phase is reported as soon as it begins, however short the phase before was.
        #expect(running.map(\.phase) == [.rows, .rows] && running.map(\.step) == [1, 2])
        let status = try files.status()
        #expect(status.state == .interrupted && status.step == 2 && status.phase == .indexes)
        #expect(status.fraction.map { $0 > 0.5 && $0 < 1 } == true, "\(status)")
        #expect(status.timeLeft == nil && status.rowsPerSecond == nil)
        let report = try small.migrator().migrate(quick)
        #expect(report.resumed)
        let finished = try files.status()
        #expect(finished.state == .finished && finished.runID == status.runID && finished.finished != nil)
    }

    @Test("A damaged destination fails verification and the store stays")
    func findsDamage() throws {
        let small = try SmallMigration()
        let before = try StoreBytes(small.store)
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(quick) { event in
                guard case .phase(.verify, step: 2) = event else { return }
                do {
                    let destination = try Connection(
                        path: small.store + ".ferry/step-2/destination.sqlite", mode: .readWrite)
                    try destination.execute("UPDATE ZBOOK SET ZHEADING = 'x' WHERE Z_PK = 3")
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(error?.code == .verificationFailed && error?.code.consequence == .differs)
        #expect((error?.cause as? VerificationDifferences)?.summary.differences.isEmpty == false)
        #expect(try StoreBytes(small.store) == before)
        #expect(try FileLayer().exists(small.store + ".ferry/step-2/destination.sqlite"))
    }
}
