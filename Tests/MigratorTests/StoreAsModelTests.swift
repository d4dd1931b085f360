import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Stores as model versions: no model file is at hand.
@Suite("A store as a model version")
struct StoreAsModelTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try makeStore("old.sqlite", Self.version(1, identifier: "1.0.0"), rows: 20)
        try makeStore("new.sqlite", Self.version(2, identifier: "2.0.0"))
    }

    /// A version of one entity with a title, and with a subtitle from version 2 on.
    static func version(_ number: Int, identifier: String, standard: String? = nil) -> ModelVersion {
        let attributes = ["title", "subtitle", "motto"].prefix(number).map { name in
            Attribute(name: name, type: .string, isOptional: true, defaultValue: standard.map { .text($0) })
        }
        return ModelVersion(
            of: ManagedObjectModel(
                versionIdentifiers: identifier.isEmpty ? [] : [identifier],
                entities: [Entity(name: "Book", attributes: attributes)]))
    }

    private func makeStore(_ name: String, _ version: ModelVersion, rows: Int64 = 0) throws {
        try StoreGenerator(version, options: GenerationOptions(rows: rows, seed: 1)).generate(
            at: folder.file(name), files: FileLayer())
    }

    private func source(_ file: String, named name: String? = nil) -> ModelSource {
        .store(URL(fileURLWithPath: folder.file(file)), named: name)
    }

    private func migrator(_ models: [ModelSource], store: String = "old.sqlite") throws -> Migrator {
        try Migrator(store: URL(fileURLWithPath: folder.file(store)), models: models)
    }

    private func bytes() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: folder.file($0)))) })
    }

    /// The columns of a table, in their order.
    private func columns(_ store: String) throws -> [String] {
        let connection = try Connection(path: folder.file(store), mode: .readOnly)
        return try connection.rows("SELECT name FROM pragma_table_info('ZBOOK')").compactMap { $0[0].text }
    }

    // MARK: One store

    @Test("The store of the target version is the only model that is needed, and is not written")
    func onlyTarget() throws {
        let before = try bytes()
        let migrator = try migrator([source("new.sqlite")])
        let plan = try migrator.plan()
        #expect(plan.chain == ["1.0.0", "2.0.0"] && plan.refusals.isEmpty && plan.warnings.isEmpty)
        #expect(plan.isOwnModel == true && plan.layoutStore?.path == folder.file("new.sqlite"))
        #expect(try bytes() == before)
        let report = try migrator.migrate(.allowingLosses { $0.snapshots.form = .none })
        #expect(report.chain == ["1.0.0", "2.0.0"] && report.layoutStore?.path == folder.file("new.sqlite"))
        let after = try bytes()
        #expect(after["new.sqlite"] == before["new.sqlite"])
        #expect(Set(after.keys) == ["old.sqlite", "new.sqlite", "old.sqlite.ferry-log.json"])
        #expect(try columns("old.sqlite").contains("ZSUBTITLE"))
        let again = try migrator.migrate(.allowingLosses { $0.snapshots.form = .none })
        #expect(again.outcome == .upToDate)
    }

    @Test("A store whose rows are only in its -wal is read, and stays as it is")
    func writeAheadLog() throws {
        let connection = try Connection(path: folder.file("new.sqlite"), mode: .readWrite)
        connection.keepWriteAheadLogOnClose()
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
        try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 7")
        let before = try bytes()
        #expect(before["new.sqlite-wal"]?.isEmpty == false)
        _ = try migrator([source("new.sqlite")]).migrate(.allowingLosses { $0.snapshots.form = .none })
        let after = try bytes()
        for name in ["new.sqlite", "new.sqlite-wal"] { #expect(after[name] == before[name], "\(name)") }
        withExtendedLifetime(connection) {}
    }

    @Test("The new store gets the order of columns of the target's store, unless --like names another")
    func layout() throws {
        try reorder("new.sqlite", to: ["ZTITLE", "ZSUBTITLE"])
        var configuration = Configuration.allowingLosses {
            $0.output = URL(fileURLWithPath: folder.file("out.sqlite"))
            $0.executor = .row
        }
        _ = try migrator([source("new.sqlite")]).migrate(configuration)
        #expect(try columns("out.sqlite").suffix(2) == ["ZTITLE", "ZSUBTITLE"])
        try makeStore("like.sqlite", Self.version(2, identifier: "2.0.0"))
        configuration.output = URL(fileURLWithPath: folder.file("other.sqlite"))
        configuration.like = URL(fileURLWithPath: folder.file("like.sqlite"))
        let report = try migrator([source("new.sqlite")]).migrate(configuration)
        #expect(try columns("other.sqlite") == columns("like.sqlite"))
        #expect(report.layoutStore?.path == folder.file("like.sqlite"))
    }

    /// Makes the table anew with its columns in another order.
    private func reorder(_ store: String, to columns: [String]) throws {
        let connection = try Connection(path: folder.file(store), mode: .readWrite)
        let definition = columns.map { "\($0) VARCHAR" }.joined(separator: ", ")
        try connection.execute(
            "DROP TABLE ZBOOK; CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, \(definition) )"
        )
        #expect(try self.columns(store).suffix(2) == columns.suffix(2))
    }

    // MARK: Names

    @Test("A given name goes before the version identifier, and the file's name stands where that is not unique")
    func names() throws {
        try makeStore("other.sqlite", Self.version(3, identifier: "2.0.0"))
        try makeStore("none.sqlite", Self.version(3, identifier: ""))
        #expect(try migrator([source("new.sqlite", named: "Next")]).plan().chain == ["1.0.0", "Next"])
        #expect(try migrator([source("none.sqlite")]).plan().chain == ["1.0.0", "none.sqlite"])
        let both = try migrator([source("new.sqlite"), source("other.sqlite")])
        for name in ["new.sqlite", "new", folder.file("new.sqlite")] {
            #expect(try both.plan(.allowingLosses { $0.target = name }).chain == ["1.0.0", "new.sqlite"], "\(name)")
        }
        let error = #expect(throws: FerryError.self) { try both.plan(.allowingLosses { $0.target = "2.0.0" }) }
        #expect(error?.code == .noSuchVersion)
    }

    @Test("Without a target the highest number is taken; without numbers the candidates are named")
    func target() throws {
        try makeStore("ten.sqlite", Self.version(3, identifier: "10.0"))
        let sources = [source("ten.sqlite"), source("new.sqlite"), source("old.sqlite")]
        #expect(try migrator(sources).plan().chain == ["1.0.0", "10.0"])
        #expect(try migrator(sources, store: "ten.sqlite").plan().isUpToDate)
        let back = try migrator([source("old.sqlite")], store: "new.sqlite").plan()
        #expect(back.refusals.contains { $0.code == .backward })
        try makeStore("none.sqlite", Self.version(3, identifier: ""))
        let error = #expect(throws: FerryError.self) {
            try migrator([source("none.sqlite"), source("new.sqlite")]).plan()
        }
        #expect(error?.code == .ambiguousVersion && (error?.cause as? TargetCandidates)?.versions.count == 2)
    }

    // MARK: Folders

    @Test("A folder holds one store per version, and a damaged one among them is told")
    func folders() throws {
        try FileManager.default.createDirectory(atPath: folder.file("Versions"), withIntermediateDirectories: true)
        try makeStore("Versions/1.store", Self.version(1, identifier: "1.0.0"))
        try makeStore("Versions/2.store", Self.version(2, identifier: "2.0.0"))
        try makeStore("Versions/3.store", Self.version(3, identifier: "3.0.0"))
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("Versions/notes.txt")))
        let other = try Connection(path: folder.file("Versions/other.db"), mode: .create)
        try other.execute("CREATE TABLE t (a)")
        let plan = try migrator([source("Versions")]).plan()
        #expect(plan.chain.first == "1.0.0" && plan.chain.last == "3.0.0" && plan.warnings.isEmpty)
        #expect(plan.layoutStore?.path == folder.file("Versions/3.store"))
        try damageCache("Versions/2.store", "DELETE FROM Z_MODELCACHE")
        let warned = try migrator([source("Versions")]).plan()
        #expect(warned.warnings.map(\.code) == [.modelPassedOver] && warned.refusals.isEmpty)
    }

    @Test("Stores beside a bundle add a layout and no versions; the migrated one among them is no model of its own")
    func besideBundle() throws {
        let small = try InferredMigration()
        let path = small.folder.path
        let plain = try Migrator(store: URL(fileURLWithPath: small.store), models: [.url(URL(fileURLWithPath: path))])
            .plan()
        #expect(plain.refusals.isEmpty && plain.layoutStore == nil && plain.warnings.isEmpty)
        let target = try small.folder.appVersion("App 3")
        try StoreGenerator(target, options: GenerationOptions(rows: 0, seed: 1)).generate(
            at: small.folder.file("App3.sqlite"), files: FileLayer())
        let found = try Migrator(store: URL(fileURLWithPath: small.store), models: [.url(URL(fileURLWithPath: path))])
            .plan()
        #expect(found.chain == plain.chain && found.layoutStore?.path == small.folder.file("App3.sqlite"))
        #expect(found.isOwnModel == false)
    }

    @Test("The store itself as a model beside a bundle stands for its version alone")
    func ownStoreBesideBundle() throws {
        let small = try InferredMigration()
        let version = Self.version(2, identifier: "")
        let path = small.folder.file("Stray.sqlite")
        try StoreGenerator(version, options: GenerationOptions(rows: 3, seed: 1)).generate(at: path, files: FileLayer())
        let bundle = ModelSource.url(URL(fileURLWithPath: small.folder.file("App.xcdatamodeld")))
        let store = URL(fileURLWithPath: path)
        let error = #expect(throws: FerryError.self) { try Migrator(store: store, models: [bundle]).plan() }
        #expect(error?.code == .unknownVersion && "\(error?.remedy ?? "")".contains("the store itself"))
        let plan = try Migrator(store: store, models: [bundle, .store(store)]).plan()
        #expect(plan.chain == ["Stray.sqlite", "App 3"])
    }

    @Test("Two stores of the target version with different layouts: given ones are refused, found ones are told")
    func severalLayouts() throws {
        try makeStore("twin.sqlite", Self.version(2, identifier: "2.0.0"))
        let both = [source("new.sqlite"), source("twin.sqlite")]
        #expect(try migrator(both).plan().layoutStore != nil)
        try reorder("twin.sqlite", to: ["ZTITLE", "ZSUBTITLE"])
        let error = #expect(throws: FerryError.self) { try migrator(both).plan() }
        #expect(error?.code == .layoutUnknown && error?.message.contains("twin.sqlite") == true)
        let plan = try migrator([.url(URL(fileURLWithPath: folder.path))]).plan()
        #expect(plan.layoutStore == nil && plan.warnings.map(\.code) == [.layoutNotTaken])
    }

    // MARK: Refusals

    private func damageCache(_ store: String, _ statement: String) throws {
        try Connection(path: folder.file(store), mode: .readWrite).execute(statement)
    }

    @Test(
        "A store without a usable model is refused with the reason",
        arguments: [
            ("DELETE FROM Z_MODELCACHE", "contains no model"), ("DROP TABLE Z_MODELCACHE", "contains no model"),
            ("UPDATE Z_MODELCACHE SET Z_CONTENT = substr(Z_CONTENT, 1, 40)", "is damaged"),
            ("UPDATE Z_MODELCACHE SET Z_CONTENT = x'00'", "is damaged"),
        ])
    func noModel(_ statement: String, _ reason: String) throws {
        try damageCache("new.sqlite", statement)
        let given = #expect(throws: FerryError.self) { try migrator([source("new.sqlite")]) }
        #expect(given?.code == .badModel && given?.message.contains(reason) == true)
        try makeStore("third.sqlite", Self.version(3, identifier: "3.0.0"))
        let own = #expect(throws: FerryError.self) {
            try migrator([source("third.sqlite")], store: "new.sqlite").plan()
        }
        #expect(own?.code == .badModel && own?.message.contains(reason) == true)
    }

    @Test("A cached model of another version is refused")
    func foreignModel() throws {
        let connection = try Connection(path: folder.file("new.sqlite"), mode: .readWrite)
        try ModelCache.write(Self.version(3, identifier: "2.0.0").model, on: connection)
        let error = #expect(throws: FerryError.self) { try migrator([source("new.sqlite")]) }
        #expect(error?.code == .badModel && error?.message.contains("not the one that it was written with") == true)
    }

    @Test("A name stands before a store alone")
    func namedFile() throws {
        let small = try InferredMigration()
        let error = #expect(throws: FerryError.self) {
            try migrator([.store(URL(fileURLWithPath: small.folder.file("App.xcdatamodeld")), named: "Next")])
        }
        #expect(error?.code == .badModel && error?.message.contains("is not a store") == true)
    }

    // MARK: Interrupted runs

    /// Begins a run with an output and stops it when its rows are written.
    private func interrupt(_ configuration: Configuration) throws {
        let stop = StopRequest()
        let error = #expect(throws: FerryError.self) {
            try migrator([source("new.sqlite")]).migrate(configuration, stop: stop) {
                if case .phase(.rows, _) = $0 { stop.request(FerryError(.interrupted, "Enough.")) }
            }
        }
        #expect(error?.code == .interrupted)
    }

    @Test("A run continues when the model store was moved or its rows changed, and not with another model or layout")
    func resumes() throws {
        let configuration = Configuration.allowingLosses {
            $0.output = URL(fileURLWithPath: folder.file("out.sqlite"))
            $0.executor = .row
            $0.snapshots.form = .none
        }
        try interrupt(configuration)
        try FileManager.default.moveItem(atPath: folder.file("new.sqlite"), toPath: folder.file("moved.sqlite"))
        #expect(throws: FerryError.self) { try migrator([source("new.sqlite")]) }
        try makeStore("new.sqlite", Self.version(2, identifier: "2.0.0"))
        try reorder("new.sqlite", to: ["ZTITLE", "ZSUBTITLE"])
        let layout = #expect(throws: FerryError.self) { try migrator([source("new.sqlite")]).migrate(configuration) }
        #expect(layout?.code == .runDiffers)
        try FileManager.default.removeItem(atPath: folder.file("new.sqlite"))
        try makeStore("new.sqlite", Self.version(2, identifier: "2.0.0", standard: "None"))
        let model = #expect(throws: FerryError.self) { try migrator([source("new.sqlite")]).migrate(configuration) }
        #expect(model?.code == .runDiffers)
        try Connection(path: folder.file("moved.sqlite"), mode: .readWrite).execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 9")
        let report = try migrator([source("moved.sqlite")]).migrate(configuration)
        #expect(report.resumed && report.outcome == .migrated && report.layoutStore != nil)
    }

    // MARK: Afterwards

    @Test("The migrated store is verified against the old one with stores as models, and rolled back")
    func afterwards() throws {
        try FileManager.default.copyItem(atPath: folder.file("old.sqlite"), toPath: folder.file("kept.sqlite"))
        _ = try migrator([source("new.sqlite")]).migrate(.allowingLosses())
        let verifier = try Verifier(
            store: URL(fileURLWithPath: folder.file("old.sqlite")), models: [source("new.sqlite")])
        let summary = try verifier.verifyMigration(from: URL(fileURLWithPath: folder.file("kept.sqlite")))
        #expect(summary.differences.isEmpty && summary.checked == 20)
        _ = try StoreFiles(URL(fileURLWithPath: folder.file("old.sqlite"))).rollback()
        #expect(try !columns("old.sqlite").contains("ZSUBTITLE"))
    }
}
