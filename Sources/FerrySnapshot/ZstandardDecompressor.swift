#if Zstandard
    internal import CZstd
    internal import FerryBase

    /// A Zstandard decompressor for frames one after another.
    final class ZstandardDecompressor: Decompressor {
        private let context: OpaquePointer
        private(set) var isAtFrameEnd = true

        /// - Throws: ``FerryError`` `.outOfMemory`.
        init() throws(FerryError) {
            guard let context = ZSTD_createDCtx() else {
                throw FerryError(.outOfMemory, "There is no memory for a zstd context.")
            }
            self.context = context
            // Our frames hold 64 MiB at most, so no honest one looks back further; a hostile one must not take memory.
            _ = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 26)
        }

        deinit { ZSTD_freeDCtx(context) }

        func decompress(
            _ bytes: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
        ) throws(FerryError) -> Int {
            // Asked again without input, it would begin a frame that never comes.
            if isAtFrameEnd, bytes.isEmpty { return 0 }
            var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
            var buffer = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
            // Once even without input, inside of a frame: decoded bytes may still be waiting inside.
            repeat {
                let left = ZSTD_decompressStream(context, &buffer, &input)
                guard ZSTD_isError(left) == 0 else {
                    throw FerryError(
                        .snapshotDamaged,
                        "The archive does not decode: \(String(cString: ZSTD_getErrorName(left))).",
                        remedy: "Use another snapshot.")
                }
                isAtFrameEnd = left == 0
            } while input.pos < input.size && buffer.pos < buffer.size
            bytes = UnsafeRawBufferPointer(rebasing: bytes[input.pos...])
            return buffer.pos
        }
    }
#endif
