#if Zstandard
    internal import CZstd
    internal import FerryBase

    /// A single-threaded Zstandard compressor; at level 1 its context takes about 1 MiB for content of any size.
    final class ZstandardCompressor: Compressor {
        private let context: OpaquePointer

        /// - Throws: ``FerryError`` `.outOfMemory`.
        init(level: Int) throws(FerryError) {
            guard let context = ZSTD_createCCtx() else {
                throw FerryError(.outOfMemory, "There is not enough memory for zstd.")
            }
            self.context = context
            // Neither call can fail: the level was checked, and the context is new.
            _ = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(level))
            _ = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
        }

        deinit { ZSTD_freeCCtx(context) }

        func begin(frameBytes: Int64) throws(FerryError) {
            try Self.check(ZSTD_CCtx_reset(context, ZSTD_reset_session_only))
            try Self.check(ZSTD_CCtx_setPledgedSrcSize(context, UInt64(frameBytes)))
        }

        func compress(
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

    /// A Zstandard decompressor for successive frames.
    final class ZstandardDecompressor: Decompressor {
        private let context: OpaquePointer
        private(set) var isAtFrameEnd = true

        /// - Throws: ``FerryError`` `.outOfMemory`.
        init() throws(FerryError) {
            guard let context = ZSTD_createDCtx() else {
                throw FerryError(.outOfMemory, "There is not enough memory for zstd.")
            }
            self.context = context
            // Valid frames have at most 64 MiB, so none needs a larger window, and a malicious one gets no memory.
            _ = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 26)
        }

        deinit { ZSTD_freeDCtx(context) }

        func decompress(
            _ bytes: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
        ) throws(FerryError) -> Int {
            // Another call without input would begin a new frame.
            if isAtFrameEnd, bytes.isEmpty { return 0 }
            var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
            var buffer = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
            // Inside a frame this runs once even without input: zstd may hold decoded bytes.
            repeat {
                let left = ZSTD_decompressStream(context, &buffer, &input)
                guard ZSTD_isError(left) == 0 else {
                    throw FerryError(
                        .snapshotDamaged,
                        "The archive cannot be decompressed: \(String(cString: ZSTD_getErrorName(left))).",
                        remedy: "Use another snapshot.")
                }
                isAtFrameEnd = left == 0
            } while input.pos < input.size && buffer.pos < buffer.size
            bytes = UnsafeRawBufferPointer(rebasing: bytes[input.pos...])
            return buffer.pos
        }
    }
#endif
