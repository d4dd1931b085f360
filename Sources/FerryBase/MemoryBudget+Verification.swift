/// The division of the share of databases among the connections of a verification.
///
/// Each connection keeps the schemas of both stores, and each walker the layouts, statements and tables of names that
/// it has used. For hundreds of entities these take more than the caches, so they are counted against the same share.
extension MemoryBudget {
    /// The memory of the first connection and of what all walkers share, as a multiple of the bytes of the schemas.
    ///
    /// Measured with 500 entities, whose two schemas take 0.5 MiB: layouts, forms of relations, readings of indexes.
    private static let sharedBySchema = 11
    /// The memory of a walker beside its caches, as the same multiple.
    private static let walkerBySchema = 3
    /// The part of both that ``program`` has counted already.
    private static let countedShared = 2 << 20
    private static let countedWalker = 512 << 10
    /// Smaller caches of a walker hold little more than the path down its b-trees.
    private static let leastWalkerCaches = 2 << 20
    /// The least caches of the only walker, if the schemas have taken the share.
    private static let leastCaches = 1 << 20

    /// The caches of all connections of a verification of stores whose schemas take so many bytes in a connection.
    package func verificationCaches(schema: Int) -> Int {
        let held = max(0, Self.sharedBySchema * schema - Self.countedShared)
        return max(workingCaches - held, min(workingCaches, Self.leastWalkerCaches))
    }

    /// The number of walkers for which the memory suffices, from one up to `most`, beside `own` bytes of other caches.
    package func walkers(atMost most: Int, beside own: Int, schema: Int) -> Int {
        let each = Self.leastWalkerCaches + Self.heldByWalker(schema)
        return max(1, min(most, (verificationCaches(schema: schema) - own) / each))
    }

    /// The caches of each of these walkers.
    package func walkerCaches(of count: Int, beside own: Int, schema: Int) -> Int {
        let each = (verificationCaches(schema: schema) - own) / max(1, count)
        return max(each - Self.heldByWalker(schema), min(each, Self.leastCaches))
    }

    private static func heldByWalker(_ schema: Int) -> Int { max(0, walkerBySchema * schema - countedWalker) }
}
