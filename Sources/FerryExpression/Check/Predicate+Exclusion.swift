extension Predicate {
    /// Whether no object can pass both predicates, as far as their forms prove it; `isSingle` says whether a path of
    /// keys from the object has at most one value.
    package func excludes(_ other: Predicate, where isSingle: ([String]) -> Bool) -> Bool {
        if self == .not(other) || other == .not(self) { return true }
        switch (self, other) {
        case (.constant(false), _), (_, .constant(false)): return true
        case (.or(let parts), _): return parts.allSatisfy { $0.excludes(other, where: isSingle) }
        case (_, .or(let parts)): return parts.allSatisfy { excludes($0, where: isSingle) }
        case (.and(let parts), _): return parts.contains { $0.excludes(other, where: isSingle) }
        case (_, .and(let parts)): return parts.contains { excludes($0, where: isSingle) }
        case (.comparison(let first), .comparison(let second)):
            guard let first = Bound(first), let second = Bound(second) else { return false }
            return first.path == second.path && isSingle(first.path) && first.excludes(second)
        default: return false
        }
    }
}

/// A comparison of a path from the object with a constant.
private struct Bound {
    let path: [String]
    let comparator: Predicate.Comparison.Operator
    let constant: Expression.Constant

    init?(_ comparison: Predicate.Comparison) {
        // With options, a constant equals several texts.
        guard comparison.options.isEmpty else { return nil }
        if let path = comparison.left.ownPath, case .constant(let constant) = comparison.right {
            (self.path, comparator, self.constant) = (path, comparison.comparator, constant)
        } else if let path = comparison.right.ownPath, case .constant(let constant) = comparison.left,
            let mirrored = comparison.comparator.mirrored
        {
            (self.path, comparator, self.constant) = (path, mirrored, constant)
        } else {
            return nil
        }
    }

    func excludes(_ other: Bound) -> Bool {
        switch (comparator, other.comparator) {
        case (.equal, .notEqual), (.notEqual, .equal): return constant == other.constant
        case (.equal, .equal): return constant.neverEquals(other.constant)
        case (.matches, .matches):
            guard let first = constant.firstLetters, let second = other.constant.firstLetters else { return false }
            return first.isDisjoint(with: second)
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
        /// Whether the interval contains its finite ends.
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
        case .notEqual, .matches, .beginsWith, .endsWith, .contains, .like, .isIn: nil
        }
    }
}

extension Predicate.Comparison.Operator {
    fileprivate var mirrored: Self? {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        case .matches, .beginsWith, .endsWith, .contains, .like, .isIn: nil
        }
    }
}

extension Expression {
    /// The keys of a key path from the object; nil for any other expression.
    fileprivate var ownPath: [String]? {
        guard case .keyPath(let base, let path) = self, base == .evaluatedObject || base == .variable("source") else {
            return nil
        }
        return path.keys
    }
}

extension Expression.Constant {
    fileprivate var exactNumber: Double? {
        switch self {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let integer): Double(exactly: integer)
        case .double(let double): double.isNaN ? nil : double
        case .null, .string: nil
        }
    }

    /// The first letters that the regular expression allows, if it begins with a plain class: `[a-hA-H].*`.
    fileprivate var firstLetters: Set<UInt32>? {
        guard case .string(let pattern) = self, pattern.first == "[", !pattern.contains("|"),
            let end = pattern.firstIndex(of: "]")
        else { return nil }
        // An optional class does not decide the first letter.
        if let next = pattern[pattern.index(after: end)...].first, "*?{".contains(next) { return nil }
        var letters: Set<UInt32> = []
        var rest = pattern[pattern.index(after: pattern.startIndex)..<end].unicodeScalars[...]
        guard !rest.isEmpty,
            rest.allSatisfy({ $0.isASCII && ($0.properties.isAlphabetic || $0 == "-" || ("0"..."9") ~= $0) })
        else { return nil }
        while let first = rest.popFirst() {
            guard first != "-" else { return nil }
            guard rest.first == "-" else {
                letters.insert(first.value)
                continue
            }
            rest.removeFirst()
            guard let last = rest.popFirst(), last != "-", first.value <= last.value else { return nil }
            letters.formUnion(first.value...last.value)
        }
        return letters
    }

    /// Whether no value equals both constants.
    fileprivate func neverEquals(_ other: Self) -> Bool {
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
