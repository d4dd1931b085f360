import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// The lowest and the highest keys, and an endless cached model.
@Suite("Hostile stores")
struct HostileStoreTests {
    private static let model = ManagedObjectModel(
        versionIdentifiers: ["1"],
        entities: [Entity(name: "Book", attributes: [Attribute(name: "title", type: .string)])])

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
        #expect(estimated.entities[0].rows <= bytes / 6)
        #expect(estimated.entities[0].rows > 0)
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
