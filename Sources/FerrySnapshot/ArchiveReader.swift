internal import FerryBase

/// The hashes of an archive: of its own bytes and of its decoded content.
struct ArchiveHashes: ~Copyable {
    var archive = SHA256()
    var content = SHA256()

    consuming func finalize() -> (archive: [UInt8], content: [UInt8]) { (archive.finalize(), content.finalize()) }
}

/// Decodes an archive from front to end in constant memory.
struct ArchiveReader {
    let files: FileLayer
    let stop: StopRequest
    /// Whether to hash the content; both forms have a checksum of it as well.
    var hashesContent = true

    /// Large enough to make the cost of calls negligible; the decoder's window at level 1 has the same size.
    static let pieceBytes = 256 << 10

    /// Decodes the first `count` bytes of an archive, and passes the content to the body piece by piece.
    ///
    /// A shorter file is damaged; later bytes are not read. `limit` is the most content that the archive may have.
    ///
    /// - Returns: The number of bytes of the content.
    /// - Throws: ``FerryError`` `.snapshotDamaged`, `.unsupported` for a form that this build does not read, the reason
    ///   of the stop request, or the body's error.
    func decode(
        _ path: String, as form: SnapshotForm, bytes count: Int64, limit: Int64, hashes: inout ArchiveHashes,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Int64 {
        let input = try files.open(path)
        guard try input.size() >= count else { throw Self.damaged(path, "it is truncated") }
        let decompressor = try form.makeDecompressor()
        let encoded = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
        let decoded = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
        defer {
            encoded.deallocate()
            decoded.deallocate()
        }
        var offset: Int64 = 0
        var total: Int64 = 0
        while offset < count {
            try stop.check()
            let wanted = UnsafeMutableRawBufferPointer(
                rebasing: encoded[..<Int(min(Int64(encoded.count), count - offset))])
            let found = try input.read(into: wanted, at: offset)
            guard found == wanted.count else { throw Self.damaged(path, "it is truncated") }
            offset += Int64(found)
            var rest = UnsafeRawBufferPointer(wanted)
            hashes.archive.update(rest)
            var produced: Int
            repeat {
                produced = try decompressor.decompress(&rest, into: decoded)
                total += Int64(produced)
                guard total <= limit else { throw Self.damaged(path, "it contains more than its manifest says") }
                let piece = UnsafeRawBufferPointer(rebasing: decoded[..<produced])
                if hashesContent { hashes.content.update(piece) }
                if produced > 0 { try body(piece) }
            } while !rest.isEmpty || produced == decoded.count
        }
        guard decompressor.isAtFrameEnd else { throw Self.damaged(path, "its last frame is incomplete") }
        return total
    }

    static func damaged(_ path: String, _ how: String) -> FerryError {
        FerryError(.snapshotDamaged, "The snapshot \(path) is damaged: \(how).", remedy: "Use another snapshot.")
    }
}
