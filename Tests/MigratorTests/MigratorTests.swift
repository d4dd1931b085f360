import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("A migration")
struct MigratorTests {
    private let quick = Configuration.allowingLosses { $0.chunks.size = .rows(5) }

    @Test("A store is migrated over two steps, and the report describes the work", arguments: TinyStore.Form.allCases)
    func migrates(_ form: TinyStore.Form) throws {
        let small = try SmallMigration(form: form)
        let events = Locked<[MigrationEvent]>([])
        let report = try small.migrator().migrate(quick) { event in events.withLock { $0.append(event) } }
        #expect(report.outcome == .migrated)
        #expect(report.chain == ["App 1", "App 2", "App 3"])
        #expect(report.mode == .copy && !report.resumed)
        #expect(report.entityMappings.map(\.name) == ["BookToBook", "BookAuthor", "AuthorToAuthor", "BookToBook"])
        #expect(report.entityMappings.map(\.step) == [1, 1, 2, 2])
        #expect(report.entityMappings.map(\.written) == [12, 3, 3, 12])
        #expect(report.entityMappings[1].merged == 7 && report.entityMappings[1].dropped == 2)
        #expect(report.verification.mode == .full && report.verification.checked > 0)
        #expect(report.chunks.count > 4 && report.chunks.median != nil)
        #expect(Set(report.phases.map(\.phase)).isSuperset(of: [.preflight, .snapshot, .rows, .verify, .swap]))
        #expect((report.peakResidentBytes ?? 0) > 1 << 20)

        let store = try Connection(path: small.store, mode: .readWrite)
        #expect(try store.value("PRAGMA integrity_check") == .text("ok"))
        #expect(try StoreMetadata.read(from: store).hashes == small.model("App 3").hashes)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZAUTHOR IS NOT NULL") == 10)
        let names = try FileLayer().list(small.folder.path).map(\.name).filter { $0.hasPrefix("App.sqlite") }.sorted()
        // In WAL mode the connection above has companion files of its own.
        #expect(
            StoreFileNames.lasting(names)
                == ["App.sqlite", "App.sqlite.ferry-log.json", "App.sqlite.snapshots"])

