/// The row counts of one entity mapping: `read + created = written + dropped + merged`.
package struct EntityMappingCounts: Sendable, Hashable, Codable {
    package var name: String
    package var source: String?
    package var destination: String?
    /// Source objects times elements of the iteration.
    package var read: Int64 = 0
    /// Further inserts by a policy.
    package var created: Int64 = 0
    package var written: Int64 = 0
    /// By the filter, or by a policy that made nothing.
    package var dropped: Int64 = 0
    /// Found by `unique` instead of created.
    package var merged: Int64 = 0
    /// Whether the numbers are estimates; absent if rows were counted.
    package var isEstimated: Bool?

    package init(name: String, source: String?, destination: String?) {
        self.name = name
        self.source = source
        self.destination = destination
    }

    package var balances: Bool { read + created == written + dropped + merged }
}
