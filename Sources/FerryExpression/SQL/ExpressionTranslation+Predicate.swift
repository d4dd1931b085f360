package import FerryBase
internal import FerryModel

extension ExpressionTranslation {
    /// Translates a predicate to a computation that yields 1 or 0, never nil.
    ///
    /// Two nils are equal, nil and a value are not. Any other comparison with nil is false, so its NOT is true.
    package func condition(_ predicate: Predicate) throws(FerryError) -> Computation {
        try about(.predicate(predicate)) { () throws(FerryError) in try computation(of: predicate) }
    }

    private func computation(of predicate: Predicate) throws(FerryError) -> Computation {
        switch predicate {
        case .constant(let holds): return .constant(.boolean(holds))
        case .not(let operand): return .not(try condition(operand))
        case .and(let operands): return .all(try operands.map { operand throws(FerryError) in try condition(operand) })
        case .or(let operands): return .any(try operands.map { operand throws(FerryError) in try condition(operand) })
        case .comparison(let comparison): return try condition(comparison)
        case .quantified(let quantifier, let collection, let condition):
            return try self.condition(quantifier, collection, condition)
        }
    }

    private func condition(_ comparison: Predicate.Comparison) throws(FerryError) -> Computation {
        let isEquality = comparison.comparator == .equal || comparison.comparator == .notEqual
        if isEquality, let other = comparison.comparedWithNil {
            return .operation(comparison.comparator == .equal ? .isNull : .isNotNull, [try value(other).computation])
        }
        if comparison.comparator == .isIn { return try membership(comparison) }
        let left = try value(comparison.left)
        let right = try value(comparison.right)
        switch comparison.comparator {
        case .matches: return try matches(left, right, comparison)
        case .equal: return try equal(left, right, comparison)
        case .notEqual: return .not(try equal(left, right, comparison))
        case .less: return try less(left, right, "<", comparison)
        case .lessOrEqual: return try less(left, right, "<=", comparison)
        case .greater: return try less(right, left, "<", comparison)
        case .greaterOrEqual: return try less(right, left, "<=", comparison)
        case .beginsWith, .endsWith, .contains, .like, .isIn: return try search(left, right, comparison)
        }
    }

    /// Translates `IN` with a collection, or with a text.
    private func membership(_ comparison: Predicate.Comparison) throws(FerryError) -> Computation {
        let left = try value(comparison.left)
        if let isMember = try contains(left, in: comparison.right, comparison) { return isMember }
        return try search(try value(comparison.right), left, comparison)
    }

    private func search(
        _ text: Typed, _ wanted: Typed, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> Computation {
        guard text.type.mayBeText, wanted.type.mayBeText else { throw incomparable(text, wanted, comparison) }
        let function = comparison.comparator.searchFunction ?? "ferry_text_contains"
        return .call(function, [text.computation, wanted.computation, options(comparison)])
    }

    func equal(
        _ left: Typed, _ right: Typed, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> Computation {
        let operands = [left.computation, right.computation]
        switch (left.type, right.type) {
        case (.null, _), (_, .null), (.attribute(.uuid), .attribute(.uuid)): break
        case (let first, let second) where first.isNumber && second.isNumber: break
        case (let first, let second) where first.isText && second.isText:
            if !comparison.options.trimmingNeutral.isEmpty {
                return .call("ferry_text_equal", operands + [options(comparison)])
            }
        case (.dynamic, _), (_, .dynamic): return .call("ferry_equal", operands)
        case (.object(let entity), .object(let other)) where scope.model.root(of: entity) == scope.model.root(of: other):
            break
        default: throw incomparable(left, right, comparison)
        }
        return .operation(.same, operands)
    }

    private func less(
        _ left: Typed, _ right: Typed, _ sign: String, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> Computation {
        if left.type == .null || right.type == .null || left.type.isNumber && right.type.isNumber {
            return .operation(sign == "<" ? .less : .lessOrEqual, [left.computation, right.computation])
        }
        let suffix = sign == "<" ? "less" : "less_equal"
        if left.type.isText, right.type.isText {
            return .call("ferry_text_\(suffix)", [left.computation, right.computation, options(comparison)])
        }
        if left.type == .dynamic || right.type == .dynamic {
            return .call("ferry_\(suffix)", [left.computation, right.computation])
        }
        throw incomparable(left, right, comparison)
    }

    private func matches(
        _ left: Typed, _ right: Typed, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> Computation {
        guard left.type.mayBeText, right.type.mayBeText else { throw incomparable(left, right, comparison) }
        if case .constant(.string(let pattern)) = comparison.right {
            _ = try PatternCache.compile(pattern, TextOptions(comparison.options.utf8))
        }
        return .call("ferry_matches", [left.computation, right.computation, options(comparison)])
    }

    private func options(_ comparison: Predicate.Comparison) -> Computation {
        .constant(.string(comparison.options.trimmingNeutral))
    }

    private func incomparable(
        _ left: Typed, _ right: Typed, _ comparison: Predicate.Comparison
    ) -> FerryError {
        FerryError(
            .badExpression, "`\(comparison)` compares \(left.type.title) with \(right.type.title).",
            remedy: "Check the attribute's type in the source model; texts are written in quotes.")
    }
}

extension Predicate.Comparison {
    /// The other side, if one is the constant nil.
    fileprivate var comparedWithNil: Expression? {
        if case .constant(.null) = right { left } else if case .constant(.null) = left { right } else { nil }
    }
}

extension String {
    /// The options without `n`, which changes nothing.
    fileprivate var trimmingNeutral: String { String(filter { $0 != "n" }) }
}
