import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Stores with columns and tables of an attempt that stopped half way.
@Suite("What an unfinished attempt left in a store")
struct AdoptionTests {
    private let folder: TemporaryFolder
    private var store: String { folder.file("App.sqlite") }
    private var url: URL { URL(fileURLWithPath: store) }
    private static let rows = 40

    init() throws {
        folder = try TemporaryFolder()
        let group = #"<entity name="Group"><attribute name="name" optional="YES" attributeType="String"/>"#
        let record = #"<entity name="Record" renamingIdentifier="Entry" elementID="Entry">"#
        let name = #"<attribute name="name" optional="YES" attributeType="String"/>"#
        try folder.writeVersion("App 1", #"<entity name="Entry">"# + name + "</entity>" + group + "</entity>")
        try folder.writeVersion(
            "App 2",
            record + name + #"""
                    <attribute name="metrics" optional="YES" attributeType="String"/>
                    <attribute name="count" attributeType="Integer 32" defaultValueString="3"/>
                    <attribute name="size" optional="YES" attributeType="Double"/>
                    <attribute name="title" optional="YES" attributeType="String" elementID="name"/>
                    <relationship name="group" optional="YES" maxCount="1" destinationEntity="Group" inverseName="records" inverseEntity="Record"/>
                    <relationship name="presets" optional="YES" toMany="YES" destinationEntity="Preset" inverseName="records" inverseEntity="Preset"/></entity>
                """# + group + #"""
                    <relationship name="records" optional="YES" toMany="YES" destinationEntity="Record" inverseName="group" inverseEntity="Group"/></entity>
                    <entity name="Preset"><attribute name="name" optional="YES" attributeType="String"/>
                    <relationship name="records" optional="YES" toMany="YES" destinationEntity="Record" inverseName="presets" inverseEntity="Record"/></entity>
                    """#)
        try StoreGenerator(folder.appVersion("App 1"), options: GenerationOptions(rows: Int64(Self.rows), seed: 1))
            .generate(at: store, files: FileLayer())
    }

    private func migrator() throws -> Migrator {
        try Migrator(store: url, models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))])
    }

    private func leave(_ sql: String) throws { try Connection(path: store, mode: .readWrite).execute(sql) }

    private func configuration(_ place: String, losses: Configuration.Losses = .refuse) -> Configuration {
        var configuration = Configuration.allowingLosses {
            $0.target = "App 2"
            $0.losses = losses
            $0.repairs.adoption = true
        }
        if place == "copied by rows" { configuration.executor = .row }
        if place == "copied to an output" { configuration.output = URL(fileURLWithPath: folder.file("New.sqlite")) }
        return configuration
    }

    private static let columns = """
        ALTER TABLE ZENTRY ADD COLUMN ZMETRICS VARCHAR; ALTER TABLE ZENTRY ADD COLUMN ZGROUP INTEGER;
        ALTER TABLE ZENTRY ADD COLUMN ZCOUNT INTEGER;
        UPDATE ZENTRY SET ZMETRICS = 'kept ' || Z_PK, ZGROUP = Z_PK + 1 WHERE Z_PK % 2 = 0 AND Z_PK < \(rows);
        UPDATE ZENTRY SET ZCOUNT = Z_PK * 7 WHERE Z_PK % 4 != 0;
        """

    @Test(
        "Values and links of columns come into the new properties of their names",
        arguments: ["in place", "copied by rows", "copied to an output"])
    func adopts(_ place: String) throws {
        try leave(Self.columns)
        let old = folder.file("Old.sqlite")
        try FileManager.default.copyItem(atPath: store, toPath: old)
        let report = try migrator().migrate(configuration(place))
        #expect(report.warnings.count { $0.code == .adopted } == 3, "\(report.warnings)")
        #expect(report.losses.isEmpty && report.verification.differences.isEmpty)
        let result = place == "copied to an output" ? folder.file("New.sqlite") : store
        let connection = try Connection(path: result, mode: .readOnly)
        let half = Int64(Self.rows / 2 - 1)
        #expect(try connection.integer("SELECT count(*) FROM ZRECORD WHERE ZMETRICS = 'kept ' || Z_PK") == half)
        #expect(
            try connection.integer(
                "SELECT count(*) FROM ZRECORD JOIN ZGROUP ON ZGROUP.Z_PK = ZRECORD.ZGROUP AND ZGROUP.Z_PK = ZRECORD.Z_PK + 1"
            )
                == half)
        #expect(
            try connection.integer(
                "SELECT count(*) FROM ZRECORD WHERE ZCOUNT = CASE WHEN Z_PK % 4 THEN Z_PK * 7 ELSE 3 END")
                == Int64(Self.rows))
        #expect(try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ZRECORD_ZGROUP_INDEX'") == 1)
        // The log of the migration says that the columns were taken over.
        let models = [ModelSource.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))]
        let verifier = try Verifier(store: URL(fileURLWithPath: result), models: models)
        let differences = try verifier.verifyMigration(from: URL(fileURLWithPath: old)).differences
        #expect(differences.isEmpty, "\(differences)")
    }

    @Test("Without the setting, values, links and rows are losses, whose remedy names it")
    func refuses() throws {
        try StoreGenerator(folder.appVersion("App 2"), options: GenerationOptions(rows: 1))
            .generate(at: folder.file("Like.sqlite"), files: FileLayer())
        let like = try Connection(path: folder.file("Like.sqlite"), mode: .readOnly)
        let join = try #require(
            try like.rows(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z/_%PRESETS' ESCAPE '/' OR name LIKE 'Z/_%RECORDS' ESCAPE '/'"
            ).first?[0].text)
        let name = try #require(join.split(separator: " ").dropFirst(2).first)
        try leave(Self.columns + join + "; INSERT INTO \(name) VALUES (1, 1), (1, 2);")
        let error = #expect(throws: FerryError.self) {
            try migrator().migrate(
                Configuration.allowingLosses {
                    $0.target = "App 2"
                    $0.losses = .refuse
                })
        }
        #expect(error?.code == .lossRefused && error?.remedy.description.contains("repairs.adoption = true") == true)
        let losses = try migrator().plan(.allowingLosses { $0.target = "App 2" }).losses
        let names = Set(losses.map(\.name))
        #expect(names.isSuperset(of: ["Record.metrics", "Record.count", "Record.group"]), "\(names)")
        #expect(!names.isDisjoint(with: ["Record.presets", "Preset.records"]), "\(names)")
    }

    private static let obstacles = [
        (
            "ALTER TABLE ZENTRY ADD COLUMN ZSIZE VARCHAR; UPDATE ZENTRY SET ZSIZE = 'x'", "has the type VARCHAR",
            "Entry.size"
        ),
        (
            "ALTER TABLE ZENTRY ADD COLUMN ZTITLE VARCHAR; UPDATE ZENTRY SET ZTITLE = 'x'",
            "gets the values of Entry.name", "Entry.title"
        ),
        (
            "CREATE TABLE ZPRESET (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR); INSERT INTO ZPRESET VALUES (1, 1, 1, 'x')",
            "does not have the entity Preset", "Preset"
        ),
    ]

    @Test("What cannot be taken over stays a loss, with the reason", arguments: obstacles)
    func obstacle(_ sql: String, _ reason: String, _ name: String) throws {
        try leave(sql)
        let before = try Data(contentsOf: url)
        let plan = try migrator().plan(configuration("in place"))
        #expect(plan.warnings.contains { $0.code == .notAdopted && $0.message.contains(reason) }, "\(plan.warnings)")
        let error = #expect(throws: FerryError.self) { try migrator().migrate(configuration("in place")) }
        #expect(error?.code == .lossRefused)
        #expect(try Data(contentsOf: url) == before)
        let report = try migrator().migrate(configuration("in place", losses: .allow))
        #expect(
            report.losses.map { $0.name }.contains { $0.hasSuffix(name.split(separator: ".").last ?? "") },
            "\(report.losses)")
    }
}
