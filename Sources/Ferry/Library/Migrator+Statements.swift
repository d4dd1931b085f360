extension Migrator {
    /// The statements that ``migrate(_:stop:onEvent:)`` would run, step by step; nothing is changed.
    ///
    /// They are those of the run itself: each step is taken on a store with this one's schema and without rows, in a
    /// temporary folder. No migration policy is called.
    ///
    /// - Parameter configuration: How the migration would run.
    /// - Returns: One list for each step; none where the store is of the target's version.
    /// - Throws: ``FerryError`` as ``plan(_:checksRows:)`` does, and the first refusal of a plan that cannot run.
    public func statements(_ configuration: Configuration = Configuration()) throws -> [PlannedStatements] {
        try looking(configuration) { try $0.statements($1) }
    }
}
