internal import CHash
internal import FerryBase
internal import Testing

@Suite("Digests")
struct DigestTests {
    private static let long =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
        + "mnopqrstnopqrstu"

    @Test(
        "SHA-256 gives the values of the standard",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (long, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"),
            (
                "a million letters a",
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ])
    func sha256(text: String, digest: String) {
        let bytes = message(text)
        #expect(SHA256.hash(bytes).hexadecimal == digest)
        #expect(sha256(bytes, pieces: 7777, portable: true).hexadecimal == digest)
    }

    @Test(
        "SHA-512 gives the values of the standard",
        arguments: [
            (
                "",
                "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                    + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
            ),
            (
                "abc",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                    + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
            ),
            (
                long,
                "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
                    + "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"
            ),
            (
                "a million letters a",
                "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
                    + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"
            ),
        ])
    func sha512(text: String, digest: String) {
        var hash = SHA512()
        for piece in pieces(message(text), of: 1000) { hash.update(piece) }
        #expect(hash.finalize().hexadecimal == digest)
    }

    @Test("SHA-256 does not depend on the pieces of the input, nor on the processor's instructions")
    func piecesAndInstructions() {
        let bytes = (0..<1100).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 3) }
        for length in [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 191, 192, 193, 1023, 1024, 1025, 1100] {
            let part = Array(bytes[..<length])
            let whole = SHA256.hash(part)
            for size in [1, 3, 63, 64, 65, 200, 2000] {
                #expect(sha256(part, pieces: size, portable: false) == whole, "\(length) bytes in pieces of \(size)")
                #expect(sha256(part, pieces: size, portable: true) == whole, "\(length) bytes in pieces of \(size)")
            }
        }
    }

    @Test("SHA-512 does not depend on the pieces of the input")
    func piecesOf512() {
        let bytes = (0..<600).map { UInt8(truncatingIfNeeded: $0 &* 17) }
        for length in [0, 111, 112, 113, 127, 128, 129, 239, 240, 241, 255, 256, 257, 600] {
            var whole = SHA512()
            whole.update(Array(bytes[..<length]))
            let digest = whole.finalize()
            for size in [1, 127, 128, 129] {
                var hash = SHA512()
                for piece in pieces(Array(bytes[..<length]), of: size) { hash.update(piece) }
                #expect(hash.finalize() == digest, "\(length) bytes in pieces of \(size)")
            }
        }
    }

    /// Expands the long message, whose full text as an argument would fill the test's log.
    private func message(_ text: String) -> [UInt8] {
        text == "a million letters a" ? [UInt8](repeating: 0x61, count: 1_000_000) : Array(text.utf8)
    }

    private func sha256(_ bytes: [UInt8], pieces size: Int, portable: Bool) -> [UInt8] {
        var state = chash_sha256()
        if portable { chash_sha256_init_portable(&state) } else { chash_sha256_init(&state) }
        for piece in pieces(bytes, of: size) { chash_sha256_update(&state, piece, piece.count) }
        var digest = [UInt8](repeating: 0, count: 32)
        chash_sha256_final(&state, &digest)
        return digest
    }

    private func pieces(_ bytes: [UInt8], of size: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    }
}
