internal import CHash

package struct SHA256: ~Copyable {
    private var state = chash_sha256()

    package init() { chash_sha256_init(&state) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        chash_sha256_update(&state, bytes.baseAddress, bytes.count)
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { chash_sha256_update(&state, $0.baseAddress, $0.count) }
    }

    /// Adds a text as UTF-8, without terminator.
    package mutating func update(_ text: String) { update(Array(text.utf8)) }

    package consuming func finalize() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            chash_sha256_final(&state, buffer.baseAddress)
            count = 32
        }
    }

    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }
}

package struct SHA512: ~Copyable {
    private var state = chash_sha512()

    package init() { chash_sha512_init(&state) }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { chash_sha512_update(&state, $0.baseAddress, $0.count) }
    }

    package consuming func finalize() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            chash_sha512_final(&state, buffer.baseAddress)
            count = 64
        }
    }
}

extension Sequence<UInt8> {
    /// Lower-case hexadecimal, two digits a byte.
    package var hexadecimal: String {
        var text = ""
        for byte in self {
            let digits = String(byte, radix: 16)
            text += digits.count == 1 ? "0" + digits : digits
        }
        return text
    }

    /// 16 bytes as the text of a UUID, in upper case.
    package var uuidText: String {
        let digits = Array(hexadecimal.uppercased())
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}

/// SipHash-2-4 with a result of 128 bits, over whole words: a keyed hash for tests of equality.
///
/// Inlinable, because it runs for each cell: across modules the call for a word took as long as the word's rounds.
///
/// Only the key's owner can construct two values with one hash; a chance collision takes about 2⁶⁴ values.
package struct KeyedHash: Sendable {
    package struct Key: Sendable, Equatable, Codable {
        package var low: UInt64
        package var high: UInt64

        package init(low: UInt64, high: UInt64) {
            self.low = low
            self.high = high
        }

        package static func random() -> Key {
            var generator = SystemRandomNumberGenerator()
            return Key(low: generator.next(), high: generator.next())
        }
    }

    @usableFromInline var v0: UInt64
    @usableFromInline var v1: UInt64
    @usableFromInline var v2: UInt64
    @usableFromInline var v3: UInt64
    @usableFromInline var words: UInt64 = 0

    @inlinable @inline(__always) package init(_ key: Key) {
        v0 = key.low ^ 0x736f_6d65_7073_6575
        v1 = key.high ^ 0x646f_7261_6e64_6f6d ^ 0xee
        v2 = key.low ^ 0x6c79_6765_6e65_7261
        v3 = key.high ^ 0x7465_6462_7974_6573
    }

    @inlinable @inline(__always) package mutating func add(_ word: UInt64) {
        words &+= 1
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    /// Adds bytes, the last word padded with zeros: the caller must also add their count if it can vary.
    @inlinable package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index + 8 <= bytes.count {
            add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
            index += 8
        }
        guard index < bytes.count else { return }
        var rest: UInt64 = 0
        for place in stride(from: bytes.count - 1, through: index, by: -1) { rest = rest << 8 | UInt64(bytes[place]) }
        add(rest)
    }

    @inlinable @inline(__always) package consuming func finish() -> (UInt64, UInt64) {
        add((words &* 8) << 56)
        v2 ^= 0xee
        for _ in 0..<4 { round() }
        let first = v0 ^ v1 ^ v2 ^ v3
        v1 ^= 0xdd
        for _ in 0..<4 { round() }
        return (first, v0 ^ v1 ^ v2 ^ v3)
    }

    @inlinable @inline(__always) mutating func round() {
        v0 = v0 &+ v1
        v1 = (v1 << 13 | v1 >> 51) ^ v0
        v0 = v0 << 32 | v0 >> 32
        v2 = v2 &+ v3
        v3 = (v3 << 16 | v3 >> 48) ^ v2
        v0 = v0 &+ v3
        v3 = (v3 << 21 | v3 >> 43) ^ v0
        v2 = v2 &+ v1
        v1 = (v1 << 17 | v1 >> 47) ^ v2
        v2 = v2 << 32 | v2 >> 32
    }
}
