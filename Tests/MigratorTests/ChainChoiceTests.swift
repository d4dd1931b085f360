import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("Choosing the versions of a chain")
struct ChainChoiceTests {
    @Test("A list of versions leads to its last version, past the versions that it leaves out")
    func versions() throws {
        let mixed = try MixedMigration()
        var configuration = Configuration.allowingLosses()
        configuration.chain = .versions(["App 1", "App 2", "App 3", "App 5"])
        let plan = try mixed.migrator().plan(configuration)
        #expect(plan.chain == ["App 1", "App 2", "App 3", "App 5"])
        #expect(plan.links.map(\.isInferred) == [true, false, true])
        #expect(plan.steps.map(\.mode) == [.inPlace, .copy, .inPlace])
        #expect(plan.steps.allSatisfy { !$0.reason.isEmpty })
        let report = try mixed.migrator().migrate(configuration)
        #expect(report.to == "App 5" && report.chain == plan.chain)
        let store = try Connection(path: mixed.store, mode: .readWrite)
        // App 5 has no renaming identifier for the heading: without App 4, the mapping cannot relate the heading to the
        // title.
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZHEADING IS NULL AND ZPAGES = 100") == 12)
    }

    @Test("Ferry calls the app's closure for each version, and nil leaves the rest to Ferry")
    func closure() throws {
        let mixed = try MixedMigration()
        let asked = Locked<[VersionQuestion]>([])
        var configuration = Configuration.allowingLosses()
        configuration.chain = .next { question in
            asked.withLock { $0.append(question) }
            return question.version == "App 1" ? "App 2" : nil
        }
        #expect(try mixed.migrator().plan(configuration).chain == ["App 1", "App 2", "App 3", "App 4", "App 5"])
        let first = try #require(asked.withLock { $0.first })
        #expect(first.version == "App 1" && first.target == "App 5" && first.candidates == ["App 2"])
    }

    @Test("A downgrade is refused unless allowed; then it is in place, verified, and lists the losses")
    func downgrade() throws {
        let mixed = try MixedMigration()
        _ = try mixed.migrator().migrate(.allowingLosses())
        let refused = #expect(throws: FerryError.self) {
            try mixed.migrator().migrate(.allowingLosses { $0.target = "App 4" })
        }
        #expect(refused?.code == .backward && refused?.remedy.description.contains("allowsDowngrade = true") == true)
        var configuration = Configuration.allowingLosses { $0.target = "App 4" }
        configuration.allowsDowngrade = true
        let plan = try mixed.migrator().plan(configuration)
        #expect(plan.losses.map(\.property) == ["pages"] && plan.losses.map(\.rows) == [12])
        #expect(plan.warnings.first?.message == "Book.pages is lost, 12 values: App 4 does not have it.")
        let before = mixed.folder.file("Before.sqlite")
        try FileManager.default.copyItem(atPath: mixed.store, toPath: before)
        let warnings = Locked<[FerryWarning]>([])
        let report = try mixed.migrator().migrate(configuration) { event in
            if case .warning(let warning) = event { warnings.withLock { $0.append(warning) } }
        }
        #expect(report.mode == .inPlace && report.from == "App 5" && report.to == "App 4")
        #expect(warnings.withLock { $0.first } == plan.warnings.first)
        let store = try Connection(path: mixed.store, mode: .readWrite)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZHEADING LIKE 'Book %'") == 12)
        #expect(try store.value("PRAGMA integrity_check") == .text("ok"))
        // The log says that it was no mistake.
        let summary = try Verifier(
            store: URL(fileURLWithPath: mixed.store),
            models: [.url(URL(fileURLWithPath: mixed.folder.file("App.xcdatamodeld")))]
        ).verifyMigration(from: URL(fileURLWithPath: before))
        #expect(summary.differences.isEmpty, "\(summary.differences)")
    }

    @Test("Without inference a chain needs a mapping model for each step")
    func noInference() throws {
        var configuration = Configuration.allowingLosses()
        configuration.infersMappings = false
        let mixed = try MixedMigration()
        let refusal = try #require(try mixed.migrator().plan(configuration).refusals.first)
        #expect(refusal.code == .unreachable && refusal.message.contains("App 1"))
        let mapped = try MixedMigration(isAllCopies: true)
        #expect(try mapped.migrator().plan(configuration).refusals.isEmpty)
    }

    @Test("Mapping models decide which of two bundles comes first, and so the last version")
    func bundles() throws {
        let folder = try TemporaryFolder()
        for (bundle, attribute) in [("Alpha", "second"), ("Beta", "first")] {
            let version = folder.file("\(bundle).xcdatamodeld/\(bundle).xcdatamodel")
            try FileLayer().createDirectory(version)
            try FileLayer().replace(
                version + "/contents",
                with: Array(
                    "<model><entity name=\"Book\"><attribute name=\"\(attribute)\" optional=\"YES\" attributeType=\"String\"/></entity></model>"
                        .utf8))
        }
        try FileLayer().replace(
            folder.file("BetaToAlpha.json"),
            with: Array(
                #"{ "source": "Beta", "destination": "Alpha", "entityMappings": [ { "name": "B", "source": "Book", "destination": "Book", "attributes": { "second": "$source.first" } } ] }"#
                    .utf8))
        let catalog = try ModelCatalog(paths: [folder.path])
        let store = try StoreBuilder(try catalog.version(named: "Beta").model, maximumKeys: ["Book": 1])
        try store.execute("INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZFIRST) VALUES (1, 1, 1, 'One')")
        let migrator = try Migrator(
            store: URL(fileURLWithPath: store.path), models: [.url(URL(fileURLWithPath: folder.path))],
            mappings: [URL(fileURLWithPath: folder.file("BetaToAlpha.json"))])
        let plan = try migrator.plan()
        #expect(plan.chain == ["Beta", "Alpha"] && plan.refusals.isEmpty)
        #expect(plan.notes.first == "Versions are ordered by name, bundles by the mapping models between them.")
    }
}
