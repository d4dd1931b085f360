import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Rows of a large store that Ferry counts and checks in one scan.
@Suite("Rows that one scan counts")
struct UncountedRowsTests {
    private static let rows: Int64 = 21_000

    /// A store above 16 MiB whose next version adds an attribute with a default, and another one without it.
    private struct Large {
        let folder: TemporaryFolder
        var store: String { folder.file("App.sqlite") }

        init() throws {
            folder = try TemporaryFolder()
            let title = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
            let copies = "<attribute name=\"copies\" attributeType=\"Integer 32\" defaultValueString=\"2\"/>"
            try folder.writeVersion("App 1", "<entity name=\"Book\">\(title)</entity>")
            try folder.writeVersion("App 2", "<entity name=\"Book\">\(title)\(copies)</entity>")
            try folder.writeVersion("App 3", "<entity name=\"Book\">\(copies)</entity>")
            let text = String(repeating: "t", count: 850)
            try folder.makeBooks(
                rows: UncountedRowsTests.rows, form: .plain, uuid: "6C1D3E0A-0000-4000-8000-000000000009",
                hasModelCache: true, columns: ["ZTITLE"]
            ) { [.text("\($0) \(text)")] }
        }

        /// - Returns: The report, and the statements of the run.
        func migrate(to target: String) throws -> (MigrationReport, [String]) {
            let statements = Locked<[String]>([])
            var configuration = Configuration.allowingLosses {
                $0.target = target
                $0.snapshots.form = .none
            }
            configuration.trace = { event in statements.withLock { $0.append(event.text) } }
            let report = try Migrator(
                store: URL(fileURLWithPath: store),
                models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))], mappings: []
            ).migrate(configuration)
            return (report, statements.withLock { $0 })
        }
    }

    @Test("are counted by one statement, and the report has all of them", arguments: ["App 2", "App 3"])
    func counted(target: String) throws {
        let large = try Large()
        let (report, statements) = try large.migrate(to: target)
        #expect(report.mode == .inPlace)
        // Verification counts them again.
        let counting = statements.filter {
            $0.contains("count(*)") && $0.contains("ZBOOK") && !$0.contains("destination.ZBOOK")
                && !$0.contains("source.ZBOOK")
        }
        #expect(counting.count == 1, "\(counting)")
        // The schema's and the table's beforehand, and the verification's before COMMIT.
        #expect(statements.filter { $0.contains("quick_check") }.count == 3)
        let book = try #require(report.entityMappings.first)
        #expect(book.read == Self.rows && book.written == Self.rows && book.isEstimated != true)
        #expect(report.verification.checked == Self.rows)
        let store = try Connection(path: large.store, mode: .readOnly)
        #expect(try store.integer("SELECT count(*) FROM ZBOOK WHERE ZCOPIES = 2 AND Z_ENT = 1") == Self.rows)
    }

    @Test("stop the migration when a row has no known entity, with the store unchanged", arguments: ["App 2", "App 3"])
    func stranger(target: String) throws {
        let large = try Large()
        try Connection(path: large.store, mode: .readWrite).execute("UPDATE ZBOOK SET Z_ENT = 9 WHERE Z_PK = 20000")
        let before = try Data(contentsOf: URL(fileURLWithPath: large.store))
        let error = #expect(throws: FerryError.self) { try large.migrate(to: target) }
        #expect(error?.code == .damagedSource)
        #expect(error?.message.hasPrefix("1 row in the table of Book has a Z_ENT ") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: large.store)) == before)
        #expect(try !FileLayer().exists(large.store + ".ferry"))
    }
}
