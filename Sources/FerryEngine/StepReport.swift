package import FerryMapping

/// What a finished (or resumed and finished) step did.
package struct StepReport: Sendable {
    package var counts: [EntityMappingCounts]
    package var unmapped: [(entity: String, rows: Int64)]
    package var healed: [(kind: String, entity: String, rows: Int64)]
    /// Tables and columns of earlier versions that are not there any more, as `TABLE` or `TABLE.COLUMN`.
    package var leftBehind: [String] = []
    /// Chunks of all calls together.
    package var chunks: Int
    /// How long this call's chunks took.
    package var chunkTimes: ChunkTimes
    package var resumed: Bool
    /// What verification must know of migration policies.
    package var policies = PolicyEvidence()

    package init(counts: [EntityMappingCounts] = []) {
        self.counts = counts
        unmapped = []
        healed = []
        chunks = 0
        chunkTimes = ChunkTimes()
        resumed = false
    }
}

/// Times of chunks, counted in buckets of an eighth of their size: as many buckets however many chunks there are.
package struct ChunkTimes: Sendable {
    private var buckets = [Int](repeating: 0, count: 64 * 8)
    package private(set) var count = 0
    package private(set) var longest: UInt64 = 0

    package init() {}

    mutating func add(_ nanoseconds: UInt64) {
        buckets[Self.bucket(of: nanoseconds)] += 1
        count += 1
        longest = max(longest, nanoseconds)
    }

    /// Adds another step's times.
    package mutating func add(_ other: ChunkTimes) {
        for index in buckets.indices { buckets[index] += other.buckets[index] }
        count += other.count
        longest = max(longest, other.longest)
    }

    /// The time that a share of the chunks stayed below, within an eighth; nil without chunks.
    package func percentile(_ share: Double) -> UInt64? {
        guard count > 0 else { return nil }
        var left = max(1, Int((Double(count) * share).rounded(.up)))
        for (index, number) in buckets.enumerated() where number > 0 {
            left -= number
            if left <= 0 { return min(Self.upperBound(of: index), longest) }
        }
        return nil
    }

    private static func bucket(of nanoseconds: UInt64) -> Int {
        guard nanoseconds >= 8 else { return Int(nanoseconds) }
        let exponent = 63 - nanoseconds.leadingZeroBitCount
        return exponent * 8 + Int((nanoseconds >> UInt64(exponent - 3)) & 7)
    }

    private static func upperBound(of bucket: Int) -> UInt64 {
        guard bucket >= 24 else { return UInt64(bucket) }
        let exponent = bucket / 8
        return (UInt64(8 + bucket % 8 + 1) << UInt64(exponent - 3)) - 1
    }
}
