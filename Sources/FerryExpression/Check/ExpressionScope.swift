package import FerryModel

/// What the names in an expression mean: the model, the source entity, and what an iteration binds.
package struct ExpressionScope: Sendable {
    package enum Element: Sendable, Hashable {
        case object(entity: String)
        case json
    }

    package struct Iteration: Sendable, Hashable {
        /// The variable's name, without dollar sign.
        package var variable: String
        package var element: Element

        package init(variable: String, element: Element) {
            self.variable = variable
            self.element = element
        }
    }

    /// What a name stands for inside of a condition on the members of a collection.
    struct Member: Sendable, Hashable {
        /// Without dollar sign; nil where the member is what `SELF` and bare keys mean.
        var variable: String?
        var entity: String
        /// How many collections stand around the condition.
        var level: Int
    }

    /// From the outermost collection inwards.
    var members: [Member] = []

    package var model: ManagedObjectModel
    /// The entity of `$source` and `SELF`.
    package var entity: String
    package var iteration: Iteration?
    /// The functions that the mapping's migration policy offers to expressions; nil without a policy.
    package var policyFunctions: Set<String>?

    package init(
        model: ManagedObjectModel, entity: String, iteration: Iteration? = nil, policyFunctions: Set<String>? = nil
    ) {
        self.policyFunctions = policyFunctions
        self.model = model
        self.entity = entity
        self.iteration = iteration
    }
}
