extension Expression {
    /// The expression with the values of what Core Data binds beside `$source`, where they are known beforehand.
    ///
    /// - Parameter values: By variable, then by key: `$entityMapping.name`, `$propertyMapping.name`, …
    /// - Returns: The expression with constants in the places of these paths.
    package func binding(_ values: [String: [String: Constant]]) -> Expression {
        switch self {
        case .constant, .evaluatedObject, .variable, .fetch: return self
        case .keyPath(.variable(let name), let steps):
            let keys = steps.map { if case .key(let key) = $0 { key } else { "" } }
            return values[name]?[keys.joined(separator: ".")].map { .constant($0) } ?? self
        case .keyPath(let base, let steps): return .keyPath(base.binding(values), steps)
        case .function(let receiver, let selector, let arguments):
            return .function(
                receiver: receiver.binding(values), selector: selector, arguments: arguments.map { $0.binding(values) })
        case .predefined(let selector, let operands): return .predefined(selector, operands.map { $0.binding(values) })
        case .json(let text, let key): return .json(text.binding(values), key: key)
        case .ternary(let condition, let value, let other):
            return .ternary(condition.binding(values), value.binding(values), other.binding(values))
        case .list(let elements): return .list(elements.map { $0.binding(values) })
        case .subquery(let collection, let variable, let condition):
            return .subquery(collection.binding(values), variable: variable, condition.binding(values))
        case .element(let list, let index): return .element(list.binding(values), index)
        }
    }
}

extension Predicate {
    /// The same for what a predicate compares.
    package func binding(_ values: [String: [String: Expression.Constant]]) -> Predicate {
        switch self {
        case .constant: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.binding(values)
            comparison.right = comparison.right.binding(values)
            return .comparison(comparison)
        case .and(let parts): return .and(parts.map { $0.binding(values) })
        case .or(let parts): return .or(parts.map { $0.binding(values) })
        case .not(let part): return .not(part.binding(values))
        case .quantified(let quantifier, let collection, let condition):
            return .quantified(quantifier, collection.binding(values), condition.binding(values))
        }
    }
}
