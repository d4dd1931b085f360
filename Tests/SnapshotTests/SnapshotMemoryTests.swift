import FerryBase
import FerrySnapshot
import Testing

#if Zstandard
    import CZstd
#endif

@Suite("The memory of a snapshot")
struct SnapshotMemoryTests {
    #if Zstandard
        @Test("No level needs more memory than its stated value", arguments: 1...19)
        func knowsLevels(_ level: Int) throws {
            let context = try #require(ZSTD_createCCtx())
            defer { ZSTD_freeCCtx(context) }
            let decoder = try #require(ZSTD_createDCtx())
            defer { ZSTD_freeDCtx(decoder) }
            ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(level))
            ZSTD_CCtx_setPledgedSrcSize(context, 64 << 20)
            let text = (0..<(256 << 10)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            var encoded = [UInt8](repeating: 0, count: ZSTD_compressBound(text.count))
            var decoded = [UInt8](repeating: 0, count: text.count)
            text.withUnsafeBytes { content in
                encoded.withUnsafeMutableBytes { room in
                    var input = ZSTD_inBuffer(src: content.baseAddress, size: content.count, pos: 0)
                    var output = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
                    #expect(ZSTD_compressStream2(context, &output, &input, ZSTD_e_flush) == 0)
                    decoded.withUnsafeMutableBytes { target in
                        var half = ZSTD_inBuffer(src: room.baseAddress, size: output.pos, pos: 0)
                        var whole = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
                        _ = ZSTD_decompressStream(decoder, &whole, &half)
                    }
                }
            }
            #expect(decoded == text)
            #expect(ZSTD_sizeof_CCtx(context) + ZSTD_sizeof_DCtx(decoder) < SnapshotMemory.bytes(level: level))
        }
    #endif

    @Test("A level that does not fit is refused with the highest one that fits")
    func refusesLevels() throws {
        let error = #expect(throws: FerryError.self) {
            try SnapshotMemory.check(level: 9, form: .zstandard, within: MemoryBudget(limit: 32 << 20))
        }
        #expect(error?.code == .usage)
        #expect(
            error?.remedy == "Use \(setting: .snapshotLevel, .number(8)), or \(setting: .memoryLimit, .mebibytes(41))."
        )
        try SnapshotMemory.check(level: 9, form: .zstandard, within: MemoryBudget(limit: 41 << 20))
        try SnapshotMemory.check(level: 1, form: .zstandard, within: MemoryBudget(limit: MemoryBudget.least))
    }
}
