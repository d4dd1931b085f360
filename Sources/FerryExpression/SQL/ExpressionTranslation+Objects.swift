package import FerryBase
internal import FerryModel

/// Objects of a relationship, or of `forEach`: at the end of a path, of `SUBQUERY`, `FETCH`, sets and elements.
extension ExpressionTranslation {
    package struct Objects {
        package var entity: String
        /// Whether several objects are possible.
        package var isCollection: Bool
        /// The SELECT of the objects' keys, or the key of the only object.
        package var keys: Computation
    }

    /// - Throws: ``FerryError`` `.badExpression` if the expression yields no objects.
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

    /// Returns the path to the objects of a relationship.
    ///
    /// - Returns: The resolved path; for an expression that is not a path, a placeholder without relationships.
    /// - Throws: As ``value(_:for:)``.
    package func path(toObjects expression: Expression) throws(FerryError) -> ResolvedPath {
        try about(.expression(expression)) { () throws(FerryError) in
            guard expression.isPath else {
                return ResolvedPath(start: .member(0), end: .object(entity: try objects(expression).entity))
            }
            let path = if case .keyPath = expression { try path(expression) } else { try scope.resolve(expression) }
            guard let path, case .object = path.end else { throw noObjects(expression) }
            return path
        }
    }

    /// Returns the element type of a `forEach`.
    ///
    /// - Throws: As ``value(_:for:)``.
    package func element(ofEach expression: Expression) throws(FerryError) -> ExpressionScope.Element {
        try about(.expression(expression)) { () throws(FerryError) in
            if case .json(let text, _) = expression {
                _ = try jsonText(text, expression, mayBeJSON: false)
                return .json
            }
            if expression.isPath {
                let path = try path(toObjects: expression)
                if path.isToMany, case .object(let entity) = path.end { return .object(entity: entity) }
            } else {
                let objects = try objects(expression)
                if objects.isCollection { return .object(entity: objects.entity) }
            }
            throw expression.error(
                "yields at most one object, but `forEach` needs several.",
                remedy: "Name a to-many relationship, or leave `forEach` out.")
        }
    }

    private func noObjects(_ expression: Expression) -> FerryError {
        expression.error(
            "yields a value, but source objects are needed.", remedy: "Name a relationship, or `$source` itself.")
    }
}

extension Expression {
    /// Whether the expression is an object, or a path of keys from one.
    package var isPath: Bool {
        switch self {
        case .evaluatedObject, .variable: true
        case .keyPath(let base, _): base.isObject
        default: false
        }
    }
}
