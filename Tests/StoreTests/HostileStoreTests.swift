import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// The lowest and the highest keys, and an endless cached model.
@Suite("Hostile stores")
struct HostileStoreTests {
    private static let model = ManagedObjectModel(
        versionIdentifiers: ["1"],
        entities: [Entity(name: "Book", attributes: [Attribute(name: "title", type: .string)])])

    @Test(
        "Metadata and cached models above their bounds are refused before they are read",
        arguments: [("Z_METADATA", 2 << 20, "larger than 2 MiB"), ("Z_MODELCACHE", 4 << 20, "larger than any model")])
    func bounds(table: String, bound: Int, reason: String) throws {
        let folder = try TemporaryFolder()
        for size in [bound / 2, bound + 1] {
            let path = folder.file("\(size).sqlite")
            do {
                let store = try Connection(path: path, mode: .create)
                try store.execute(
                    """
                    PRAGMA page_size = 4096;
                    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
                    CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
                    """)
                let values = table == "Z_METADATA" ? "(1, 'u', zeroblob(\(size)))" : "(zeroblob(\(size)))"
                try store.execute("INSERT INTO \(table) VALUES \(values)")
            }
            // The pages after those of the tables are the value's: a read of them fails.
            let file = try #require(FileHandle(forUpdatingAtPath: path))
            let end = try file.seekToEnd()
            try file.seek(toOffset: 3 * 4096)
            try file.write(contentsOf: Data(repeating: 0xFF, count: Int(end) - 3 * 4096))
            try file.close()
            let store = try Connection(path: path, mode: .readOnly)
            let error = #expect(throws: (any Error).self) {
                if table == "Z_METADATA" {
                    _ = try StoreMetadata.read(from: store)
                } else {
                    _ = try ModelCache.archive(in: store)
                }
            }
            let refusal = error as? FerryError
            #expect(
                (refusal?.message.contains(reason) == true) == (size > bound), "\(size): \(String(describing: error))")
        }
    }

    @Test(
        "Rows are counted for any keys",
        arguments: [[.min], [.max], [.min, .max], [.min, -1, 0, 1, .max], [1, .max], [.min, .min + 1]] as [[Int64]])
    func keys(_ keys: [Int64]) throws {
        let store = try StoreBuilder(Self.model)
        for key in keys {
            try store.connection.run("INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) VALUES (?, 1, 1)", [.integer(key)])
        }
        let exact = try StoreInspection(of: store.layout, on: store.connection)
        #expect(exact.entities.map(\.rows) == [Int64(keys.count)])
        let estimated = try StoreInspection(of: store.layout, on: store.connection, counting: .estimated)
        // The estimate for distant keys is limited by the size of the file.
        let bytes = try #require(
            try store.connection.integer("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
        let rows = try #require(estimated.entities[0].rows)
        #expect(rows <= bytes / 6)
        #expect(rows > 0)
    }

    /// Raw DEFLATE of zeros, 258 for each run: the last block, with fixed codes.
    private static func deflatedZeros(runs: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var bit = 0
        func put(_ bits: String) {
            for digit in bits {
                if bit % 8 == 0 { bytes.append(0) }
                if digit == "1" { bytes[bit / 8] |= 1 << UInt8(bit % 8) }
                bit += 1
            }
        }
        put("110" + "00110000")
        for _ in 0..<runs { put("11000101" + "00000") }
        put("0000000")
        return bytes
    }

    @Test("A cached model that inflates far beyond a model's size is refused")
    func inflation() throws {
        let store = try StoreBuilder(Self.model)
        let bytes = Self.deflatedZeros(runs: 200_000)
        #expect(bytes.count < 400_000)
        try store.connection.run("INSERT INTO Z_MODELCACHE VALUES (?)", [.blob(bytes)])
        let error = #expect(throws: FerryError.self) { try ModelCache.model(in: store.connection) }
        #expect(error?.code == .badArchive)
    }
}
