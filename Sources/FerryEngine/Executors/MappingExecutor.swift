/// Writes the rows of one entity mapping, a range of source keys at a time.
protocol MappingExecutor {
    /// Writes the rows of one range, inside the caller's transaction.
    func carry(_ range: KeyRange) throws -> ChunkOutcome
}

/// The row counts of one range; each is counted by itself, so that a lost row shows.
struct ChunkOutcome {
    var read: Int64 = 0
    var written: Int64 = 0
    var dropped: Int64 = 0
    var merged: Int64 = 0
    /// Objects that a policy inserted beyond one for each source object.
    var created: Int64 = 0

    var balances: Bool { read + created == written + dropped + merged }
}
