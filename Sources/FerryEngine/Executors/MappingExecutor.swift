/// What carries the rows of one entity mapping, a range of source keys at a time.
protocol MappingExecutor {
    /// Whether a chunk writes to the scratch database.
    var writesScratch: Bool { get }

    /// Carries the rows of one range, inside the caller's transaction.
    func carry(_ range: KeyRanges.Range) throws -> ChunkOutcome
}

/// What a chunk did.
struct ChunkOutcome {
    var read: Int64 = 0
    var written: Int64 = 0
    var merged: Int64 = 0
    /// Inserted by a policy beyond one for each object that was read.
    var created: Int64 = 0
    /// What stood in temporary tables.
    var stagedBytes: Int64 = 0
    var dropped: Int64 { read + created - written - merged }
}
