internal import CZstd
internal import FerryBase

/// A single-thread Zstandard compressor; at level 1 its context takes about 1 MiB whatever the content's size.
struct Compressor: ~Copyable {
    private let context: OpaquePointer

    /// - Throws: ``FerryError`` `.outOfMemory`, or `.usage` for a level that zstd does not have.
    init(level: Int) throws(FerryError) {
        guard level >= 1, level <= Int(ZSTD_maxCLevel()) else {
            throw FerryError(
                .usage, "There is no snapshot level \(level).", remedy: "Give one from 1 to \(ZSTD_maxCLevel()).")
        }
        guard let context = ZSTD_createCCtx() else {
            throw FerryError(.outOfMemory, "There is no memory for a zstd context.")
        }
        self.context = context
        // Neither can fail: the level was checked, and the context is new.
        _ = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(level))
        _ = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
    }

    deinit { ZSTD_freeCCtx(context) }

    /// Room that the compressed form of this many bytes can take, frame header and checksum included.
    static func bound(_ count: Int) -> Int { ZSTD_compressBound(count) + 64 }

    /// Begins a frame, which must get exactly this many bytes.
    mutating func begin(frameBytes: Int64) throws(FerryError) {
        try Self.check(ZSTD_CCtx_reset(context, ZSTD_reset_session_only))
        try Self.check(ZSTD_CCtx_setPledgedSrcSize(context, UInt64(frameBytes)))
    }

    /// Compresses the bytes to the last one, so that they can be decoded at once.
    ///
    /// - Returns: How much of the output, which must have ``bound(_:)`` bytes, was filled.
    /// - Throws: ``FerryError`` `.snapshotFailed`.
    mutating func compress(
        _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, endsFrame: Bool
    ) throws(FerryError) -> Int {
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        var buffer = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        while true {
            let left = ZSTD_compressStream2(context, &buffer, &input, endsFrame ? ZSTD_e_end : ZSTD_e_flush)
            try Self.check(left)
            if left == 0 { return buffer.pos }
            precondition(buffer.pos < buffer.size, "the output of the compressor has room for its bound")
        }
    }

    private static func check(_ code: Int) throws(FerryError) {
        guard ZSTD_isError(code) == 0 else {
            throw FerryError(
                .snapshotFailed, "zstd could not compress: \(String(cString: ZSTD_getErrorName(code))).",
                remedy: "\(action: .again).")
        }
    }
}
