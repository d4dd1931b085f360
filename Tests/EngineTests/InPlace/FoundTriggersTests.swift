import FerryBase
import FerryEngine
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Derived attributes whose triggers only Core Data can write: a step carries the triggers of the store unchanged.
@Suite("Triggers that a step carries unchanged")
struct FoundTriggersTests {
    private static func derived(_ name: String, _ text: String) -> Attribute {
        Attribute(name: name, type: .string, isOptional: true, derivationExpression: text)
    }

    private static func model(
        _ attributes: [Attribute] = [derived("key", "canonical:(title)"), derived("owner", "shelf.room.name")],
        note: Attribute = .text("note"), title: Attribute = .text("title"), room: String = "Room",
        others: [Entity] = []
    ) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [""],
            entities: [
                .made("Book", [title, note] + attributes, [.one("shelf", "Shelf", inverse: "books")]),
                .made(room, id: "Room", [.text("name")], [.many("shelves", "Shelf", inverse: "room")]),
                .made("Shelf", [], [.one("room", room, inverse: "shelves"), .many("books", "Book", inverse: "shelf")]),
            ] + others)
    }

    /// Returns triggers with invented texts; `numbers` is inserted where a text may name entity numbers.
    private static func triggers(numbers: String) -> [String] {
        let call = "SELECT NSCoreDataFoo('ZBOOK', Z_ENT, Z_PK, 'key', ZKEY) FROM ZBOOK WHERE Z_PK = NEW.Z_PK"
        return [
            "CREATE TRIGGER Z_DA_ZBOOK_Book_key_SOURCE_INSERT AFTER INSERT ON ZBOOK FOR EACH ROW BEGIN UPDATE ZBOOK "
                + "SET ZKEY = NSCoreDataFoo(ZTITLE) WHERE Z_PK = NEW.Z_PK\(numbers); \(call); END",
            "CREATE TRIGGER Z_DA_ZBOOK_Book_key_SOURCE_UPDATE AFTER UPDATE OF ZTITLE ON ZBOOK FOR EACH ROW BEGIN "
                + "UPDATE ZBOOK SET ZKEY = NSCoreDataFoo(ZTITLE) WHERE Z_PK = NEW.Z_PK\(numbers); \(call); END",
            "CREATE TRIGGER Z_DA_ZROOM_Book_owner_PARAMETER_UPDATE AFTER UPDATE OF ZNAME ON ZROOM FOR EACH ROW BEGIN "
                + "SELECT NSCoreDataFoo('ZBOOK', b.Z_PK, 'owner', NEW.ZNAME) FROM ZBOOK AS b JOIN ZSHELF AS s "
                + "ON s.Z_PK = b.ZSHELF WHERE s.ZROOM = NEW.Z_PK; END",
        ]
    }

    private struct Run {
        let store: StoreBuilder
        let versions: [ModelVersion]
        let destination: ManagedObjectModel

        /// Makes a store of `source`, with the layout of the same model with ordinary attributes.
        init(
            _ source: ManagedObjectModel, _ destination: ManagedObjectModel, triggers: [String]
        ) throws {
            let plain = ManagedObjectModel(
                versionIdentifiers: [""],
                entities: source.entities.values.map { entity in
                    var entity = entity
                    for index in entity.attributes.indices { entity.attributes[index].derivationExpression = nil }
                    return entity
                })
            store = try StoreBuilder(plain)
            self.destination = destination
            versions = [ModelVersion(of: source, name: "Model"), ModelVersion(of: destination, name: "Model 2")]
            try StoreMetadata.new(for: versions[0], uuid: "11111111-2222-4333-8444-555555555555")
                .write(to: store.connection)
            try store.execute(
                "INSERT INTO ZROOM (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 2, 1, 'Attic')",
                "INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT, ZROOM) VALUES (1, 3, 1, 1)",
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZNOTE, ZKEY, ZOWNER, ZSHELF) "
                    + "VALUES (1, 1, 1, 'Été', 'n', 'ete!', 'attic?', 1), (2, 1, 1, NULL, NULL, NULL, NULL, NULL)",
                "UPDATE Z_PRIMARYKEY SET Z_MAX = 2")
            for trigger in triggers { try store.execute(trigger) }
        }

        /// Runs the step in place and copied, and verifies both results; a difference is a failure.
        func bothWays() throws -> [Connection] {
            let step = try InPlaceStep.plan(versions[0], versions[1])
            let (inPlace, copied) = try InPlaceStep.bothWays(step, from: store.path, in: store.folder)
            for (connection, mode) in [(inPlace, true), (copied, false)] {
                let work = store.folder.file(mode ? "verify-in-place" : "verify-copy")
                try FileLayer().createDirectory(work)
                var verification = Verification(
                    mode: .full, step: step.resolved, sourcePath: store.path, isSourcePrivate: false,
                    destinationPath: connection.path, workFolder: work, counts: nil, now: nil, trace: nil,
                    progress: nil, stop: StopRequest())
                verification.subject = mode ? .altered : .copied()
                let report = try verification.run()
                #expect(report.differences.isEmpty, "\(report.differences)")
                let carried = destination.entities["Book"]?.attributes.filter(\.isDerived).count ?? 0
                #expect(report.notRecomputed == Int64(2 * carried))
            }
            return [inPlace, copied]
        }

        func refusal() throws -> FerryError? {
            do {
                let step = try InPlaceStep.plan(versions[0], versions[1])
                _ = try InPlaceStep.bothWays(step, from: store.path, in: store.folder)
                return nil
            } catch let error as FerryError {
                return error
            }
        }
    }

    private func triggers(_ connection: Connection) throws -> [String] {
        try connection.rows("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid")
            .compactMap { $0[0].text }
    }

    private let values: [[Value]] = [[.text("ete!"), .text("attic?")], [.null, .null]]

    @Test("Another attribute of the entity is renamed", arguments: ["", " AND Z_ENT IN (1)"])
    func renamed(numbers: String) throws {
        let found = Self.triggers(numbers: numbers)
        let run = try Run(Self.model(), Self.model(note: .text("remark", id: "note")), triggers: found)
        for result in try run.bothWays() {
            #expect(try result.rows("SELECT ZKEY, ZOWNER FROM ZBOOK ORDER BY Z_PK") == values)
            #expect(try result.rows("SELECT ZREMARK FROM ZBOOK ORDER BY Z_PK") == [[.text("n")], [.null]])
            #expect(try triggers(result) == found)
        }
    }

    @Test("A dropped derived attribute drops its triggers")
    func dropped() throws {
        let found = Self.triggers(numbers: "")
        let run = try Run(Self.model(), Self.model([Self.derived("owner", "shelf.room.name")]), triggers: found)
        for result in try run.bothWays() {
            #expect(try triggers(result) == [found[2]])
            #expect(try result.rows("SELECT ZOWNER FROM ZBOOK ORDER BY Z_PK") == values.map { [$0[1]] })
        }
        for result in try Run(Self.model(), Self.model([]), triggers: found).bothWays() {
            #expect(try triggers(result).isEmpty)
        }
    }

    @Test("A trigger belongs to the attribute with the longest matching name", arguments: ["key", "key_long"])
    func longNames(kept: String) throws {
        let both = ["key", "key_long"].map { Self.derived($0, "canonical:(title)") } + [.text("owner")]
        let found = ["key", "key_long"].map {
            "CREATE TRIGGER Z_DA_ZBOOK_Book_\($0)_SOURCE_INSERT AFTER INSERT ON ZBOOK BEGIN "
                + "SELECT NSCoreDataFoo('\($0)', Z\($0.uppercased())) FROM ZBOOK WHERE Z_PK = NEW.Z_PK; END"
        }
        let run = try Run(Self.model(both), Self.model(both.filter { $0.name == kept }), triggers: found)
        for result in try run.bothWays() {
            #expect(try triggers(result) == found.filter { $0.contains("('\(kept)'") })
        }
    }

    @Test("An ordinary attribute replaces a derived one")
    func nowOrdinary() throws {
        let ordinary = Self.model([.text("key"), .text("owner")])
        for result in try Run(Self.model(), ordinary, triggers: Self.triggers(numbers: "")).bothWays() {
            #expect(try triggers(result).isEmpty)
            #expect(try result.rows("SELECT ZKEY, ZOWNER FROM ZBOOK ORDER BY Z_PK") == values)
        }
    }

    @Test("Entity numbers may change if no trigger's text contains one")
    func renumbered() throws {
        let shifted = Self.model(others: [.made("Atlas", [.text("name")])])
        let found = Self.triggers(numbers: "")
        for result in try Run(Self.model(), shifted, triggers: found).bothWays() {
            #expect(try triggers(result) == found)
            #expect(try result.rows("SELECT ZKEY, ZOWNER FROM ZBOOK ORDER BY Z_PK") == values)
        }
        let run = try Run(Self.model(), shifted, triggers: Self.triggers(numbers: " AND Z_ENT IN (1)"))
        let refusal = try #require(try run.refusal())
        #expect(refusal.code == .unsupported && refusal.place.entity == "Book" && refusal.place.property == "key")
        #expect(refusal.message.contains("that of Book changes"), "\(refusal.message)")
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var source = FoundTriggersTests.model()
        var destination: ManagedObjectModel
        var triggers = FoundTriggersTests.triggers(numbers: "")
        var property = "key"
    }

    static let examples: [Refused] = [
        Refused(testDescription: "new", source: model([derived("owner", "shelf.room.name")]), destination: model()),
        Refused(testDescription: "was ordinary", source: model([.text("key"), .text("owner")]), destination: model()),
        Refused(
            testDescription: "derivation differs",
            destination: model([derived("key", "uppercase:(title)"), derived("owner", "shelf.room.name")])),
        Refused(
            testDescription: "renamed",
            destination: model([
                Attribute(
                    name: "sort", type: .string, isOptional: true, derivationExpression: "canonical:(title)",
                    renamingIdentifier: "key"), derived("owner", "shelf.room.name"),
            ]), property: "sort"),
        Refused(
            testDescription: "from another attribute",
            destination: model(note: .text("memo", id: "title"), title: .text("title", id: "note"))),
        Refused(testDescription: "over another entity", destination: model(room: "Chamber"), property: "owner"),
        Refused(testDescription: "no triggers", destination: model(note: .text("memo")), triggers: []),
        Refused(
            testDescription: "an unknown column",
            destination: model(note: .text("memo")),
            triggers: triggers(numbers: "").map { $0.replacing("NSCoreDataFoo(ZTITLE)", with: "ZOTHER") }),
        Refused(
            testDescription: "a dropped column",
            destination: model(note: .text("memo")),
            triggers: triggers(numbers: "").map { $0.replacing("NSCoreDataFoo(ZTITLE)", with: "ZNOTE") }),
        Refused(
            testDescription: "a dropped column, named within a text",
            destination: model(note: .text("memo")),
            triggers: triggers(numbers: "").map { $0.replacing("(ZTITLE)", with: "('of ZNOTE')") }),
    ]

    @Test("A trigger whose meaning may change is refused", arguments: examples)
    func refused(_ example: Refused) throws {
        // Only rows of the store give the column a value; a store without the attribute need not be refused.
        let source = example.source
        if source.entities["Book"]?.attributes.contains(where: { $0.name == "key" }) == true {
            let run = try Run(source, example.destination, triggers: example.triggers)
            let refusal = try #require(try run.refusal())
            #expect(refusal.code == .unsupported)
            #expect(refusal.place.property == example.property, "\(refusal.message)")
            #expect(!refusal.remedy.isEmpty)
        } else {
            #expect(throws: FerryError.self) { try InPlaceStep.plan(source, example.destination) }
        }
    }
}
