internal import CHash

/// An incremental SHA-256.
package struct SHA256: ~Copyable {
    private var state = chash_sha256()

    package init() { chash_sha256_init(&state) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        chash_sha256_update(&state, bytes.baseAddress, bytes.count)
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { chash_sha256_update(&state, $0.baseAddress, $0.count) }
    }

    /// Takes the UTF-8 of a text, without terminator.
    package mutating func update(_ text: String) { update(Array(text.utf8)) }

    /// The 32 bytes; ends the use of this hash.
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

/// An incremental SHA-512.
package struct SHA512: ~Copyable {
    private var state = chash_sha512()

    package init() { chash_sha512_init(&state) }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { chash_sha512_update(&state, $0.baseAddress, $0.count) }
    }

    /// The 64 bytes; ends the use of this hash.
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
}
