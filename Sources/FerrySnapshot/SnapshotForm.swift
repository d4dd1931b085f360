package import FerryBase

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

    private var facts: (levels: ClosedRange<Int>, name: String, ending: String) {
        switch self {
        case .zstandard: (1...19, "Zstandard", ".sqlite.zst")
        case .gzip: (1...9, "gzip", ".sqlite.gz")
        case .clone: (1...1, "clone", ".sqlite")
        }
    }

    /// The levels of the form; the first is the fastest.
    package var levels: ClosedRange<Int> { facts.levels }
    package var name: String { facts.name }
    /// The stock program whose option `-d` decodes an archive; a clone needs none.
    package var program: String { rawValue }
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

/// Compresses successive frames, on one thread.
protocol Compressor: AnyObject {
    /// Begins a frame, which must get exactly this many bytes.
    func begin(frameBytes: Int64) throws(FerryError)

    /// Compresses all bytes and flushes them, so that they can be decoded at once.
    ///
    /// - Returns: The number of bytes written to the output, which must have room for ``SnapshotForm/bound(_:)`` bytes.
    /// - Throws: ``FerryError`` `.snapshotFailed`.
    func compress(
        _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, endsFrame: Bool
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

/// The memory for taking a snapshot, by form and level.
package enum SnapshotMemory {
    /// KiB of Zstandard's compression and decompression contexts together, from level 1 to 19.
    ///
    /// Measured with frames of 64 MiB and zstd 1.5.4: its own estimates are not a part of its stable interface.
    private static let zstandard = [
        2_340, 3_550, 6_110, 7_390, 8_410, 8_410, 11_490, 11_490, 21_730, 34_020, 34_020, 58_600, 58_600, 58_600,
        74_980, 74_980, 79_080, 79_080, 100_330,
    ]
    /// KiB of zlib's contexts at any level: its header says 256 and 40, and their other state needs some room.
    private static let gzip = 320

    /// The most bytes that a snapshot of this level needs, including buffers.
    package static func bytes(level: Int, form: SnapshotForm = .preferred) -> Int {
        precondition(form.levels.contains(level), "a level is one of its form's")
        let contexts = form == .zstandard ? zstandard[level - 1] : gzip
        return contexts << 10 + ArchiveWriter.bufferBytes(form)
    }

    /// - Throws: ``FerryError`` `.usage` when a level needs more than the budget; the remedy names both ways out.
    package static func check(
        level: Int, form: SnapshotForm = .preferred, within budget: MemoryBudget
    ) throws(FerryError) {
        guard form.levels.contains(level) else { throw form.noSuchLevel(level) }
        let needed = bytes(level: level, form: form)
        guard needed > budget.snapshot else { return }
        let highest = form.levels.last { bytes(level: $0, form: form) <= budget.snapshot } ?? 1
        let limit = (budget.limit - budget.snapshot + needed) >> 20 + 1
        throw FerryError(
            .usage,
            "A snapshot of level \(level) needs \(needed >> 20) MiB, more than a memory limit of "
                + "\(budget.limit >> 20) MiB leaves for it.",
            remedy: """
                Use \(setting: .snapshotLevel, .number(highest)), or \(setting: .memoryLimit, .mebibytes(limit)).
                """)
    }
}
