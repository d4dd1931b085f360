internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// BLOBs of 512 MiB with the released program; needs `FERRY_SWEEP=1` and `FERRY_RELEASED`.
@Suite("Large BLOBs, whole", .serialized)
struct LargeBlobTests {
    private static let isAsked = Sweep.isFull && Sweep.released != nil

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func write(_ text: String, to name: String) throws {
        let url = URL(fileURLWithPath: folder.file(name))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: url, atomically: true, encoding: .utf8)
    }

    private func run(_ words: [String]) throws -> (code: Int32, output: String) {
        let program = try #require(Sweep.released)
        let process = Process()
        let output = folder.file("out.txt")
        try "".write(toFile: output, atomically: true, encoding: .utf8)
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = words
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, try String(contentsOfFile: output, encoding: .utf8))
    }

    /// Makes a store of 100 objects, one of which has a value of a given size in a column.
    private func makeStore(_ column: String, _ bytes: Int, asText: Bool = false) throws {
        for version in 1...2 {
            let heading = version == 1 ? "" : "<attribute name=\"heading\" attributeType=\"String\" optional=\"YES\"/>"
            try write(
                """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
                    <entity name="Item">
                        <attribute name="name" attributeType="String" optional="YES"/>
                        <attribute name="first" attributeType="Binary"/>
                        <attribute name="second" attributeType="Binary" optional="YES"/>\(heading)
                    </entity>
                </model>
                """, to: "App.xcdatamodeld/App \(version).xcdatamodel/contents")
        }
        try write(
            """
            {"source": "App 1", "destination": "App 2", "entityMappings": [{"name": "Items", "source": "Item",
            "destination": "Item", "attributes": {"heading": "uppercase:($source.heading)"}}]}
            """.replacingOccurrences(of: "$source.heading", with: asText ? "'a'" : "$source.name"),
            to: "Mappings/map.json")
        let made = try run([
            "generate", "App.xcdatamodeld/App 1.xcdatamodel", "--rows", "100", "--output", "App.sqlite",
        ])
        try #require(made.code == 0)
        let store = try Connection(path: folder.file("App.sqlite"), mode: .readWrite)
        let key = try #require(try store.integer("SELECT Z_PK FROM ZITEM ORDER BY Z_PK LIMIT 1 OFFSET 40"))
        if asText {
            try store.run(
                "UPDATE ZITEM SET \(column) = printf('%.*c', ?, 'x') WHERE Z_PK = ?",
                [
                    .integer(Int64(bytes)), .integer(key),
                ])
            return
        }
        try store.run(
            "UPDATE ZITEM SET \(column) = zeroblob(?) WHERE Z_PK = ?",
            [
                .integer(Int64(bytes)), .integer(key),
            ])
        let value = try BlobHandle(column, of: "ZITEM", row: key, schema: "main", writable: true, on: store)
        var piece = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        for start in stride(from: 0, to: bytes, by: piece.count) {
            piece[start >> 20] &+= 1
            try piece.withUnsafeBytes { try value.write($0, at: start) }
        }
    }

    @Test(
        "512 MiB pass in 48 MiB, with snapshot and full verification", .enabled(if: isAsked),
        arguments: ["ZSECOND", "ZFIRST"], [["--mappings", "Mappings"], []])
    func passes(column: String, mappings: [String]) throws {
        try makeStore(column, 512 << 20)
        let migrated = try run(
            ["migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 2", "--json"] + mappings)
        try #require(migrated.code == 0, "\(migrated.output)")
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(migrated.output.utf8)) as? [String: Any])
        let peak = try #require(report["peakResidentBytes"] as? Int)
        #expect(peak <= 48 << 20, "\(peak / 1024) KiB")
        let store = try Connection(path: folder.file("App.sqlite"), mode: .readOnly)
        #expect(try store.integer("SELECT max(length(\(column))) FROM ZITEM") == 512 << 20)
    }

    @Test("64 MiB of text keep their storage class with twice that as memory limit", .enabled(if: isAsked))
    func text() throws {
        try makeStore("ZNAME", 64 << 20, asText: true)
        let words = [
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 2", "--mappings", "Mappings",
            "--json",
        ]
        let refused = try run(words)
        #expect(refused.code == 2)
        #expect(refused.output.contains("memoryLimitTooLow") && refused.output.contains("Item with key 41"))
        let migrated = try run(words + ["--memory-limit", "128MiB"])
        #expect(migrated.code == 0, "\(migrated.output)")
        let store = try Connection(path: folder.file("App.sqlite"), mode: .readOnly)
        #expect(
            try store.integer(
                "SELECT count(*) FROM ZITEM WHERE length(ZNAME) = 67108864 AND typeof(ZNAME) = 'text'") == 1)
    }
}
