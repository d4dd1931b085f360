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
            let text = (0..<(512 << 10)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            var encoded = [UInt8](repeating: 0, count: ZSTD_compressBound(text.count))
            var decoded = [UInt8](repeating: 0, count: text.count + 1)
            let count = ZSTD_compress2(context, &encoded, encoded.count, text, text.count)
            encoded.withUnsafeMutableBytes { room in
                decoded.withUnsafeMutableBytes { target in
                    var frame = ZSTD_inBuffer(src: room.baseAddress, size: count, pos: 0)
                    var whole = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
                    #expect(ZSTD_decompressStream(decoder, &whole, &frame) == 0)
                }
            }
            #expect(decoded.dropLast() == text[...])
            let buffers = SnapshotMemory.bytes(level: 1) - 680 << 10
            let held = ZSTD_sizeof_CCtx(context) + ZSTD_sizeof_DCtx(decoder)
            #expect(held < SnapshotMemory.bytes(level: level) - buffers)
            #expect(Double(held) > 0.9 * Double(SnapshotMemory.bytes(level: level) - buffers))
        }
    #endif

    @Test("A level that does not fit is refused with the highest one that fits")
    func refusesLevels() throws {
        let error = #expect(throws: FerryError.self) {
            try SnapshotMemory.check(level: 9, form: .zstandard, within: MemoryBudget(limit: 24 << 20))
        }
        #expect(error?.code == .usage)
        #expect(
            error?.remedy == "Use \(setting: .snapshotLevel, .number(6)), or \(setting: .memoryLimit, .mebibytes(27))."
        )
        try SnapshotMemory.check(level: 9, form: .zstandard, within: MemoryBudget(limit: 27 << 20))
        try SnapshotMemory.check(level: 1, form: .zstandard, within: MemoryBudget(limit: MemoryBudget.least))
        try SnapshotMemory.check(level: 19, form: .zstandard, within: MemoryBudget())
    }

    @Test("Only as many threads compress as the memory suffices for", arguments: [24, 32, 48, 256], [1, 6, 19])
    func countsThreads(limit: Int, level: Int) throws {
        func workers(_ processors: Int, held: Int = 0) throws -> Int {
            try SnapshotMemory.workers(
                level: level, form: .zstandard, within: MemoryBudget(limit: limit << 20, held: held),
                processors: processors)
        }
        let budget = MemoryBudget(limit: limit << 20).snapshot
        let most = try workers(64)
        #expect(most == 1 || SnapshotMemory.bytes(level: level, form: .zstandard, workers: most) <= budget)
        #expect(most == 8 || SnapshotMemory.bytes(level: level, form: .zstandard, workers: most + 1) > budget)
        #expect(try workers(1) == 1 && workers(2) == min(2, most))
        // Large models leave less.
        #expect(try workers(64, held: 30 << 20) <= most)
    }
}
