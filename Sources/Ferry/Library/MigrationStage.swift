public import Foundation

/// A step of a migration, as ``Configuration/willMigrate`` and ``Configuration/didMigrate`` receive it.
public struct MigrationStage: Sendable, Hashable {
    /// The step, from 1, and the number of steps.
    public var number: Int
    public var count: Int
    /// The versions of the step's source and destination.
    public var from: String
    public var to: String
    /// The store in its present state: of version ``from`` before the step, of version ``to`` after it.
    ///
    /// Open it with SQLite or Core Data, and close it before the hook returns. External data is beside the app's store.
    public var store: URL

    /// A stage for a test of a hook; a migration makes its own.
    public init(number: Int, count: Int, from: String, to: String, store: URL) {
        (self.number, self.count) = (number, count)
        (self.from, self.to) = (from, to)
        self.store = store
    }
}

extension Configuration {
    /// Reads or changes a store before or after a step, on the migration's thread; an error from it ends the run.
    public typealias StageHook = @Sendable (MigrationStage) throws -> Void

    /// Whether the app has hooks, so that each step needs its own store.
    var hasStages: Bool { willMigrate != nil || didMigrate != nil }
}
