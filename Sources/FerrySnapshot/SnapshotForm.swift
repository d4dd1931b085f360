internal import FerryBase

/// The form in which a snapshot keeps the database.
package enum SnapshotForm: String, Codable, Sendable, CaseIterable {
    /// Zstandard frames, which `zstd -d` reads.
    case zstandard = "zstd"
    /// Gzip members, which `gzip -d` reads.
    case gzip
    /// The database itself, as a copy-on-write file that shares its blocks with the store until either changes.
    case clone

    /// The compression that this build writes: Zstandard if it has it (the package's trait of that name).
    package static var preferred: SnapshotForm {
        #if Zstandard
            .zstandard
        #else
            .gzip
        #endif
    }

    /// The compressions that this build writes and reads.
    package static var known: [SnapshotForm] { allCases.filter { $0 == preferred || $0 == .gzip } }

    private var facts: (levels: ClosedRange<Int>, ending: String) {
        switch self {
        case .zstandard: (1...19, ".sqlite.zst")
        case .gzip: (1...9, ".sqlite.gz")
        case .clone: (1...1, ".sqlite")
        }
    }

    /// The levels of the form; the first is the fastest.
    package var levels: ClosedRange<Int> { facts.levels }
    /// The ending of an archive's name.
    package var ending: String { facts.ending }
    var partialEnding: String { ending + ".partial" }

    /// - Throws: ``FerryError`` `.outOfMemory`, `.usage` for a level that the form does not have, `.unsupported`.
    func makeCompressor(level: Int) throws(FerryError) -> any Compressor {
        guard levels.contains(level) else { throw noSuchLevel(level) }
        switch self {
        case .zstandard:
            #if Zstandard
                return try ZstandardCompressor(level: level)
            #else
                throw unknownHere
            #endif
        case .gzip: return try GzipCompressor(level: level)
        case .clone: throw notCompressed
        }
    }

    /// - Throws: ``FerryError`` `.outOfMemory`, `.unsupported`.
    func makeDecompressor() throws(FerryError) -> any Decompressor {
        switch self {
        case .zstandard:
            #if Zstandard
                return try ZstandardDecompressor()
            #else
                throw unknownHere
            #endif
        case .gzip: return try GzipDecompressor()
        case .clone: throw notCompressed
        }
    }

    /// The most bytes to which this many can be compressed, including the frame's own data.
    func bound(_ count: Int) -> Int {
        // Both forms store incompressible bytes in blocks with a few bytes of overhead.
        count + count >> 7 + 1_024
    }

    func noSuchLevel(_ level: Int) -> FerryError {
        FerryError(
            .usage, "There is no snapshot level \(level).",
            remedy: "Use one from \(levels.lowerBound) to \(levels.upperBound).")
    }

    private var notCompressed: FerryError { FerryError(.internalError, "A clone is not compressed.") }

    private var unknownHere: FerryError {
        FerryError(
            .unsupported, "The archive uses Zstandard, which this build of Ferry does not support.",
            remedy: "Use a Ferry built with the trait Zstandard, or decode the archive with the program zstd.")
    }
}

/// Compresses frames, on one thread.
protocol Compressor: AnyObject {
    /// Compresses the content of one frame.
    ///
    /// - Returns: The number of bytes written to the output, which must have room for ``SnapshotForm/bound(_:)`` bytes.
    /// - Throws: ``FerryError`` `.snapshotFailed`.
    func compress(
        _ frame: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(FerryError) -> Int
}

/// Decodes successive frames.
protocol Decompressor: AnyObject {
    /// Whether the input so far ended with a complete frame.
    var isAtFrameEnd: Bool { get }

    /// Decodes bytes from the front of the input, and removes them from it.
    ///
    /// - Returns: The number of bytes written to the output; if it is full, a call without input may return more.
    /// - Throws: ``FerryError`` `.snapshotDamaged`, also for a wrong checksum of the content.
    func decompress(
        _ bytes: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(FerryError) -> Int
}
