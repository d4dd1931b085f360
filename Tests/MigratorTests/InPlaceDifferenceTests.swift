import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// A step in place whose result is not that of a new store, which no refusal foresaw.
@Suite("A step in place that would leave something else")
struct InPlaceDifferenceTests {
    private static let note = "<attribute name=\"note\" optional=\"YES\" attributeType=\"String\"/>"
    private static let models = ["", note].map { more in
        """
        <entity name="Book">\(more)<relationship name="writers" optional="YES" toMany="YES" \
        destinationEntity="Writer" inverseName="books" inverseEntity="Writer"/></entity>
        <entity name="Writer"><relationship name="books" optional="YES" toMany="YES" \
        destinationEntity="Book" inverseName="writers" inverseEntity="Book"/></entity>
        """
    }

    @Test("Is refused with the store as before, and the remedy leads to the new version", arguments: [false, true])
    func remedyWorks(hasOutput: Bool) throws {
        let folder = try TemporaryFolder()
        for (number, model) in Self.models.enumerated() { try folder.writeVersion("App \(number + 1)", model) }
        let path = folder.file("App.sqlite")
        let version = try folder.appVersion("App 1")
        do {
            let connection = try Connection(path: path, mode: .create)
            let layout = try StoreLayout.canonical(for: version.model)
            try StoreCreation.prepare(connection)
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: [:], on: connection)
            for index in layout.indexes { try connection.execute(index.sql) }
            try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000003").write(to: connection)
            // One flipped bit, which SQLite overlooks.
            connection.allowSchemaWrites()
            try connection.execute(
                "PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'indey' WHERE name LIKE 'sqlite_auto%'")
        }
        let before = FileManager.default.contents(atPath: path)
        let migrator = try Migrator(
            store: URL(fileURLWithPath: path), models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))])
        var configuration = Configuration.allowingLosses { $0.target = "App 2" }
        if hasOutput { configuration.output = URL(fileURLWithPath: folder.file("New.sqlite")) }
        let error = try #require(throws: FerryError.self) { try migrator.migrate(configuration) }
        #expect(error.code == .verificationFailed)
        #expect(
            error.remedy.description == """
                Copy every row instead, with `executor = .row` and `restart = true`, and report this.
                """)
        // But for the counters in the header, which the change of the journal mode raises.
        #expect(FileManager.default.contents(atPath: path)?.dropFirst(100) == before?.dropFirst(100))
        configuration.executor = .row
        configuration.restart = true
        let report = try migrator.migrate(configuration)
        #expect(report.outcome == .migrated && report.verification.differences.isEmpty)
    }
}
