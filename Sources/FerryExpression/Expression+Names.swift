extension Expression {
    /// The expression with other ones in the places of some of its parts.
    ///
    /// - Parameter replace: Gives what stands for a part, or nil to look into it.
    /// - Returns: The same form where nothing is replaced.
    package func replacing(_ replace: (Expression) -> Expression?) -> Expression {
        if let other = replace(self) { return other }
        switch self {
        case .constant, .evaluatedObject, .variable, .fetch: return self
        case .keyPath(let base, let steps): return .keyPath(base.replacing(replace), steps)
        case .function(let receiver, let selector, let arguments):
            return .function(
                receiver: receiver.replacing(replace), selector: selector,
                arguments: arguments.map { $0.replacing(replace) })
        case .predefined(let selector, let operands):
            return .predefined(selector, operands.map { $0.replacing(replace) })
        case .json(let text, let key): return .json(text.replacing(replace), key: key)
        case .ternary(let condition, let value, let other):
            return .ternary(condition.replacing(replace), value.replacing(replace), other.replacing(replace))
        case .list(let elements): return .list(elements.map { $0.replacing(replace) })
        case .subquery(let collection, let variable, let condition):
            return .subquery(collection.replacing(replace), variable: variable, condition.replacing(replace))
        case .element(let list, let index): return .element(list.replacing(replace), index)
        }
    }

    /// The expression with the values of what Core Data binds beside `$source`, where they are known beforehand.
    ///
    /// - Parameter values: By variable, then by keys: `$entityMapping.name`, `$propertyMapping.name`, …
    /// - Returns: The expression with constants in the places of these paths.
    package func binding(_ values: [String: [String: Constant]]) -> Expression {
        replacing { part in
            guard case .keyPath(.variable(let name), let steps) = part else { return nil }
            let keys = steps.map { if case .key(let key) = $0 { key } else { "" } }
            return values[name]?[keys.joined(separator: ".")].map { .constant($0) }
        }
    }
}

extension Predicate {
    /// The same for what a predicate compares.
    package func replacing(_ replace: (Expression) -> Expression?) -> Predicate {
        switch self {
        case .constant: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.replacing(replace)
            comparison.right = comparison.right.replacing(replace)
            return .comparison(comparison)
        case .and(let parts): return .and(parts.map { $0.replacing(replace) })
        case .or(let parts): return .or(parts.map { $0.replacing(replace) })
        case .not(let part): return .not(part.replacing(replace))
        case .quantified(let quantifier, let collection, let condition):
            return .quantified(quantifier, collection.replacing(replace), condition.replacing(replace))
        }
    }
}
