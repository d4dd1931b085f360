package import FerryExpression

extension PlainEvaluator {
    package func holds(_ predicate: Predicate, in scope: PlainScope) throws -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .and(let parts): return try parts.allSatisfy { part in try holds(part, in: scope) }
        case .or(let parts): return try parts.contains { part in try holds(part, in: scope) }
        case .not(let part): return try !holds(part, in: scope)
        case .quantified(let quantifier, let collection, let condition):
            return try holds(quantifier, collection, condition, in: scope)
        case .comparison(let comparison) where comparison.comparator == .isIn:
            return try isMember(comparison, in: scope)
        case .comparison(let comparison)
        where [.equal, .notEqual].contains(comparison.comparator)
            && [comparison.left, comparison.right].contains(.constant(.null)):
            let other = comparison.right == .constant(.null) ? comparison.left : comparison.right
            return try isNil(other, in: scope) == (comparison.comparator == .equal)
        case .comparison(let comparison):
            let left = try value(of: comparison.left, in: scope).plain
            let right = try value(of: comparison.right, in: scope).plain
            return try PlainComparison(options: comparison.options, patterns: patterns)
                .holds(left, comparison.comparator, right)
        }
    }

    private func isNil(_ expression: Expression, in scope: PlainScope) throws -> Bool {
        do {
            return try value(of: expression, in: scope).plain.isNull
        } catch let failure as PlainFailure where failure == .valueInFile {
            return false
        }
    }
}

/// Comparisons with Core Data's rules for nil: nil equals nil, and no order or pattern holds with nil.
struct PlainComparison {
    /// The letters in brackets after the operator.
    var options: String
    var patterns: PlainPatterns

    func holds(
        _ left: PlainValue, _ comparator: Predicate.Comparison.Operator, _ right: PlainValue
    ) throws -> Bool {
        switch comparator {
        case .matches, .beginsWith, .endsWith, .contains, .like: return try fits(left, comparator, right)
        default: break
        }
        if options.contains("l"), case .text(let first) = left, case .text(let second) = right {
            return try holds(
                comparator, PlainPatterns.localizedOrder(of: first, second, options: options))
        }
        let (left, right) = (folded(left), folded(right))
        switch comparator {
        case .equal: return isEqual(left, right)
        case .notEqual: return !isEqual(left, right)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard !left.isNull, !right.isNull, let order = try order(left, right) else { return false }
            return try holds(comparator, order)
        default: throw PlainFailure("\(comparator.rawValue) is not supported here")
        }
    }

    private func holds(_ comparator: Predicate.Comparison.Operator, _ order: Int) throws -> Bool {
        switch comparator {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return order < 0
        case .lessOrEqual: return order <= 0
        case .greater: return order > 0
        case .greaterOrEqual: return order >= 0
        default: throw PlainFailure("\(comparator.rawValue) is not supported here")
        }
    }

    /// MATCHES, or a text search, as an equivalent regular expression.
    private func fits(
        _ left: PlainValue, _ comparator: Predicate.Comparison.Operator, _ right: PlainValue
    ) throws -> Bool {
        guard !left.isNull, !right.isNull else { return false }
        guard case .text(let bytes) = left, case .text(let wanted) = right else {
            throw PlainFailure("\(comparator.rawValue) needs text")
        }
        if comparator == .matches { return try patterns.matches(bytes, wanted, options: options) }
        if wanted.isEmpty, comparator != .like { return false }
        let literal = PlainPatterns.escaped(wanted)
        let pattern: String
        switch comparator {
        case .beginsWith: pattern = literal + ".*"
        case .endsWith: pattern = ".*" + literal
        case .contains: pattern = ".*" + literal + ".*"
        default: pattern = PlainPatterns.wildcards(wanted)
        }
        return try patterns.matches(bytes, Array("(?s)\(pattern)".utf8), options: options)
    }

    private func isEqual(_ left: PlainValue, _ right: PlainValue) -> Bool {
        if left.isNull || right.isNull { return left.isNull && right.isNull }
        if let left = PlainNumber(left), let right = PlainNumber(right) { return left.order(to: right) == 0 }
        return left == right
    }

    /// Negative, zero or positive; nil if one of the two is NaN.
    func order(_ left: PlainValue, _ right: PlainValue) throws -> Int? {
        if let left = PlainNumber(left), let right = PlainNumber(right) { return left.order(to: right) }
        guard case .text(let first) = left, case .text(let second) = right else {
            throw PlainFailure("values of different kinds have no order")
        }
        let units = String(decoding: first, as: UTF8.self).utf16
        let others = String(decoding: second, as: UTF8.self).utf16
        if units.lexicographicallyPrecedes(others) { return -1 }
        return others.lexicographicallyPrecedes(units) ? 1 : 0
    }

    private func folded(_ value: PlainValue) -> PlainValue {
        guard case .text(let bytes) = value, options.contains("c") || options.contains("d") else { return value }
        return .text(PlainPatterns.folded(bytes, options: options))
    }
}
