import FerryBase
import FerryEngine
import Testing

@Suite("Sizes of chunks")
struct ChunkSizerTests {
    private static func sizer(_ chunkSize: ChunkSize, rowBytes: Int = 0) -> ChunkSizer {
        ChunkSizer(chunkSize, bytes: 4_000_000, nanoseconds: 500_000_000, rowBytes: rowBytes)
    }

    /// Runs chunks of the sizer's sizes, each row with the same cost.
    private func settle(
        _ sizer: inout ChunkSizer, chunks: Int = 100, bytes: Int64 = 0, nanoseconds: UInt64 = 0
    ) {
        for _ in 0..<chunks {
            let rows = Int64(sizer.rows)
            sizer.chunkTook(rows: rows, bytes: rows * bytes, nanoseconds: UInt64(rows) * nanoseconds)
        }
    }

    @Test("A fixed size does not change with the cost of the chunks")
    func fixed() {
        var sizer = Self.sizer(.rows(123))
        settle(&sizer, bytes: 1 << 30, nanoseconds: 1_000_000_000)
        #expect(sizer.rows == 123)
    }

    @Test("Each limit is kept", arguments: [(1_000, 0), (0, 125_000)])
    func limits(bytes: Int, nanoseconds: Int) {
        var sizer = Self.sizer(.automatic)
        settle(&sizer, bytes: Int64(bytes), nanoseconds: UInt64(nanoseconds))
        #expect(sizer.rows == 4_000)
    }

    @Test("The limit that allows the fewest rows decides")
    func together() {
        var sizer = Self.sizer(.automatic)
        settle(&sizer, bytes: 100, nanoseconds: 500_000)
        #expect(sizer.rows == 1_000)
    }

    @Test("A chunk grows by half at most, and to 100,000 rows")
    func growth() {
        var sizer = Self.sizer(.automatic)
        #expect(sizer.rows == 10_000)
        settle(&sizer, chunks: 1, bytes: 1)
        #expect(sizer.rows == 15_000)
        settle(&sizer, bytes: 1)
        #expect(sizer.rows == 100_000)
    }

    @Test("A chunk shrinks at once, to 10 rows at least")
    func shrinking() {
        var sizer = Self.sizer(.automatic)
        settle(&sizer, chunks: 1, bytes: 40_000)
        #expect(sizer.rows == 100)
        settle(&sizer, chunks: 1, bytes: 1 << 40)
        #expect(sizer.rows == 10)
    }

    @Test("One expensive chunk in ten does not shrink the size, two do")
    func percentile() {
        var sizer = Self.sizer(.automatic)
        settle(&sizer, chunks: 20, bytes: 100)
        #expect(sizer.rows == 40_000)
        settle(&sizer, chunks: 1, bytes: 4_000)
        #expect(sizer.rows == 40_000)
        settle(&sizer, chunks: 1, bytes: 4_000)
        #expect(sizer.rows == 1_000)
        settle(&sizer, chunks: 9, bytes: 100)
        #expect(sizer.rows > 1_000)
    }

    @Test("Wide rows begin with small chunks")
    func wideRows() {
        #expect(Self.sizer(.automatic, rowBytes: 40_000).rows == 100)
        #expect(Self.sizer(.automatic, rowBytes: 40_000_000).rows == 10)
        #expect(Self.sizer(.automatic, rowBytes: 10).rows == 10_000)
    }

    @Test("A chunk without rows does not change the size")
    func empty() {
        var sizer = Self.sizer(.automatic)
        sizer.chunkTook(rows: 0, bytes: 1 << 40, nanoseconds: 1 << 40)
        #expect(sizer.rows == 10_000)
    }
}
