/// Decides how many source rows the next chunk takes.
///
/// A fixed size is exact. The automatic one is a servo: it aims the 90th percentile of the last ten chunks at what a
/// chunk may cost in bytes and in time, and grows by half at most, so that one cheap chunk does not make the next one
/// huge.
package struct ChunkSizer {
    /// What a chunk may cost: long enough that a commit is a small part of it, short enough to lose little by a kill.
    package struct Target {
        /// Written to the new store and to scratch.
        package var bytes: Int
        package var nanoseconds: UInt64
        /// Staged in temporary tables.
        package var stagedBytes: Int

        package init(bytes: Int, nanoseconds: UInt64, stagedBytes: Int) {
            self.bytes = bytes
            self.nanoseconds = nanoseconds
            self.stagedBytes = stagedBytes
        }
    }

    /// What a finished chunk has cost.
    package struct Cost {
        package var rows: Int64
        package var bytes: Int64
        package var stagedBytes: Int64
        package var nanoseconds: UInt64

        package init(rows: Int64, bytes: Int64 = 0, stagedBytes: Int64 = 0, nanoseconds: UInt64 = 0) {
            self.rows = rows
            self.bytes = bytes
            self.stagedBytes = stagedBytes
            self.nanoseconds = nanoseconds
        }
    }

    /// 10,000 rows of ordinary width take a few hundredths of a second, and a commit is small beside it.
    static let usualRows = 10_000
    static let bounds = 10...100_000
    private static let window = 10

    private let target: Target
    private let fixed: Int?
    private var size: Int
    /// What each of the last chunks cost for one row, as a share of what a chunk may cost.
    private var recent: [Double] = []

    /// - Parameters:
    ///   - chunkSize: What was asked for.
    ///   - target: What an automatic chunk may cost.
    ///   - rowBytes: What a row holds, as far as that is known beforehand.
    package init(_ chunkSize: EngineOptions.ChunkSize, target: Target, rowBytes: Int = 0) {
        self.target = target
        switch chunkSize {
        case .rows(let rows):
            fixed = rows
            size = rows
        case .automatic:
            fixed = nil
            size = Self.bounded(Double(min(Self.usualRows, target.bytes / max(1, rowBytes))))
        }
    }

    /// The size of the next chunk.
    package var rows: Int { fixed ?? size }

    /// Takes note of a finished chunk.
    package mutating func chunkTook(_ cost: Cost) {
        guard fixed == nil, cost.rows > 0 else { return }
        recent.append(share(of: cost) / Double(cost.rows))
        if recent.count > Self.window { recent.removeFirst() }
        let dear = recent.sorted()[(recent.count * 9 - 1) / 10]
        let affordable = dear > 0 ? 1 / dear : .infinity
        size = Self.bounded(min(Double(size) * 1.5, affordable))
    }

    /// The largest of the shares: none of the limits is to be passed.
    private func share(of cost: Cost) -> Double {
        max(
            Double(cost.bytes) / Double(max(1, target.bytes)),
            Double(cost.stagedBytes) / Double(max(1, target.stagedBytes)),
            Double(cost.nanoseconds) / Double(max(1, target.nanoseconds)))
    }

    private static func bounded(_ rows: Double) -> Int {
        Int(min(max(rows, Double(bounds.lowerBound)), Double(bounds.upperBound)))
    }
}
