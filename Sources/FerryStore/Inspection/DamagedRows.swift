/// What becomes of rows that no rule heals: of an unknown entity, or without a value that they must have.
package enum DamagedRows: String, Sendable, Hashable, CaseIterable {
    /// They go along as they are, where the new version can hold them.
    case keep
    /// They are left out, with the links to them, and counted.
    case drop
    /// Nothing is done as long as there are any.
    case refuse
}
