internal import FerryBase
internal import Testing

@Suite("Keyed hashes")
struct KeyedHashTests {
    private static let key = KeyedHash.Key(low: 0x0706_0504_0302_0100, high: 0x0f0e_0d0c_0b0a_0908)

    @Test("The hash is that of SipHash-2-4 with 128 bits")
    func vectors() {
        // The hash of the empty input, as published with the algorithm.
        let empty = KeyedHash(Self.key).finish()
        #expect(empty == (0xe6a8_25ba_047f_81a3, 0x9302_55c7_1472_f66d))
    }

    @Test("Words and bytes give the same hash, and every bit counts")
    func bits() {
        var words = KeyedHash(Self.key)
        words.add(0x0807_0605_0403_0201 as UInt64)
        words.add(0x0009 as UInt64)
        var bytes = KeyedHash(Self.key)
        ([1, 2, 3, 4, 5, 6, 7, 8, 9] as [UInt8]).withUnsafeBytes { bytes.add($0) }
        let expected = words.finish()
        #expect(bytes.finish() == expected)
        for bit in 0..<64 {
            var other = KeyedHash(Self.key)
            other.add(0x0807_0605_0403_0201 ^ 1 << UInt64(bit))
            other.add(0x0009 as UInt64)
            let hash = other.finish()
            #expect(hash.0 != expected.0 && hash.1 != expected.1)
        }
        var otherKey = KeyedHash(KeyedHash.Key(low: Self.key.low ^ 1, high: Self.key.high))
        otherKey.add(0x0807_0605_0403_0201 as UInt64)
        otherKey.add(0x0009 as UInt64)
        #expect(otherKey.finish() != expected)
    }
}
