package import FerryBase
internal import FerryModel

extension ExpressionTranslation {
    /// A predicate as a computation that yields 1 or 0, never nil.
    ///
    /// Two nils are equal, a nil and a value are not; every other comparison with nil is false, and so NOT of it true.
    package func condition(_ predicate: Predicate) throws(FerryError) -> Computation {
        do {
            return try WorkThread.withStack { () throws(FerryError) in try computation(of: predicate) }
        } catch {
            throw error.at(.predicate(predicate))
        }
    }

    private func computation(of predicate: Predicate) throws(FerryError) -> Computation {
        switch predicate {
        case .constant(let holds): return .parameter(.constant(.boolean(holds)))
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
            return .isNull(try value(other).computation, negated: comparison.comparator == .notEqual)
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
        case .beginsWith: return try search("ferry_begins_with", left, right, comparison)
        case .endsWith: return try search("ferry_ends_with", left, right, comparison)
        case .contains: return try search("ferry_text_contains", left, right, comparison)
        case .like: return try search("ferry_like", left, right, comparison)
        case .isIn: return try membership(comparison)
        }
    }

    /// In a collection, or in a text.
    private func membership(_ comparison: Predicate.Comparison) throws(FerryError) -> Computation {
        if let isMember = try contains(try value(comparison.left), in: comparison.right, comparison) { return isMember }
        let (left, right) = (try value(comparison.left), try value(comparison.right))
        return try search("ferry_text_contains", right, left, comparison)
    }

    private func search(
        _ function: String, _ text: Typed, _ wanted: Typed, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> Computation {
        for operand in [text, wanted] where !(operand.type.isText || operand.type == .dynamic || operand.type == .null)
        {
            throw incomparable(text, wanted, comparison)
        }
        return .call(function, [text.computation, wanted.computation, options(comparison)])
    }

    func equal(
        _ left: Typed, _ right: Typed, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> Computation {
        if left.type == .null || right.type == .null || left.type.isNumber && right.type.isNumber {
            return .same(left.computation, right.computation)
        }
        if left.type.isText, right.type.isText {
            if comparison.options.trimmingNeutral.isEmpty { return .same(left.computation, right.computation) }
            return .call("ferry_text_equal", [left.computation, right.computation, options(comparison)])
        }
        if left.type == .dynamic || right.type == .dynamic {
            return .call("ferry_equal", [left.computation, right.computation])
        }
        if left.type == .attribute(.uuid), right.type == .attribute(.uuid) {
            return .same(left.computation, right.computation)
        }
        if case .object(let entity) = left.type, case .object(let other) = right.type,
            scope.model.root(of: entity) == scope.model.root(of: other)
        {
            return .same(left.computation, right.computation)
        }
        throw incomparable(left, right, comparison)
    }

    private func less(
        _ left: Typed, _ right: Typed, _ sign: String, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> Computation {
        if left.type == .null || right.type == .null || left.type.isNumber && right.type.isNumber {
            return .precedes(left.computation, right.computation, orEqual: sign == "<=")
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
        for fragment in [left, right] where !(fragment.type.isText || fragment.type == .dynamic) {
            if fragment.type != .null { throw incomparable(left, right, comparison) }
        }
        if case .constant(.string(let pattern)) = comparison.right {
            _ = try PatternCache.compile(pattern, TextOptions(comparison.options))
        }
        return .call("ferry_matches", [left.computation, right.computation, options(comparison)])
    }

    private func options(_ comparison: Predicate.Comparison) -> Computation {
        .parameter(.constant(.string(comparison.options.trimmingNeutral)))
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
    /// Comparison options without `n`, which demands what is done anyway.
    fileprivate var trimmingNeutral: String { String(filter { $0 != "n" }) }
}
