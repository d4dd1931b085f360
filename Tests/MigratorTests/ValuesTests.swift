import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Any value in a column keeps its storage class and its bytes.
@Suite("Values of every attribute type")
struct ValuesTests {
    private static let types = [
        "Integer 16", "Integer 32", "Integer 64", "Boolean", "Decimal", "Double", "Float", "String", "Date", "Binary",
        "UUID", "URI", "Transformable",
    ]

    /// SQL of values, valid for Core Data or not: a store may hold any value in a column.
    private static let values = [
        "NULL", "0", "1", "-1", "9223372036854775807", "-9223372036854775808", "65536", "1.5", "-0.0", "9e999",
        "-9e999",
        "4.9e-324", "1.7976931348623157e308", "0.1", "9007199254740993.0", "123456789012345678901234567890.5",
        "700000000", "700000000.25", "'text'", "''", "'12'", "'1e3'", "'0x10'", "' 7 '",
        "CAST(x'61006200' AS TEXT)", "CAST(x'fffe41c328' AS TEXT)", "'æ€😀' || char(0x301)", "x''", "x'00'",
        "x'0102ff'", "x'6C1D3E0A000040008000000000000004'", "zeroblob(70000)", "'https://example.org/a?b=c#d'",
    ]

    private static func entities(_ suffix: String = "", id: Bool = false, more: String = "") -> String {
        let attributes = types.enumerated().map { index, type in
            let element = id ? " elementID=\"a\(index)\"" : ""
            return "<attribute name=\"a\(index)\(suffix)\"\(element) optional=\"YES\" attributeType=\"\(type)\"/>"
        }
        let external =
            #"<attribute name="e" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>"#
        return "<entity name=\"Item\">\(attributes.joined())\(external)\(more)</entity>"
    }

    private struct Later: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var entities: String
        var suffix = ""
    }

    private static let laters = [
        Later(
            testDescription: "an attribute and an entity added",
            entities: "<entity name=\"Atlas\"></entity>"
                + entities(more: #"<attribute name="more" optional="YES" attributeType="String"/>"#)),
        Later(testDescription: "every attribute renamed", entities: entities("x", id: true), suffix: "X"),
        Later(
            testDescription: "the table rebuilt",
            entities: entities().replacingOccurrences(
                of:
                    #"<attribute name="e" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>"#,
                with: "")),
    ]

    private func dump(_ store: String, _ suffix: String) throws -> [[Value]] {
        let columns = Self.types.indices.map { index in
            let name = "ZA\(index)\(suffix)"
            return
                "typeof(\(name)), hex(\(name)), CASE WHEN typeof(\(name)) IN ('integer', 'real') THEN quote(\(name)) END"
        }
        return try Connection(path: store, mode: .readWrite).rows(
            "SELECT Z_PK, Z_OPT, \(columns.joined(separator: ", ")) FROM ZITEM ORDER BY Z_PK")
    }

    @Test(
        "Unchanged attributes keep their values", arguments: laters,
        [DamagedStore.Way.inPlace, .copy, .inferredCopy, .policy])
    private func unchanged(_ later: Later, _ way: DamagedStore.Way) throws {
        let folder = try TemporaryFolder()
        let bundle = folder.file("App.xcdatamodeld")
        for (name, entities) in [("App 1", Self.entities()), ("App 2", later.entities)] {
            let version = "\(bundle)/\(name).xcdatamodel"
            try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
            let text =
                "<?xml version=\"1.0\"?><model type=\"com.apple.IDECoreDataModeler.DataModel\">\(entities)</model>"
            try text.write(toFile: "\(version)/contents", atomically: true, encoding: .utf8)
        }
        let store = folder.file("Store.sqlite")
        try makeStore(store, of: ModelCatalog(paths: [bundle]).version(named: "App 1"))
        let before = try dump(store, "")
        let attributes = Self.types.indices.map { "\"a\($0)\(later.suffix.lowercased())\": \"$source.a\($0)\"" }
        let mapping = """
            { "source": "App 1", "destination": "App 2", "entityMappings": [{ "name": "Items", "source": "Item",
              "destination": "Item"\(way == .policy ? ", \"policy\": \"Policy\"" : ""), "attributes": { \(attributes.joined(separator: ", ")) } }] }
            """
        var mappings: [URL] = []
        if way.hasMapping {
            try mapping.write(toFile: folder.file("Map.json"), atomically: true, encoding: .utf8)
            mappings = [URL(fileURLWithPath: folder.file("Map.json"))]
        }
        let report = try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: bundle))], mappings: mappings,
            policies: ["Policy": { DamagedStore.Policy() }]
        ).migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.executor = way.executor
                $0.snapshots.form = .none
            })
        #expect(report.mode == (way.isCopy ? .copy : .inPlace) && report.verification.differences.isEmpty)
        let after = try dump(store, later.suffix)
        #expect(before.count == Self.values.count && after.count == before.count)
        for (row, (old, new)) in zip(before, after).enumerated() {
            #expect(old == new, "\(Self.values[row])")
        }
    }

    /// Makes a store with one row per value; all columns hold the value as far as their affinity permits.
    private func makeStore(_ path: String, of version: ModelVersion) throws {
        let connection = try Connection(path: path, mode: .create)
        try connection.execute("PRAGMA synchronous = OFF")
        let layout = try StoreLayout.canonical(for: version.model)
        try StoreCreation.prepare(connection)
        try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
        try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Item": 99], on: connection)
        try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000005").write(to: connection)
        let columns = Self.types.indices.map { "ZA\($0)" }.joined(separator: ", ")
        for (row, value) in Self.values.enumerated() {
            let all = Self.types.map { _ in value }.joined(separator: ", ")
            try connection.execute(
                "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, \(columns)) VALUES (\(row * 3 + 1), 1, \(row * 1000), \(all))")
        }
    }
}
