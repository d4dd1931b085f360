import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Stores whose metadata name a version of which something is missing.
@Suite("A store that is current by its metadata alone")
struct RepairTests {
    private let folder: TemporaryFolder
    private var store: String { folder.file("App.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
        let book = #"""
            <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <attribute name="copies" attributeType="Integer 32" defaultValueString="3"/>
            <relationship name="shelf" optional="YES" maxCount="1" destinationEntity="Shelf" inverseName="books" inverseEntity="Shelf"/>
            <relationship name="tags" optional="YES" toMany="YES" destinationEntity="Tag" inverseName="books" inverseEntity="Tag"/>
            <uniquenessConstraints/></entity>
            """#
        let others = #"""
            <entity name="Shelf"><relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="shelf" inverseEntity="Book"/></entity>
            <entity name="Tag"><attribute name="name" optional="YES" attributeType="String"/><relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="tags" inverseEntity="Book"/></entity>
            """#
        try folder.writeVersion("App 1", book + others)
        try StoreGenerator(folder.appVersion("App 1"), options: GenerationOptions(rows: 6, seed: 1))
            .generate(at: store, files: FileLayer())
    }

    private func migrator() throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))])
    }

    private static let columns = [
        ("DROP TABLE ZTAG", ["ZTAG"]), ("DROP TABLE Z_1TAGS", ["Z_1TAGS"]),
        ("ALTER TABLE ZBOOK DROP COLUMN ZTITLE", ["ZBOOK.ZTITLE"]),
        ("ALTER TABLE ZBOOK DROP COLUMN ZCOPIES", ["ZBOOK.ZCOPIES"]),
        ("DROP INDEX ZBOOK_ZSHELF_INDEX; ALTER TABLE ZBOOK DROP COLUMN ZSHELF", ["ZBOOK.ZSHELF"]),
        (
            "DROP TABLE ZTAG; ALTER TABLE ZBOOK DROP COLUMN ZTITLE; ALTER TABLE ZBOOK DROP COLUMN ZCOPIES",
            ["ZTAG", "ZBOOK.ZCOPIES", "ZBOOK.ZTITLE"]
        ),
    ]

    @Test("is told, and repaired on request after a snapshot", arguments: columns)
    func repairs(_ damage: String, _ parts: [String]) throws {
        let schema = try self.schema()
        try Connection(path: store, mode: .readWrite).execute(damage)
        let before = try Data(contentsOf: URL(fileURLWithPath: store))
        let calls: [() throws -> Void] = [
            { _ = try migrator().plan() }, { _ = try migrator().migrate(.allowingLosses()) },
        ]
        for call in calls {
            let error = #expect(throws: FerryError.self) { try call() }
            #expect(
                error?.code == .storeIncomplete && error?.code.consequence == .differs, "\(String(describing: error))")
            for part in parts { #expect(error?.message.contains(part) == true, "\(error?.message ?? "")") }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
        let report = try migrator().migrate(.allowingLosses { $0.repairs.missingParts = true })
        #expect(report.outcome == .upToDate && Set(report.repaired ?? []) == Set(parts), "\(report.repaired ?? [])")
        #expect(try self.schema() == schema)
        let connection = try Connection(path: store, mode: .readOnly)
        if parts.contains("ZBOOK.ZCOPIES") {
            #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE ZCOPIES = 3") == 6)
        }
        #expect(try StoreFiles(URL(fileURLWithPath: store)).snapshots().count == 1)
        #expect(try migrator().migrate(.allowingLosses { $0.repairs.missingParts = true }).repaired == [])
        #expect(try migrator().plan().isUpToDate)
        let models = [ModelSource.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))]
        let summary = try Verifier(store: URL(fileURLWithPath: store), models: models).verifyStore()
        // Links to the objects that were in a lost table are removed, and told.
        #expect(summary.differences.isEmpty, "\(summary.differences)")
        #expect(report.warnings.contains { $0.code == .damagedRows } == parts.contains("ZTAG"), "\(report.warnings)")
    }

    /// Names and columns of tables, and indexes, whatever their order.
    private func schema() throws -> Set<String> {
        let connection = try Connection(path: store, mode: .readOnly)
        let rows = try connection.rows(
            """
            SELECT m.name || '.' || c.name || ' ' || c.type FROM sqlite_master AS m, pragma_table_info(m.name) AS c
            WHERE m.type = 'table' UNION ALL SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL
            """)
        return Set(rows.compactMap { $0[0].text })
    }

    @Test("of an older version is repaired before it is migrated")
    func olderVersion() throws {
        let text = try String(
            contentsOfFile: folder.file("App.xcdatamodeld/App 1.xcdatamodel/contents"), encoding: .utf8)
        let start = try #require(text.range(of: "<entity")), end = try #require(text.range(of: "</model>"))
        try folder.writeVersion("App 2", text[start.lowerBound..<end.lowerBound] + #"<entity name="New"/>"#)
        try Connection(path: store, mode: .readWrite).execute("ALTER TABLE ZBOOK DROP COLUMN ZTITLE")
        let error = #expect(throws: FerryError.self) { try migrator().migrate(.allowingLosses { $0.target = "App 2" }) }
        #expect(error?.code == .damagedSource)
        let report = try migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.repairs.missingParts = true
            })
        #expect(report.outcome == .migrated && report.repaired == ["ZBOOK.ZTITLE"])
    }

    @Test("keeps its version, and is repaired in a copy with an output", arguments: [false, true])
    func keepsVersion(isCopied: Bool) throws {
        try folder.writeVersion("App 2", #"<entity name="New"/>"#)
        try Connection(path: store, mode: .readWrite).execute(
            "ALTER TABLE ZBOOK DROP COLUMN ZTITLE; CREATE VIEW titles AS SELECT ZCOPIES FROM ZBOOK")
        let before = try Data(contentsOf: URL(fileURLWithPath: store))
        let copy = folder.file("Copy.sqlite")
        func configuration(dropping name: String) -> Configuration {
            Configuration {
                ($0.repairs.missingParts, $0.repairs.keepsVersion, $0.repairs.removals) = (true, true, [name])
                if isCopied { $0.output = URL(fileURLWithPath: copy) }
            }
        }
        let report = try migrator().migrate(configuration(dropping: "TITLES"))
        #expect(report.to == "App 1" && report.repaired == ["ZBOOK.ZTITLE", "titles"], "\(report)")
        let result = try Connection(path: isCopied ? copy : store, mode: .readOnly)
        #expect(try result.integer("SELECT count(*) FROM sqlite_master WHERE type = 'view'") == 0)
        #expect(try result.integer("SELECT count(ZTITLE) FROM ZBOOK") == 0)
        #expect(try (Data(contentsOf: URL(fileURLWithPath: store)) == before) == isCopied)
        #expect(try StoreFiles(URL(fileURLWithPath: store)).snapshots().count == (isCopied ? 0 : 1))
        if isCopied { return }
        let error = #expect(throws: FerryError.self) { try migrator().migrate(configuration(dropping: "ZBOOK")) }
        #expect(error?.code == .unknownObject)
        #expect(try StoreFiles(URL(fileURLWithPath: store)).snapshots().count == 1)
    }
}
