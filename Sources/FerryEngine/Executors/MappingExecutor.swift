/// What carries the rows of one entity mapping, a range of source keys at a time.
protocol MappingExecutor {
    /// Whether a chunk writes to the scratch database.
    var writesScratch: Bool { get }

    /// Carries the rows of one range, inside the caller's transaction.
    func carry(_ range: KeyRange) throws -> ChunkOutcome

    /// The same executor where it can carry a number of rows and tell where they end; nil where it is given its ranges.
    var counting: (any CountingExecutor)? { get }
}

protocol CountingExecutor: MappingExecutor {
    /// Carries the rows after a key, as many as are asked for or as there are; the range is nil when there is none.
    func carry(after low: Int64, upTo rows: Int) throws -> (ChunkOutcome, KeyRange?)
}

extension MappingExecutor {
    var counting: (any CountingExecutor)? { nil }
}

/// What a chunk did.
struct ChunkOutcome {
    var read: Int64 = 0
    var written: Int64 = 0
    var merged: Int64 = 0
    /// Inserted by a policy beyond one for each object that was read.
    var created: Int64 = 0
    var dropped: Int64 { read + created - written - merged }
}
