internal import FerryBase

/// The SHA-256 over all files that make up one mapping model, in the order they are read.
final class Fingerprint {
    private var hash: SHA256? = SHA256()

    func update(_ bytes: UnsafeRawBufferPointer) { hash?.update(bytes) }

    func update(_ bytes: [UInt8]) { hash?.update(bytes) }

    /// Ends the use of this fingerprint.
    func finish() -> [UInt8] {
        guard let hash = hash.take() else { preconditionFailure("A fingerprint is finished once.") }
        return hash.finalize()
    }
}

/// A file that is read once from front to end, and fingerprinted as it passes.
final class MappingFileStream {
    private static let pieceBytes = 64 << 10

    private let file: InputFile
    private let fingerprint: Fingerprint
    private var offset: Int64 = 0

    init(_ file: consuming InputFile, fingerprint: Fingerprint) {
        self.file = file
        self.fingerprint = fingerprint
    }

    /// The next bytes; none at the end.
    func next() throws(FerryError) -> [UInt8] {
        let bytes = try file.read(count: Self.pieceBytes, at: offset)
        fingerprint.update(bytes)
        offset += Int64(bytes.count)
        return bytes
    }
}
