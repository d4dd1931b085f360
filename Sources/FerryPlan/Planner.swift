package import FerryMapping
package import FerryModel

/// Finds the chain of steps from a store's version to a target and plans each step.
///
/// Does no I/O: row counts come in as values.
package struct Planner: Sendable {
    /// Every known version, in version order.
    package var versions: [ModelVersion]
    package var mappingModels: [MappingModel]
    /// Policy class names that are registered in code; the module prefix is optional.
    package var policyClassNames: Set<String>

    package init(versions: [ModelVersion], mappingModels: [MappingModel], policyClassNames: Set<String> = []) {
        self.versions = versions
        self.mappingModels = mappingModels
        self.policyClassNames = policyClassNames
    }

    /// Plans the way from one version to another.
    ///
    /// - Parameters:
    ///   - rows: Source entity name (exactly that entity, without subentities) to its rows in the store.
    ///   - areRowsEstimated: Whether `rows` are estimates.
    /// - Returns: The plan; what keeps it from running stands in its refusals.
    package func plan(
        from source: ModelVersion, to target: ModelVersion, rows: [String: Int64], areRowsEstimated: Bool
    ) -> MigrationPlan {
        preconditionFailure("not here yet")
    }
}
