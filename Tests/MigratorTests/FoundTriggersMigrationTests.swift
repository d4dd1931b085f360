import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// A store with an attribute that only Core Data can derive, and three versions of its model.
private struct DerivedMigration {
    let folder: TemporaryFolder
    var store: String { folder.file("App.sqlite") }
    static let trigger =
        "CREATE TRIGGER Z_DA_ZBOOK_Book_key_SOURCE_INSERT AFTER INSERT ON ZBOOK FOR EACH ROW BEGIN UPDATE ZBOOK "
        + "SET ZKEY = NSCoreDataFoo(ZTITLE) WHERE Z_PK = NEW.Z_PK; END"

    /// Makes the store anew as an empty one of a version, with another trigger.
    func remake(_ name: String, trigger: String) throws {
        try FileLayer().removeIfPresent(store)
        let version = try ModelCatalog(paths: [folder.file("App.xcdatamodeld")]).version(named: name)
        let connection = try Connection(path: store, mode: .create)
        let layout = try StoreLayout.canonical(for: version.model, foundTriggers: .assumed)
        try StoreCreation.prepare(connection)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: [:], on: connection)
            try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000004").write(to: connection)
            try connection.execute(trigger)
        }
    }

    init(trigger: String? = trigger) throws {
        folder = try TemporaryFolder()
        func text(_ name: String, _ more: String = "") -> String {
            "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"String\" \(more)/>"
        }
        let key = text("key", "derived=\"YES\" derivationExpression=\"canonical:(title)\"")
        let book = text("title") + key
        try folder.writeVersion("App 1", "<entity name=\"Book\">\(book)\(text("note"))</entity>")
        try folder.writeVersion(
            "App 2", "<entity name=\"Book\">\(book)\(text("remark", "elementID=\"note\""))</entity>")
        // A new entity gives the old one another entity number.
        let author = "<entity name=\"Author\"></entity>"
        try folder.writeVersion(
            "App 3", "\(author)<entity name=\"Book\">\(book)\(text("memo", "elementID=\"remark\""))</entity>")
        let version = try ModelCatalog(paths: [folder.file("App.xcdatamodeld")]).version(named: "App 1")
        let connection = try Connection(path: store, mode: .create)
        let layout = try StoreLayout.canonical(for: version.model, foundTriggers: .assumed)
        try StoreCreation.prepare(connection)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Book": 2], on: connection)
            try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000003").write(to: connection)
            try connection.execute(
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZKEY, ZNOTE) "
                    + "VALUES (1, 1, 1, 'Été', 'ete!', 'n'), (2, 1, 1, NULL, NULL, NULL)")
            if let trigger { try connection.execute(trigger) }
        }
    }

    /// Returns a migrator, with a mapping file for the attributes of `Book` where given.
    func migrator(mapping: String? = nil) throws -> Migrator {
        var mappings: [URL] = []
        if let mapping {
            try FileLayer().createDirectory(folder.file("Mappings"))
            try FileLayer().replace(
                folder.file("Mappings/One.json"),
                with: Array(
                    """
                    { "source": "App 1", "destination": "App 2", "entityMappings": [
                      { "source": "Book", "destination": "Book", "attributes": { \(mapping) } } ] }
                    """.utf8))
            mappings = [URL(fileURLWithPath: folder.file("Mappings/One.json"))]
        }
        return try Migrator(
            store: URL(fileURLWithPath: store),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))], mappings: mappings)
    }
}

