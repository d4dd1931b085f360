import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// `plan --check` says that a migration runs exactly if the migration comes to its first write.
@Suite("A plan that was checked", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct PlanPromiseTests {
    /// A store with its models and mapping models, and the targets to which it may migrate.
    private struct Subject {
        var name: String
        var store: URL
        var models: [URL]
        var mappings: [URL] = []
        var targets: [String?] = [nil]
    }

    /// Migrates a copy of the store up to the swap, and compares with the plan.
    private func compare(
        _ subject: Subject, in folder: TemporaryFolder, _ tally: inout [Bool: Int],
        _ all: [Configuration.Losses] = [.allow, .refuse]
    ) throws {
        for target in subject.targets {
            for losses in all {
                let store = try Fixtures.copyStore(from: subject.store.path, to: folder.file("work.sqlite"))
                var configuration = Configuration.allowingLosses {
                    $0.target = target
                    $0.snapshots.form = .none
                }
                configuration.losses = losses
                configuration.holdsSwap = true
                let migrator = try Migrator(
                    store: URL(fileURLWithPath: store), models: subject.models.map { .url($0) },
                    mappings: subject.mappings.map { $0 })
                let planned = Result { try migrator.plan(configuration, checksRows: true) }
                var runs = false
                if case .success(let plan) = planned { runs = plan.refusals.isEmpty }
                var reason = "it ran"
                var isWritten = true
                do {
                    _ = try migrator.migrate(configuration)
                } catch let error as FerryError {
                    isWritten = error.code.consequence != .refused
                    reason = "\(error.code): \(error.message)"
                }
                #expect(
                    runs == isWritten,
                    "\(subject.name) to \(target ?? "the current version"), losses \(losses): plan \(planned), but \(reason)"
                )
                tally[runs, default: 0] += 1
                for entry in try FileManager.default.contentsOfDirectory(atPath: folder.path)
                where entry.hasPrefix("work.sqlite") || entry.hasPrefix(".work") {
                    try FileManager.default.removeItem(atPath: folder.file(entry))
                }
            }
        }
    }

    @Test("runs in every family of real stores, or is refused as the plan says", arguments: StoreFamily.some)
    func families(_ family: StoreFamily) throws {
        let files = try family.copied()
        let work = try TemporaryFolder()
        var tally: [Bool: Int] = [:]
        let catalog = try ModelCatalog(paths: family.models.map(files.folder.file))
        for store in Sweep.isFull ? family.stores : Array(family.stores.prefix(1)) {
            let versions =
                Sweep.isFull && catalog.versions.count <= 20 ? catalog.versions : Array(catalog.versions.suffix(1))
            try compare(
                Subject(
                    name: "\(family.name)/\(store)",
                    store: URL(fileURLWithPath: Fixtures.path("\(family.name)/\(store)")),
                    models: family.models.map { files.url($0) }, mappings: family.mappings.map { files.url($0) },
                    targets: versions.map { catalog.displayName(of: $0) }), in: work, &tally)
        }
        #expect(tally.values.reduce(0, +) > 0)
    }

    @Test("runs in every case from the field, or is refused as the plan says, whatever the rows")
    func field() throws {
        var tally: [Bool: Int] = [:]
        let field = Fixtures.path("field")
        let cases = try FileManager.default.contentsOfDirectory(atPath: field).sorted()
        let bundles = try cases.flatMap { name in
            try FileManager.default.contentsOfDirectory(atPath: "\(field)/\(name)").sorted()
                .map { "field/\(name)/\($0)" }
        }
        for item in bundles where item.hasSuffix(".xcdatamodeld") {
            let catalog = try ModelCatalog(paths: [Fixtures.path(item)])
            guard let first = catalog.versions.first, StoreLayout.refusals(for: first.model).isEmpty else { continue }
            for (rows, empty) in (Sweep.isFull ? [(0, 0), (5, 0), (5, 60)] : [(5, 0), (5, 60)]) as [(Int64, Int64)] {
                let folder = try TemporaryFolder()
                let path = folder.file("made.sqlite")
                try StoreGenerator(first, options: GenerationOptions(rows: rows, seed: 7, emptyPercent: empty))
                    .generate(at: path, files: FileLayer())
                try compare(
                    Subject(
                        name: "\(item), \(rows) rows, \(empty) % empty", store: URL(fileURLWithPath: path),
                        models: [URL(fileURLWithPath: Fixtures.path(item))],
                        targets: catalog.versions.dropFirst().map { catalog.displayName(of: $0) }), in: folder, &tally)
            }
        }
        #expect(tally[true] ?? 0 > 5 && tally[false] ?? 0 > 5, "\(tally)")
    }

    @Test("runs in every case of the suite")
    func cases() throws {
        let cases = Fixtures.packageRoot + "/Tests/CaseTests/Cases"
        var tally: [Bool: Int] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: cases).sorted() {
            let (path, folder) = ("\(cases)/\(name)", try TemporaryFolder())
            let models = ["Model 1", "Model 2"].map { "\(path)/\($0).xcdatamodel" }
            let version = try ModelCatalog(paths: models).version(named: "Model 1")
            let store = folder.file("made.sqlite")
            do {
                let connection = try Connection(path: store, mode: .create)
                let layout = try StoreLayout.canonical(for: version.model)
                try StoreCreation.prepare(connection)
                try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
                try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: [:], on: connection)
                for index in layout.indexes { try connection.execute(index.sql) }
                try StoreMetadata.new(for: version, uuid: "6F0E4A5C-0B0E-4C35-9B51-6C9A0B8C3E11").write(to: connection)
                try connection.execute(try String(contentsOfFile: "\(path)/source.sql", encoding: .utf8))
            }
            let mapping = "\(path)/mapping.json"
            let isMapped = FileManager.default.fileExists(atPath: mapping)
            try compare(
                Subject(
                    name: name, store: URL(fileURLWithPath: store), models: models.map { URL(fileURLWithPath: $0) },
                    mappings: isMapped ? [URL(fileURLWithPath: mapping)] : [], targets: ["Model 2"]),
                in: folder, &tally, Sweep.isFull ? [.allow, .refuse] : [.allow])
        }
        #expect(tally[true] ?? 0 > 20, "\(tally)")
    }
}
