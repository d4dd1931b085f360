/// What carries the rows of one entity mapping, a range of source keys at a time.
protocol MappingExecutor {
    /// Whether a chunk writes to the scratch database.
    var writesScratch: Bool { get }

    /// Carries the rows of one range, inside the caller's transaction.
    func carry(_ range: KeyRanges.Range) throws -> ChunkOutcome

    /// Whether it finds out where a range ends while it carries it.
    var findsRanges: Bool { get }

    /// Carries the rows after a key, as many as are asked for or as there are; the range is nil when there is none.
    func carry(after low: Int64, rows: Int) throws -> (ChunkOutcome, KeyRanges.Range?)
}

extension MappingExecutor {
    var findsRanges: Bool { false }

    func carry(after low: Int64, rows: Int) throws -> (ChunkOutcome, KeyRanges.Range?) {
        preconditionFailure("it is given its ranges")
    }
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
