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

    /// The expression with the place in the mapping as what its random numbers are drawn by.
    ///
    /// - Parameter place: What tells this expression from all others of the step.
    /// - Returns: The expression; each call that draws has the place, and its number in the expression.
    package func drawing(at place: String) -> Expression {
        var count = 0
        return drawing(at: place, &count)
    }

    fileprivate func drawing(at place: String, _ count: inout Int) -> Expression {
        var number = count
        func seed(_ part: Expression) -> Expression? {
            guard case .predefined(let selector, let operands) = part, selector.hasPrefix("random"),
                operands.count == (selector == "random" ? 0 : 1)
            else { return nil }
            number += 1
            let own = Expression.constant(.string("\(place)#\(number)"))
            return .predefined(selector, operands.map { $0.replacing(seed) } + [own])
        }
        defer { count = number }
        return replacing(seed)
    }
}

extension Predicate {
    /// The predicate with the place in the mapping as what its random numbers are drawn by.
    package func drawing(at place: String) -> Predicate {
        var count = 0
        return replacing { part in
            let drawn = part.drawing(at: place, &count)
            return drawn == part ? nil : drawn
        }
    }

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