@Suite("A migration of attributes that only Core Data derives")
struct FoundTriggersMigrationTests {
    struct Way: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var target = "App 3"
        var composes = true
        var mapping: String?
    }

    static let ways = [
        Way(testDescription: "in place", target: "App 2"), Way(testDescription: "two steps as one"),
        Way(testDescription: "two separate steps", composes: false),
        Way(testDescription: "a copy", target: "App 2", mapping: #""remark": "$source.note""#),
        Way(testDescription: "a copy, then in place", mapping: #""remark": "$source.note""#),
    ]

    @Test("Carries values and trigger over", arguments: ways)
    func carried(_ way: Way) throws {
        let migration = try DerivedMigration()
        let migrator = try migration.migrator(mapping: way.mapping)
        #expect(try migrator.plan(.allowingLosses { $0.target = way.target }, checksRows: true).refusals.isEmpty)
        _ = try migrator.migrate(
            Configuration.allowingLosses {
                $0.target = way.target
                $0.verification = .full
                $0.snapshots.form = .none
                $0.composition = way.composes
            })
        let store = try Connection(path: migration.store, mode: .readOnly)
        #expect(try store.rows("SELECT ZKEY FROM ZBOOK ORDER BY Z_PK") == [[.text("ete!")], [.null]])
        #expect(
            try store.rows("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
                == [[.text(DerivedMigration.trigger)]])
        let note = way.target == "App 2" ? "ZREMARK" : "ZMEMO"
        #expect(try store.value("SELECT \(note) FROM ZBOOK WHERE Z_PK = 1") == .text("n"))
    }

    struct Refused: Sendable {
        var trigger: String? = DerivedMigration.trigger
        var mapping: String?
        var target = "App 2"
        var composes = true
    }

    static let refused: [Refused] = [
        Refused(trigger: nil), Refused(trigger: nil, mapping: #""remark": "$source.note""#),
        Refused(trigger: nil, target: "App 3", composes: false),
        Refused(trigger: DerivedMigration.trigger.replacing("NSCoreDataFoo(ZTITLE)", with: "ZNOTE")),
        Refused(trigger: numbered, target: "App 3"), Refused(trigger: numbered, target: "App 3", composes: false),
        Refused(mapping: #""title": "uppercase:($source.title)""#), Refused(mapping: #""key": "$source.title""#),
    ]

    private static let numbered = DerivedMigration.trigger.replacing("; END", with: " AND Z_ENT = 1; END")

    @Test("Refuses a step with wrong results before the run writes", arguments: refused)
    func refusal(_ example: Refused) throws {
        let migration = try DerivedMigration(trigger: example.trigger)
        let before = try FileLayer().read(migration.store)
        let migrator = try migration.migrator(mapping: example.mapping)
        let configuration = Configuration.allowingLosses {
            $0.target = example.target
            $0.snapshots.form = .none
            $0.composition = example.composes
        }
        let refusals = try migrator.plan(configuration, checksRows: true).refusals
        #expect(refusals.map(\.place.property) == ["key"], "\(refusals)")
        let error = #expect(throws: FerryError.self) { try migrator.migrate(configuration) }
        #expect(error?.code == .unsupported && error?.place.entity == "Book" && error?.place.property == "key")
        #expect(try FileLayer().read(migration.store) == before)
        #expect(try FileLayer().list(migration.folder.path).filter { $0.name.contains("ferry") }.isEmpty)
    }

    @Test("Takes triggers from a store of the target where those of the store name an entity by its old number")
    func fromLike() throws {
        let migration = try DerivedMigration(trigger: Self.numbered)
        let like = try DerivedMigration(trigger: nil)
        let trigger = Self.numbered.replacing("Z_ENT = 1", with: "Z_ENT = 2")
        try like.remake("App 3", trigger: trigger)
        _ = try migration.migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 3"
                $0.like = URL(fileURLWithPath: like.store)
                $0.verification = .full
                $0.snapshots.form = .none
            })
        let store = try Connection(path: migration.store, mode: .readOnly)
        #expect(try store.rows("SELECT ZKEY FROM ZBOOK ORDER BY Z_PK") == [[.text("ete!")], [.null]])
        #expect(try store.rows("SELECT sql FROM sqlite_master WHERE type = 'trigger'") == [[.text(trigger)]])
    }
}
