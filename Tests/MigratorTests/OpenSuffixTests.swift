import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Two join tables of one entity have a column of the same name: only a store shows which of them Core Data numbers.
@Suite("Open suffixes of join columns")
struct OpenSuffixTests {
    private let folder: TemporaryFolder
    private var store: String { folder.file("App.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
        try write("App 1", Self.entities(club: ""))
        try write("App 2", Self.entities(club: Self.note))
        try write("App 3", Self.entities(club: "") + "<entity name=\"Other\">\(Self.note)</entity>")
    }

    private static let note = "<attribute name=\"note\" optional=\"YES\" attributeType=\"String\"/>"

    /// Both inverse relationships have the name `clubs`.
    private static func entities(club: String) -> String {
        func many(_ name: String, _ entity: String, _ inverse: String) -> String {
            "<relationship name=\"\(name)\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Nullify\" "
                + "destinationEntity=\"\(entity)\" inverseName=\"\(inverse)\" inverseEntity=\"\(entity)\"/>"
        }
        return
            "<entity name=\"Club\">\(club)\(many("guests", "Guest", "clubs"))\(many("members", "Member", "clubs"))</entity>"
            + "<entity name=\"Guest\">\(many("clubs", "Club", "guests"))</entity>"
            + "<entity name=\"Member\">\(many("clubs", "Club", "members"))</entity>"
    }

    private func write(_ name: String, _ entities: String) throws {
        let version = folder.file("App.xcdatamodeld/\(name).xcdatamodel")
        try FileLayer().createDirectory(version)
        try FileLayer().replace(
            version + "/contents",
            with: Array(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\(entities)</model>
                """.utf8))
    }

    private func version(_ name: String) throws -> ModelVersion {
        try ModelCatalog(paths: [folder.file("App.xcdatamodeld")]).version(named: name)
    }

    /// Makes a store in either of Core Data's forms: with the number on the alphabetically first table, or on the
    /// other.
    private func make(_ name: String, at path: String, numbersGuests: Bool) throws {
        var model = try version(name).model
        model.knownJoins = [("guests", numbersGuests), ("members", !numbersGuests)].map { relationship, isNumbered in
            KnownJoin(
                entity: "Club", relationship: relationship, firstSuffix: isNumbered ? "1" : "", secondSuffix: "")
        }
        let builder = try StoreBuilder(model)
        for table in ["GUEST", "MEMBER"] {
            try builder.execute(
                "INSERT INTO Z\(table) (Z_PK, Z_ENT, Z_OPT) SELECT 1, Z_ENT, 1 FROM Z_PRIMARYKEY WHERE upper(Z_NAME) = '\(table)'"
            )
        }
        try builder.execute(
            "INSERT INTO ZCLUB (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1)",
            "INSERT INTO Z_1GUESTS (Z_1CLUBS\(numbersGuests ? "1" : ""), Z_2GUESTS) VALUES (1, 1)",
            "INSERT INTO Z_1MEMBERS (Z_1CLUBS\(numbersGuests ? "" : "1"), Z_3MEMBERS) VALUES (1, 1)")
        try FileManager.default.copyItem(atPath: builder.path, toPath: path)
    }

    private func migrate(to target: String, _ change: (inout Configuration) -> Void = { _ in }) throws {
        var configuration = Configuration.allowingLosses {
            $0.target = target
            $0.snapshots.form = .none
        }
        change(&configuration)
        _ = try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))]
        ).migrate(configuration)
    }

    private func columns(_ path: String) throws -> [String] {
        try Connection(path: path, mode: .readOnly).rows(
            "SELECT m.name || '.' || c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c "
                + "WHERE c.name LIKE 'Z\\__CLUBS%' ESCAPE '\\' ORDER BY 1"
        ).compactMap(\.[0].text)
    }

    @Test("Both tables are undecided, because either may have the number")
    func bothAreOpen() throws {
        let open = StoreLayout.openJoins(of: try version("App 1").model)
        #expect(open.map(\.table.relationship.property) == ["guests", "members"])
        #expect(open.allSatisfy { $0.areSuffixesOpen && !$0.isSideOpen })
    }

    @Test("With other properties of the entity the run is refused, with the only possible remedy")
    func refused() throws {
        try make("App 1", at: store, numbersGuests: true)
        let before = try FileLayer().read(store)
        let error = #expect(throws: FerryError.self) { try migrate(to: "App 2") }
        let all = (error?.cause as? PlanRefusals)?.refusals ?? []
        #expect(error?.code == .layoutUnknown)
        for relationship in ["Club.guests", "Club.members"] {
            #expect(all.contains { $0.message.contains(relationship) }, "\(all)")
        }
        for refusal in all {
            #expect(
                refusal.remedy.description.contains("`like`") && !refusal.remedy.description.contains("joinTables"),
                "\(refusal.remedy)")
        }
        // This option names tables, not columns.
        let said = #expect(throws: FerryError.self) { try migrate(to: "App 2") { $0.joinTables = ["Club.guests"] } }
        #expect(said?.code == .layoutUnknown)
        #expect(try FileLayer().read(store) == before)
    }

    @Test("A store of the target version decides", arguments: [false, true])
    func like(numbersGuests: Bool) throws {
        try make("App 1", at: store, numbersGuests: true)
        let like = folder.file("Like.sqlite")
        try make("App 2", at: like, numbersGuests: numbersGuests)
        try migrate(to: "App 2") { $0.like = URL(fileURLWithPath: like) }
        #expect(try columns(store) == columns(like))
        let connection = try Connection(path: store, mode: .readOnly)
        for table in ["Z_1GUESTS", "Z_1MEMBERS"] {
            #expect(try connection.integer("SELECT count(*) FROM \(table)") == 1)
        }
    }

    @Test(
        "With equal properties of the entity the names stay, with the number on either table", arguments: [false, true])
    func unchanged(numbersGuests: Bool) throws {
        try make("App 1", at: store, numbersGuests: numbersGuests)
        let before = try columns(store)
        try migrate(to: "App 3")
        #expect(try columns(store) == before)
        #expect(before.contains(numbersGuests ? "Z_1GUESTS.Z_1CLUBS1" : "Z_1MEMBERS.Z_1CLUBS1"))
    }
}
