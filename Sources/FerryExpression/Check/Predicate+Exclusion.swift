extension Predicate {
    /// Whether no object passes both, as far as their forms show it.
    ///
    /// - Parameter other: A predicate over the same objects.
    /// - Returns: False also where they exclude each other in a way that takes more than reading them.
    package func excludes(_ other: Predicate) -> Bool {
        if self == .not(other) || other == .not(self) { return true }
        switch (self, other) {
        case (.constant(false), _), (_, .constant(false)): return true
        case (.or(let parts), _): return parts.allSatisfy { $0.excludes(other) }
        case (_, .or(let parts)): return parts.allSatisfy { excludes($0) }
        case (.and(let parts), _): return parts.contains { $0.excludes(other) }
        case (_, .and(let parts)): return parts.contains { excludes($0) }
        case (.comparison(let first), .comparison(let second)):
            guard let first = Bound(first), let second = Bound(second) else { return false }
            return first.excludes(second)
        default: return false
        }
    }
}

/// A comparison of one property of the object with a constant.
private struct Bound {
    let property: String
    let comparator: Predicate.Comparison.Operator
    let constant: Expression.Constant

    init?(_ comparison: Predicate.Comparison) {
        // Letters of either case, or with marks or without, are no one value.
        guard comparison.options.isEmpty else { return nil }
        if let property = comparison.left.ownProperty, case .constant(let constant) = comparison.right {
            (self.property, comparator, self.constant) = (property, comparison.comparator, constant)
        } else if let property = comparison.right.ownProperty, case .constant(let constant) = comparison.left,
            let mirrored = comparison.comparator.mirrored
        {
            (self.property, comparator, self.constant) = (property, mirrored, constant)
        } else {
            return nil
        }
    }

    func excludes(_ other: Bound) -> Bool {
        guard property == other.property else { return false }
        switch (comparator, other.comparator) {
        case (.equal, .notEqual), (.notEqual, .equal): return constant == other.constant
        case (.equal, .equal): return constant.isUnlike(other.constant)
        default:
            guard let first = interval, let second = other.interval else { return false }
            let (low, high) = (max(first.low, second.low), min(first.high, second.high))
            if low > high { return true }
            return low == high && !(first.contains(low) && second.contains(low))
        }
    }

    private struct Interval {
        var low = -Double.infinity
        var high = Double.infinity
        /// Whether a finite end belongs to it.
        var isClosed = true

        func contains(_ end: Double) -> Bool { isClosed || (end != low && end != high) }
    }

    private var interval: Interval? {
        guard let number = constant.exactNumber else { return nil }
        return switch comparator {
        case .equal: Interval(low: number, high: number)
        case .less: Interval(high: number, isClosed: false)
        case .lessOrEqual: Interval(high: number)
        case .greater: Interval(low: number, isClosed: false)
        case .greaterOrEqual: Interval(low: number)
        case .notEqual, .matches: nil
        }
    }
}

extension Predicate.Comparison.Operator {
    /// The same with its sides exchanged.
    fileprivate var mirrored: Self? {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        case .matches: nil
        }
    }
}

extension Expression {
    /// The one property of the object that the expression is: a longer path may lead to several values.
    fileprivate var ownProperty: String? {
        guard case .keyPath(let base, let path) = self, path.count == 1, case .key(let name) = path[0],
            base == .evaluatedObject || base == .variable("source")
        else { return nil }
        return name
    }
}

extension Expression.Constant {
    /// The number, where a double holds it exactly.
    fileprivate var exactNumber: Double? {
        switch self {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let integer): Double(exactly: integer)
        case .double(let double): double.isNaN ? nil : double
        case .null, .string: nil
        }
    }

    /// Whether no value equals both.
    fileprivate func isUnlike(_ other: Self) -> Bool {
        switch (self, other) {
        case (.null, .null): return false
        case (.null, _), (_, .null): return true
        case (.string(let first), .string(let second)): return first != second
        default:
            guard let first = exactNumber, let second = other.exactNumber else { return false }
            return first != second
        }
    }
}
