package import FerryBase
internal import FerryModel

/// Objects that a relationship, or `forEach`, takes from something else than a path: `SUBQUERY`, `FETCH`, sets and places.
extension ExpressionTranslation {
    /// The objects of an expression, each once.
    package struct Objects {
        package var entity: String
        /// Whether there may be several.
        package var isCollection: Bool
        /// What they come to: the SELECT of their keys, or the key of the only one.
        package var keys: Computation
    }

    /// - Throws: ``FerryError`` `.badExpression` where the expression yields no objects.
    package func objects(_ expression: Expression) throws(FerryError) -> Objects {
        if let members = try members(of: expression) {
            guard case .object(let entity) = members.typed.type else { throw noObjects(expression) }
            var collection = members.collection
            collection.value = members.typed.computation
            return Objects(entity: entity, isCollection: true, keys: .collection(collection))
        }
        let typed = try value(expression)
        guard case .object(let entity) = typed.type else { throw noObjects(expression) }
        return Objects(entity: entity, isCollection: false, keys: typed.computation)
    }

    private func noObjects(_ expression: Expression) -> FerryError {
        FerryError(
            .badExpression, "`\(expression)` yields a value where objects of the source are needed.",
            remedy: "Name a relationship, or `$source` itself.")
    }
}

extension Expression {
    /// Whether it is an object at hand, or a path of keys from one.
    package var isPath: Bool {
        switch self {
        case .evaluatedObject, .variable: true
        case .keyPath(let base, _): base.isObject
        default: false
        }
    }
}
