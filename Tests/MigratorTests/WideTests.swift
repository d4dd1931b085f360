import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Entities with as many attributes as SQLite has columns: no statement may grow too deep.
@Suite("Wide entities")
struct WideTests {
    private struct Store {
        let folder: TemporaryFolder
        var path: String { folder.file("App.sqlite") }

        /// Writes two versions of an entity of texts, of which the second has one more, and a store with two rows.
        init(attributes count: Int, isOptional: Bool) throws {
            folder = try TemporaryFolder()
            let names = (0..<count).map { "a\($0)" }
            let texts = names.map {
                "<attribute name=\"\($0)\" optional=\"\(isOptional ? "YES" : "NO")\" attributeType=\"String\"/>"
            }
            let more = "<attribute name=\"more\" optional=\"YES\" attributeType=\"Integer 16\"/>"
            try folder.writeVersion("App 1", "<entity name=\"Wide\">\(texts.joined())</entity>")
            try folder.writeVersion("App 2", "<entity name=\"Wide\">\(texts.joined())\(more)</entity>")
            try FileLayer().replace(
                folder.file("Map.json"),
                with: Array(
                    """
                    { "source": "App 1", "destination": "App 2", "entityMappings": [
                        { "name": "Wide", "source": "Wide", "destination": "Wide",
                          "where": "a\(count - 1) != nil OR a0 == nil", "attributes": { "more": "3" } } ] }
                    """.utf8))
            let version = try folder.appVersion("App 1")
            let connection = try Connection(path: path, mode: .create)
            let layout = try StoreLayout.canonical(for: version.model)
            try StoreCreation.prepare(connection)
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Wide": 2], on: connection)
            try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000002").write(to: connection)
            let columns = names.map { "Z\($0.uppercased())" }
            for key in 1...2 {
                let values = names.map { "'\($0) of \(key)'" }
                try connection.execute(
                    """
                    INSERT INTO ZWIDE (Z_PK, Z_ENT, Z_OPT, \(columns.joined(separator: ", ")))
                    VALUES (\(key), 1, 1, \(values.joined(separator: ", ")))
                    """)
            }
        }

        func migrator(isMapped: Bool) throws -> Migrator {
            try Migrator(
                store: URL(fileURLWithPath: path),
                models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))],
                mappings: isMapped ? [URL(fileURLWithPath: folder.file("Map.json"))] : [])
        }
    }

    @Test("are copied and verified in full", arguments: zip([true, false], [1_000, 1_900]))
    func copied(isOptional: Bool, attributes: Int) throws {
        let store = try Store(attributes: attributes, isOptional: isOptional)
        let report = try store.migrator(isMapped: true).migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.executor = .set
            })
        #expect(report.verification.mode == .full && report.verification.checked == 2)
        #expect(report.verification.differences.isEmpty)
        try compare(store, attributes, more: 3)
    }

    @Test("are migrated in place", arguments: zip([true, false], [1_000, 1_900]))
    func inPlace(isOptional: Bool, attributes: Int) throws {
        let store = try Store(attributes: attributes, isOptional: isOptional)
        let configuration = Configuration.allowingLosses {
            $0.target = "App 2"
            $0.ignoresMappingsBeside = true
        }
        let plan = try store.migrator(isMapped: false).plan(configuration, checksRows: true)
        #expect(plan.steps.map(\.mode) == [.inPlace] && plan.refusals.isEmpty)
        let report = try store.migrator(isMapped: false).migrate(configuration)
        #expect(report.verification.differences.isEmpty)
        try compare(store, attributes, more: nil)
    }

    private func compare(_ store: Store, _ attributes: Int, more: Int64?) throws {
        let connection = try Connection(path: store.path, mode: .readOnly)
        let rows = try connection.rows("SELECT ZA0, ZA\(attributes - 1), ZMORE FROM ZWIDE ORDER BY Z_PK")
        #expect(rows.count == 2)
        for (index, row) in rows.enumerated() {
            let texts = [0, attributes - 1].map { "a\($0) of \(index + 1)" }
            #expect(row[0].text == texts[0] && row[1].text == texts[1] && row[2].integer == more)
        }
    }

    @Test("beyond SQLite's columns are refused by the plan", arguments: [true, false])
    func tooWide(isMapped: Bool) throws {
        // 1,997 attributes and three columns of Core Data's are the limit; version 2 has one attribute more.
        let store = try Store(attributes: 1_997, isOptional: true)
        let configuration = Configuration.allowingLosses {
            $0.target = "App 2"
            $0.ignoresMappingsBeside = !isMapped
        }
        let migrator = try store.migrator(isMapped: isMapped)
        for checksRows in [false, true] {
            let refusals = try migrator.plan(configuration, checksRows: checksRows).refusals
            #expect(refusals.map(\.code) == [.unsupported])
            #expect(refusals.first?.message.contains("2001 columns, and SQLite allows 2000") == true)
        }
        #expect(throws: FerryError.self) { try migrator.migrate(configuration) }
    }
}
