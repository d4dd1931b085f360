import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("The pages that a migration frees")
struct FreedPagesTests {
    /// A store whose books lose their notes; the notes, or else the titles, have some MiB in all.
    private struct Stage {
        let folder: TemporaryFolder
        var store: String { folder.file("App.sqlite") }

        init(_ form: TinyStore.Form = .plain, keepsMost: Bool = false) throws {
            folder = try TemporaryFolder()
            let title = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
            let note = "<attribute name=\"note\" optional=\"YES\" attributeType=\"String\"/>"
            try folder.writeVersion("App 1", "<entity name=\"Book\">\(title)\(note)</entity>")
            try folder.writeVersion("App 2", "<entity name=\"Book\">\(title)</entity>")
            try FileLayer().replace(
                folder.file("App.xcdatamodeld/.xccurrentversion"),
                with: Array(
                    """
                    <?xml version="1.0" encoding="UTF-8"?>
                    <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>App 2.xcdatamodel</string></dict></plist>
                    """.utf8))
            let long = String(repeating: "note ", count: 20_000)
            try folder.makeBooks(
                rows: 30, form: form, uuid: "6C1D3E0A-0000-4000-8000-000000000004", hasModelCache: false,
                columns: ["ZTITLE", "ZNOTE"]
            ) { keepsMost ? [.text(long), .text("Book \($0)")] : [.text("Book \($0)"), .text(long)] }
            if form == .closedLog { try FileLayer().removeIfPresent(store + "-wal") }
            try FileLayer().removeIfPresent(store + "-shm")
        }

        func migrator(files: FileLayer = FileLayer()) throws -> Migrator {
            try Migrator(
                store: URL(fileURLWithPath: store),
                models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))], mappings: [], files: files)
        }

        func connect() throws -> Connection { try Connection(path: store, mode: .readWrite) }
    }

    /// The place of the step, and how its transaction reaches the store.
    enum Way: CaseIterable {
        case onStore
        case leavingLog
        case inFolder

        var configuration: Configuration {
            var configuration = Configuration.allowingLosses()
            switch self {
            case .onStore: break
            case .leavingLog: configuration.thresholds.largestLoggedStore = 0
            case .inFolder: configuration.budget = .seconds(600)
            }
            return configuration
        }
    }

    private func check(_ path: String, isAsNew: Bool = true) throws {
        let connection = try Connection(path: path, mode: .readWrite)
        #expect(try connection.integer("SELECT count(ZTITLE) FROM ZBOOK") == 30)
        #expect(try connection.value("PRAGMA integrity_check") == .text("ok"))
        if isAsNew { #expect(try connection.integer("PRAGMA freelist_count") ?? 1 < 16) }
    }

    @Test(
        "Are given back to the volume, and a rollback restores the old store",
        arguments: TinyStore.Form.allCases, Way.allCases)
    func givesBack(_ form: TinyStore.Form, _ way: Way) throws {
        let stage = try Stage(form)
        let original = try DatabaseDump.text(stage.store)
        let report = try stage.migrator().migrate(way.configuration)
        #expect(report.outcome == .migrated && report.mode == .inPlace)
        #expect(report.freed?.givenBack ?? 0 > 2 << 20 && report.freed?.left ?? .max < 1 << 16)
        try check(stage.store)
        #expect(try FileLayer().attributes(stage.store).size < 1 << 20)
        #expect(try StoreFiles(URL(fileURLWithPath: stage.store)).rollback().kept.count == 1)
        #expect(try DatabaseDump.text(stage.store) == original)
    }

    @Test("Are not in an output")
    func output() throws {
        let stage = try Stage()
        let output = stage.folder.file("New.sqlite")
        let report = try stage.migrator().migrate(.allowingLosses { $0.output = URL(fileURLWithPath: output) })
        #expect(report.freed?.givenBack ?? 0 > 2 << 20)
        try check(output)
        #expect(try FileLayer().attributes(output).size < 1 << 20)
    }

    @Test("Stay in a store that gives none back, and the report says so")
    func withoutVacuum() throws {
        let stage = try Stage()
        try stage.connect().execute("PRAGMA auto_vacuum = 0; VACUUM")
        let report = try stage.migrator().migrate(.allowingLosses())
        #expect(report.freed?.givenBack == 0 && report.freed?.left ?? 0 > 2 << 20)
        try check(stage.store, isAsNew: false)
    }

    @Test("Stay where a table was made anew with most of its content, and the report says so", arguments: Way.allCases)
    func keepsMost(_ way: Way) throws {
        let stage = try Stage(keepsMost: true)
        let report = try stage.migrator().migrate(way.configuration)
        #expect(report.freed?.givenBack == 0 && report.freed?.left ?? 0 > 2 << 20)
        try check(stage.store, isAsNew: false)
    }

    @Test("Those that were free before stay free")
    func keepsOthers() throws {
        let stage = try Stage()
        do {
            let connection = try stage.connect()
            try connection.execute(
                "CREATE TABLE APP(a); INSERT INTO APP VALUES (zeroblob(300000)); DROP TABLE APP")
            #expect(try connection.integer("PRAGMA freelist_count") ?? 0 > 70)
        }
        #expect(try stage.migrator().migrate(.allowingLosses()).freed?.left ?? .max < 1 << 16)
        #expect(try stage.connect().integer("PRAGMA freelist_count") ?? 0 > 70)
    }

    @Test(
        "A failure while they are given back leaves the new store, and the next call ends the run",
        arguments: TinyStore.Form.allCases, Way.allCases)
    func survivesFaults(_ form: TinyStore.Form, _ way: Way) throws {
        let (count, begins) = (FaultPlan(), SharedList<Int>())
        var configuration = way.configuration
        configuration.trace = { event in
            // Its trace comes after it.
            if event.text.hasPrefix("PRAGMA incremental_vacuum") || event.text == "COMMIT" {
                begins.append(count.count)
            }
        }
        let whole = try Stage(form)
        _ = try whole.migrator(files: FileLayer(faults: count)).migrate(configuration)
        let expected = try DatabaseDump.text(whole.store)
        let places = begins.all.suffix(2)
        try #require(places.count == 2 && places[places.startIndex] + 4 < places[places.startIndex + 1])
        // Every sixth operation, from different starts for the forms.
        let first = places[places.startIndex] + 1 + (TinyStore.Form.allCases.firstIndex(of: form) ?? 0)
        for operation in stride(from: first, through: places[places.startIndex + 1], by: 6) {
            let stage = try Stage(form)
            let files = FileLayer(faults: FaultPlan(trigger: operation))
            var outcome: MigrationReport.Outcome?
            do { outcome = try stage.migrator(files: files).migrate(way.configuration).outcome } catch {}
            #expect(outcome == nil || outcome == .migrated)
            let report = try stage.migrator().migrate(way.configuration)
            #expect([.migrated, .upToDate].contains(report.outcome), "operation \(operation)")
            #expect(try DatabaseDump.text(stage.store) == expected, "operation \(operation)")
            try check(stage.store, isAsNew: false)
        }
    }
}
