#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A step of a migration as ``Configuration/willMigrate`` and ``Configuration/didMigrate`` see it.
public struct MigrationStage: Sendable, Hashable {
    /// The step, from 1, and how many there are.
    public var number: Int
    public var count: Int
    /// The version that the step begins with, and the one that it leads to.
    public var from: String
    public var to: String
    /// The store as it is now, of version ``from`` before the step and of version ``to`` after it.
    ///
    /// Open it with SQLite or Core Data, and close it before the hook returns. Values that Core Data keeps in files of
    /// their own are beside the app's store, and not beside this one.
    public var store: URL

    /// A stage as a test of a hook needs one; a migration makes its own.
    public init(number: Int, count: Int, from: String, to: String, store: URL) {
        (self.number, self.count) = (number, count)
        (self.from, self.to) = (from, to)
        self.store = store
    }
}

extension Configuration {
    /// Looks at a store before or after a step, on the migration's thread; what it throws ends the run.
    public typealias StageHook = @Sendable (MigrationStage) throws -> Void

    /// Whether steps are told apart for hooks.
    var hasStages: Bool { willMigrate != nil || didMigrate != nil }
}
