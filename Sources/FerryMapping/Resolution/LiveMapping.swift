internal import FerryExpression

/// An entity mapping that makes objects, with what its resolution needs to know of its surroundings.
struct LiveMapping {
    /// Its name in the step.
    var name: String
    var mapping: EntityMapping
    /// The place of its mapping model.
    var model: Int
    var source: String
    var destination: String
    /// The registered name of its migration policy.
    var policy: String?
    /// What the names in its expressions mean.
    var scope: ExpressionScope
}
