internal import FerryBase

/// Decides how many source rows the next chunk takes.
///
/// A fixed size is exact. The automatic one is a servo on the time of the chunks: it aims the 90th percentile of the
/// last ten at a target, and grows by half at most, so that one fast chunk does not make the next one huge.
struct ChunkSizer {
    /// What a chunk may cost: long enough that a commit is a small part of it, short enough to lose little by a kill.
    private static let targetNanoseconds: UInt64 = 500_000_000
    private static let window = 10
    private static let bounds = 10...100_000

    private let fixed: Int?
    private var size: Int
    private var recent: [UInt64] = []

    init(_ chunkSize: EngineOptions.ChunkSize) {
        switch chunkSize {
        case .rows(let rows):
            fixed = rows
            size = rows
        case .automatic:
            fixed = nil
            // 10,000 rows of ordinary width take a few hundredths of a second, and a commit is small beside it.
            size = 10_000
        }
    }

    var rows: Int { fixed ?? size }

    /// Takes note of a finished chunk of ``rows`` rows.
    mutating func chunkTook(_ nanoseconds: UInt64) {
        guard fixed == nil else { return }
        recent.append(nanoseconds)
        if recent.count > Self.window { recent.removeFirst() }
        let slow = max(1, recent.sorted()[(recent.count * 9 - 1) / 10])
        let factor = min(1.5, Double(Self.targetNanoseconds) / Double(slow))
        size = min(max(Int(Double(size) * factor), Self.bounds.lowerBound), Self.bounds.upperBound)
        // What was measured at another size says nothing about the new one.
        if factor < 0.8 || factor > 1.2 { recent.removeAll(keepingCapacity: true) }
    }
}
