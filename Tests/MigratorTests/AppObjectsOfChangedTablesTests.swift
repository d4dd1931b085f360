import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// The app's own objects on a table of Core Data of which they do not name what changes.
@Suite("An app's objects on a table that changes")
struct AppObjectsOfChangedTablesTests {
    private let folder: TemporaryFolder
    private var store: String { folder.file("App.sqlite") }

    /// A new entity gives the books another number; a property goes, another one comes.
    init() throws {
        folder = try TemporaryFolder()
        let title = #"<attribute name="title" optional="YES" attributeType="String"/>"#
        let old = #"<attribute name="old" optional="YES" attributeType="String"/>"#
        let year = #"<attribute name="year" optional="YES" attributeType="Integer 32"/>"#
        try folder.writeVersion("App 1", "<entity name=\"Book\">\(title)\(old)</entity>")
        try folder.writeVersion("App 2", "<entity name=\"Author\"/><entity name=\"Book\">\(title)\(year)</entity>")
        try folder.makeBooks(
            rows: 9, form: .plain, uuid: "6C1D3E0A-0000-4000-8000-000000000019", hasModelCache: false,
            columns: ["ZTITLE"]
        ) { [.text("Book \($0)")] }
    }

    private func execute(_ sql: String) throws { try Connection(path: store, mode: .readWrite).execute(sql) }

    private func configuration(_ executor: ExecutorChoice) -> Configuration {
        Configuration.allowingLosses {
            $0.target = "App 2"
            $0.executor = executor
            $0.snapshots.form = .none
        }
    }

    private func migrator() throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))])
    }

    @Test(
        "A view, an index, a trigger and a full-text table that name other columns stay, and work",
        arguments: [ExecutorChoice.automatic, .row])
    func carried(_ executor: ExecutorChoice) throws {
        try execute(
            """
            CREATE VIEW titles AS SELECT ZTITLE, (SELECT count(*) FROM ZBOOK) AS number FROM ZBOOK;
            CREATE INDEX own_title ON ZBOOK (ZTITLE);
            CREATE TABLE log (line);
            CREATE TRIGGER own_log AFTER UPDATE OF ZTITLE ON ZBOOK BEGIN INSERT INTO log VALUES (new.ZTITLE); END;
            CREATE VIRTUAL TABLE words USING fts4 (ZTITLE, content="ZBOOK");
            INSERT INTO words (words) VALUES ('rebuild');
            """)
        let report = try migrator().migrate(configuration(executor))
        #expect(report.outcome == .migrated && report.mode == (executor == .row ? .copy : .inPlace))
        let connection = try Connection(path: store, mode: .readWrite)
        #expect(try connection.integer("SELECT count(*) FROM titles WHERE number = 9") == 9)
        #expect(try connection.integer("SELECT count(*) FROM words WHERE words MATCH 'Book'") == 9)
        #expect(try connection.integer("SELECT count(*) FROM log") == 0)
        try connection.execute("UPDATE ZBOOK SET ZTITLE = 'New' WHERE Z_PK = 3")
        #expect(try connection.integer("SELECT count(*) FROM log WHERE line = 'New'") == 1)
        let indexes = try connection.rows("SELECT name FROM sqlite_master WHERE name = 'own_title'")
        #expect(indexes.count == 1 && report.droppedObjects.isEmpty)
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE Z_ENT = 2") == 9)
    }

    @Test(
        "An object that names what changes is refused, with the name",
        arguments: [
            ("CREATE VIEW v AS SELECT ZOLD FROM ZBOOK", "ZOLD of ZBOOK, which changes"),
            ("CREATE INDEX own ON ZBOOK (ZTITLE, ZOLD)", "ZOLD of ZBOOK, which changes"),
            ("CREATE VIEW v AS SELECT ZTITLE FROM ZBOOK WHERE Z_ENT = 1", "Z_ENT of ZBOOK, which changes"),
            ("CREATE VIEW v AS SELECT * FROM ZBOOK", "of ZBOOK, which changes"),
            ("CREATE VIEW v AS SELECT Z_MAX FROM Z_PRIMARYKEY", "a table of Core Data that changes"),
        ])
    func refused(_ sql: String, _ reason: String) throws {
        try execute(sql)
        let refusals = try migrator().plan(configuration(.automatic)).refusals
        #expect(refusals.map(\.code) == [.unknownObject])
        #expect(refusals.first?.message.contains(reason) == true, "\(refusals)")
    }

    // MARK: Indexes

    @Test("A fetch index of unknown form is left out with a warning; a store of the version shows its form")
    func leftOutIndex() throws {
        let title = #"<attribute name="title" optional="YES" attributeType="String"/>"#
        let pages = #"""
            <relationship name="pages" optional="YES" toMany="YES" destinationEntity="Page" inverseName="book" inverseEntity="Book"/>
            <fetchIndex name="byPages"><fetchIndexElement property="title" type="Binary" order="ascending"/>
            <fetchIndexElement property="pages" type="Binary" order="ascending"/></fetchIndex>
            <fetchIndex name="late" partialIndexPredicate="title BEGINSWITH 'a'">
            <fetchIndexElement property="title" type="Binary" order="ascending"/></fetchIndex>
            """#
        let page = #"""
            <entity name="Page"><relationship name="book" optional="YES" maxCount="1" destinationEntity="Book" inverseName="pages" inverseEntity="Book"/></entity>
            """#
        try folder.writeVersion("App 2", "<entity name=\"Book\">\(title)\(pages)</entity>\(page)")
        let plan = try migrator().plan(configuration(.automatic))
        #expect(plan.refusals.isEmpty)
        #expect(plan.warnings.map(\.code) == [.indexLeftOut, .indexLeftOut])
        #expect(
            plan.warnings[0].message.contains("byPages of Book") && plan.warnings[0].message.contains("title, pages"))
        #expect(try migrator().migrate(configuration(.automatic)).warnings.contains { $0.code == .indexLeftOut })
        let summary = try Verifier(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))]
        ).verifyStore()
        #expect(summary.differences.isEmpty)
    }
}
