/// The number of rows in a chunk.
public enum ChunkSize: Sendable, Hashable {
    /// Exactly this many rows in each chunk.
    case rows(Int)
    /// As many rows as the machine carries within the chunk's time.
    case automatic
}

/// The treatment of rows that no rule heals: of an unknown entity, or without a mandatory value.
public enum DamagedRows: String, Sendable, Hashable, Codable, CaseIterable {
    /// Keeps the rows as they are if the migrated store can hold them; otherwise refuses the run.
    case keep
    /// Leaves the rows out, with the links to them, and counts them.
    case drop
    /// Refuses the run, with the rows' counts.
    case refuse
}

/// The checks of a migrated store: all, only those that compare no rows, or none.
public enum VerifyMode: String, Sendable, Hashable, Codable { case full, quick, none }

/// The steps that are copies though they could run in place; the rows of the migrated store are the same with each.
public enum ExecutorChoice: String, Sendable, Hashable, CaseIterable {
    /// No step: in place where every object keeps its row.
    case automatic = "auto"
    /// Every step.
    case row
    /// The steps of mapping models; a mapping with a policy, which SQL cannot run, is refused.
    case set
}

/// The executor of an entity mapping's rows; a later version may add more.
public struct RowExecutor: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// SQL statements.
    public static let set = Self(rawValue: "set")
    /// Swift, row by row, for a migration policy.
    public static let row = Self(rawValue: "row")
}

/// The versions that a migration passes through.
public enum ChainChoice: Sendable {
    /// Along mapping models; by inference to the next version in version order if no mapping model leads on.
    case automatic
    /// Through these versions, by name and in this order, beginning with the store's version.
    ///
    /// Without a target of its own the migration leads to the last of these versions.
    case versions([String])
    /// Through the versions that the closure returns for each version of the chain; nil leaves the rest to Ferry.
    ///
    /// Ferry calls the closure when it makes a plan: in a call that plans, and again in each call that runs or resumes.
    /// The closure must return the same names each time.
    case next(@Sendable (VersionQuestion) throws -> String?)
}

/// A version of a chain for which ``ChainChoice/next(_:)`` chooses the next one.
public struct VersionQuestion: Sendable, Hashable {
    /// The version that the chain has reached.
    public var version: String
    /// The version that the migration leads to.
    public var target: String
    /// Versions to which a mapping model leads, and the next one in version order; other versions may be returned too.
    public var candidates: [String]

    package init(version: String, target: String, candidates: [String]) {
        (self.version, self.target, self.candidates) = (version, target, candidates)
    }
}
