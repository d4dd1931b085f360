internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// What carries the rows of each entity mapping, and why.
package enum ExecutorChoice: String, Sendable, Hashable, CaseIterable {
    /// Statements of SQL, and Swift where only code knows what to do.
    case auto
    /// Swift for all.
    case row
    /// Statements of SQL for all; refused where one cannot.
    case set

    /// The executor of an entity mapping.
    ///
    /// - Throws: ``FerryError`` `.unsupported` when statements of SQL are asked for and cannot do it, or the mapping reads
    ///   more than a statement can.
    func executor(
        for mapping: ResolvedEntityMapping, in step: ResolvedStep
    ) throws(FerryError) -> (executor: EntityMappingPlan.Executor, reason: String) {
        if let policy = mapping.policy {
            guard self != .set else {
                throw FerryError(
                    .unsupported,
                    "Entity mapping \(mapping.name) has the migration policy \(policy), which statements of SQL cannot run.",
                    remedy: "Leave the executor to Ferry, or give the mapping a stand-in without code.",
                    place: .init(entityMapping: mapping.name))
            }
            return (.row, "the migration policy \(policy) is code")
        }
        try ExpressionDepth(of: mapping, in: step).check()
        if self == .row { return (.row, "the row executor was asked for") }
        return (.set, "SQL computes every value")
    }
}
