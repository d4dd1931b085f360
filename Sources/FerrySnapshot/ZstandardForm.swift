#if Zstandard
    internal import CZstd
    internal import FerryBase

    /// A single-threaded Zstandard compressor; at level 1 its context takes about 0.6 MiB.
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

        func compress(
            _ frame: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
        ) throws(FerryError) -> Int {
            let count = ZSTD_compress2(context, output.baseAddress, output.count, frame.baseAddress, frame.count)
            try Self.check(count)
            return count
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
