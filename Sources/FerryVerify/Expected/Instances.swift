internal import FerryMapping

/// What an entity mapping makes of one source object: one instance, or one for each element of its iteration.
struct Instances {
    let mapping: ResolvedEntityMapping
    let evaluator: PlainEvaluator

    /// Calls the body with each instance, in order.
    ///
    /// The body gets the scope of its expressions, the index of the element (0 without iteration), and whether the
    /// mapping's filter lets it through.
    func each(of object: PlainObject, _ body: (PlainScope, Int64, Bool) throws -> Void) throws {
        let scope = PlainScope(source: object)
        guard let iteration = mapping.iteration else { return try body(scope, 0, try passes(scope)) }
        do {
            try evaluator.eachElement(of: iteration.elements, in: scope) { element, index in
                let scope = PlainScope(source: object, variable: iteration.variable, element: element)
                try body(scope, index, try passes(scope))
            }
        } catch is PlainJSON.Invalid where iteration.skipsInvalid {
            try body(scope, 0, false)
        }
    }

    private func passes(_ scope: PlainScope) throws -> Bool {
        guard let filter = mapping.filter else { return true }
        return try evaluator.holds(filter, in: scope)
    }
}