        let phases = events.withLock { $0 }.compactMap { if case .phase(let phase, _) = $0 { phase } else { nil } }
        #expect(phases.first == .preflight && phases.last == .cleanUp && phases.contains(.snapshot))
        guard case .finished = events.withLock({ $0.last }) else {
            Issue.record("The last event is not the report.")
            return
        }
    }

    @Test("A repeated call changes nothing, and its report says so")
    func isUpToDate() throws {
        let small = try SmallMigration()
        _ = try small.migrator().migrate(quick)
        let before = try StoreBytes(small.store)
        let report = try small.migrator().migrate(quick)
        #expect(report.outcome == .upToDate && report.chain == ["App 3"])
        #expect(try StoreBytes(small.store) == before)
        #expect(try small.migrator().plan().isUpToDate)
    }

    @Test("A stream of events ends with the report")
    func streams() async throws {
        let small = try SmallMigration()
        var report: MigrationReport?
        for try await event in try small.migrator().run(quick) {
            if case .finished(let finished) = event { report = finished }
        }
        #expect(report?.outcome == .migrated)
    }

    @Test("A plan changes nothing", arguments: TinyStore.Form.allCases, [false, true])
    func plans(_ form: TinyStore.Form, checksRows: Bool) throws {
        let small = try SmallMigration(form: form)
        let before = try StoreBytes(small.store)
        let plan = try small.migrator().plan(checksRows: checksRows)
        #expect(plan.chain == ["App 1", "App 2", "App 3"])
        #expect(plan.refusals.isEmpty && plan.rows == 12)
        #expect(plan.steps.map(\.mappingModels) == [["One"], ["Two"]])
        #expect(plan.peakDiskBytes.values.allSatisfy { $0 > 0 })
        #expect(try small.migrator().identify().version == "App 1")
        #expect(try StoreBytes(small.store) == before)
        #expect(try !FileLayer().exists(small.store + ".ferry"))
    }

    // MARK: Output

    @Test("With an output the store stays unchanged", arguments: TinyStore.Form.allCases)
    func writesOutput(_ form: TinyStore.Form) throws {
        let small = try SmallMigration(form: form)
        let before = try StoreBytes(small.store)
        let output = small.folder.file("New.sqlite")
        var configuration = quick
        configuration.output = URL(fileURLWithPath: output)
        let report = try small.migrator().migrate(configuration)
        #expect(report.store.path == output && report.snapshot == nil)
        #expect(try StoreBytes(small.store) == before)
        #expect(try !FileLayer().exists(small.store + ".snapshots"))
        let store = try Connection(path: output, mode: .readWrite)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK") == 12)
        #expect(try !FileLayer().exists(output + ".ferry"))

        // A kill between the removal of the record and of the folder leaves this state.
        try FileLayer().createDirectory(output + ".ferry")
        try FileLayer().replace(output + ".ferry/lock", with: [])
        let again = try small.migrator().migrate(configuration)
        #expect(again.outcome == .upToDate && again.store.path == output)
        #expect(try !FileLayer().exists(output + ".ferry"))
        #expect(try StoreBytes(small.store) == before)
    }

    @Test("An output of another command is not overwritten")
    func keepsOutput() throws {
        let small = try SmallMigration()
        var configuration = quick
        configuration.output = URL(fileURLWithPath: small.folder.file("New.sqlite"))
        _ = try small.migrator().migrate(configuration)
        func code(_ configuration: Configuration) throws -> FerryError.Code? {
            #expect(throws: FerryError.self) { try small.migrator().migrate(configuration) }?.code
        }
        var other = configuration
        other.damaged = .drop
        #expect(try code(other) == .outputExists)
        other = configuration
        other.restart = true
        #expect(try code(other) == .outputExists)
        do { try Connection(path: small.store, mode: .readWrite).execute("UPDATE ZBOOK SET ZTITLE = 'Another'") }
        #expect(try code(configuration) == .outputExists)
        try FileLayer().removeIfPresent(small.folder.file("New.sqlite.ferry-log.json"))
        #expect(try code(configuration) == .outputExists)
    }

    // MARK: Refusals

    @Test("A refusal leaves the store and its folder unchanged")
    func refuses() throws {
        let small = try SmallMigration()
        let before = try StoreBytes(small.store)
        func code(_ configuration: Configuration = Configuration.allowingLosses()) throws -> FerryError.Code? {
            let migrator = try small.migrator()
            let error = #expect(throws: FerryError.self) { try migrator.migrate(configuration) }
            #expect(error?.remedy.isEmpty == false)
            #expect(try StoreBytes(small.store) == before)
            #expect(try !FileLayer().exists(small.store + ".ferry"))
            return error?.code
        }
        #expect(try code(Configuration.allowingLosses { $0.target = "App 9" }) == .noSuchVersion)
        // A mandatory attribute without a value.
        let app = try Connection(path: small.store, mode: .readWrite)
        try app.execute("BEGIN IMMEDIATE")
        #expect(try code() == .storeInUse)
    }

    @Test("Missing values of a new mandatory attribute are counted before the run writes")
    func refusesMissingValues() throws {
        let small = try SmallMigration()
        try small.write(
            """
            { "source": "App 1", "destination": "App 3", "entityMappings": [
              { "name": "BookToBook", "source": "Book", "destination": "Book",
                "attributes": { "heading": "$source.writer" } } ] }
            """, to: "One.json")
        try small.write("{ \"source\": \"App 2\", \"destination\": \"App 1\", \"entityMappings\": [] }", to: "Two.json")
        let error = #expect(throws: FerryError.self) { try small.migrator().migrate(quick) }
        #expect(error?.code == .mandatoryValue)
        #expect(error?.message.contains("2 rows") == true)
        #expect(try !FileLayer().exists(small.store + ".ferry"))
        #expect(
            try small.migrator().plan(.allowingLosses(), checksRows: true).refusals.map(\.code) == [.mandatoryValue])
    }

    @Test("An unknown version is refused with the nearest version and the differences")
    func namesNearestVersion() throws {
        let small = try SmallMigration()
        let contents = small.folder.file("App.xcdatamodeld/App 1.xcdatamodel")
        try FileLayer().removeTree(contents)
        let error = #expect(throws: FerryError.self) { try small.migrator().plan() }
        #expect(error?.code == .unknownVersion)
        #expect(error?.message.contains("Book") == true)
        let found = try small.migrator().identify()
        #expect(found.version == nil && found.nearest?.differs.contains("Book") == true)
    }
}
