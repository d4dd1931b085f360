import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// A step in place without full verification, of a store whose other tables it leaves alone.
@Suite("Tables that a quickly verified step does not write")
struct UnwrittenTablesTests {
    private let folder: TemporaryFolder
    private var store: String { folder.file("App.sqlite") }
    private var url: URL { URL(fileURLWithPath: store) }

    init() throws {
        folder = try TemporaryFolder()
        func version(_ tag: String) -> String {
            """
            <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <relationship name="tag" optional="YES" maxCount="1" destinationEntity="Tag" inverseName="books" inverseEntity="Tag"/></entity>
            <entity name="Tag"><attribute name="name" optional="YES" attributeType="String"/>\(tag)
            <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="tag" inverseEntity="Book"/></entity>
            """
        }
        try folder.writeVersion("App 1", version(""))
        try folder.writeVersion(
            "App 2", version(#"<attribute name="copies" attributeType="Integer 32" defaultValueString="2"/>"#))
        try StoreGenerator(
            folder.appVersion("App 1"),
            options: GenerationOptions(rows: 30_000, rowsOfEntity: ["Tag": 700], seed: 3)
        ).generate(at: store, files: FileLayer())
        try Connection(path: store, mode: .readWrite).execute("PRAGMA journal_mode = DELETE")
    }

    private func migrate(
        _ verify: VerifyMode, _ change: (inout Configuration) -> Void = { _ in }
    ) throws -> (report: MigrationReport, statements: [String]) {
        let statements = Locked<[String]>([])
        var configuration = Configuration.allowingLosses {
            $0.target = "App 2"
            $0.verification = verify
            $0.snapshots.form = .none
        }
        configuration.thresholds.smallStoreBytes = 1 << 16
        change(&configuration)
        configuration.trace = { event in statements.withLock { $0.append(event.text) } }
        let report = try Migrator(
            store: url, models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))]
        ).migrate(configuration)
        return (report, statements.withLock { $0 })
    }

    private func execute(_ sql: String) throws { try Connection(path: store, mode: .readWrite).execute(sql) }

    @Test("are neither counted nor scanned, and the report says so")
    func alone() throws {
        let (report, statements) = try migrate(.quick)
        let rows = Dictionary(uniqueKeysWithValues: report.entityMappings.map { ($0.source ?? "", $0) })
        #expect(rows["Tag"]?.written == 700 && rows["Tag"]?.isEstimated != true)
        #expect(rows["Book"]?.isEstimated == true && (10_000...90_000).contains(rows["Book"]?.written ?? 0))
        #expect(report.verification.checked == 0)
        let warning = try #require(report.warnings.first { $0.code == .rowsNotChecked })
        #expect(warning.message.contains("ZTAG") && !warning.message.contains("ZBOOK"))
        #expect(!statements.contains { $0.contains("count(") && $0.contains("ZBOOK") }, "\(statements)")
        let connection = try Connection(path: store, mode: .readOnly)
        #expect(try connection.integer("SELECT count(*) FROM ZTAG WHERE ZCOPIES = 2") == 700)
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK") == 30_000)
        #expect(try connection.value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("keep their damage, whatever is verified", arguments: [VerifyMode.quick, .full])
    func damageOfOthers(_ verify: VerifyMode) throws {
        try execute("UPDATE ZBOOK SET Z_ENT = 9 WHERE Z_PK = 20000")
        let report = try migrate(verify).report
        #expect(report.outcome == .migrated && report.verification.checked == (verify == .full ? 700 : 0))
        #expect(report.warnings.contains { $0.code == .rowsNotChecked })
        let connection = try Connection(path: store, mode: .readOnly)
        #expect(try connection.integer("SELECT Z_ENT FROM ZBOOK WHERE Z_PK = 20000") == 9)
    }

    @Test("do not hide damage of the table that is written", arguments: ["rows", "page"])
    func ownDamage(_ kind: String) throws {
        let root = try #require(
            try Connection(path: store, mode: .readOnly).integer(
                "SELECT rootpage FROM sqlite_master WHERE name = 'ZTAG'"))
        if kind == "rows" {
            try execute("UPDATE ZTAG SET Z_ENT = 9 WHERE Z_PK = 20")
        } else {
            let size = try #require(
                try Connection(path: store, mode: .readOnly).integer("PRAGMA page_size"))
            let file = try FileHandle(forUpdating: url)
            try file.seek(toOffset: UInt64((root - 1) * size))
            try file.write(contentsOf: [UInt8](repeating: 0xFF, count: 64))
            try file.close()
        }
        let before = try Data(contentsOf: url)
        let error = #expect(throws: FerryError.self) { try migrate(.quick) }
        #expect(error?.code == (kind == "rows" ? .damagedSource : .storeDamaged), "\(String(describing: error))")
        #expect(try Data(contentsOf: url) == before)
    }
}
