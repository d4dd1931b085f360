package import FerryBase
internal import FerryModel

extension SQLTranslator {
    /// A predicate as SQL that yields 1 or 0, never NULL.
    ///
    /// Two nils are equal, a nil and a value are not; every other comparison with nil is false, and so NOT of it true.
    package mutating func condition(_ predicate: Predicate) throws(FerryError) -> String {
        switch predicate {
        case .constant(let holds): return resolver.parameter(.constant(.boolean(holds)))
        case .not(let operand): return "NOT (\(try condition(operand)))"
        case .and(let operands): return try joined(operands, "AND", whenEmpty: true)
        case .or(let operands): return try joined(operands, "OR", whenEmpty: false)
        case .comparison(let comparison): return try condition(comparison)
        }
    }

    private mutating func joined(
        _ operands: [Predicate], _ word: String, whenEmpty: Bool
    ) throws(FerryError) -> String {
        if operands.isEmpty { return resolver.parameter(.constant(.boolean(whenEmpty))) }
        var parts: [String] = []
        for operand in operands { parts.append("(\(try condition(operand)))") }
        return parts.joined(separator: " \(word) ")
    }

    private mutating func condition(_ comparison: Predicate.Comparison) throws(FerryError) -> String {
        let isEquality = comparison.comparator == .equal || comparison.comparator == .notEqual
        if isEquality, let other = comparison.comparedWithNil {
            let test = comparison.comparator == .equal ? "IS NULL" : "IS NOT NULL"
            return "\(try value(other).sql) \(test)"
        }
        if comparison.options.contains("l") {
            throw FerryError(
                .unsupported, "`\(comparison)` compares by the rules of a locale, which differ between machines.",
                remedy: "Use the options c and d.")
        }
        let left = try value(comparison.left)
        let right = try value(comparison.right)
        switch comparison.comparator {
        case .matches: return try matches(left, right, comparison)
        case .equal: return try equal(left, right, comparison)
        case .notEqual: return "NOT (\(try equal(left, right, comparison)))"
        case .less: return try less(left, right, "<", comparison)
        case .lessOrEqual: return try less(left, right, "<=", comparison)
        case .greater: return try less(right, left, "<", comparison)
        case .greaterOrEqual: return try less(right, left, "<=", comparison)
        }
    }

    private mutating func equal(
        _ left: SQLFragment, _ right: SQLFragment, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> String {
        if left.type == .null || right.type == .null || left.type.isNumber && right.type.isNumber {
            return "\(left.sql) IS \(right.sql)"
        }
        if left.type.isText, right.type.isText {
            if comparison.options.trimmingNeutral.isEmpty { return "\(left.sql) IS \(right.sql)" }
            return "ferry_text_equal(\(left.sql), \(right.sql), \(options(comparison)))"
        }
        if left.type == .dynamic || right.type == .dynamic { return "ferry_equal(\(left.sql), \(right.sql))" }
        if left.type == .attribute(.uuid), right.type == .attribute(.uuid) { return "\(left.sql) IS \(right.sql)" }
        throw incomparable(left, right, comparison)
    }

    private mutating func less(
        _ left: SQLFragment, _ right: SQLFragment, _ sign: String, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> String {
        if left.type == .null || right.type == .null || left.type.isNumber && right.type.isNumber {
            return "(\(left.sql) \(sign) \(right.sql)) IS TRUE"
        }
        let suffix = sign == "<" ? "less" : "less_equal"
        if left.type.isText, right.type.isText {
            return "ferry_text_\(suffix)(\(left.sql), \(right.sql), \(options(comparison)))"
        }
        if left.type == .dynamic || right.type == .dynamic { return "ferry_\(suffix)(\(left.sql), \(right.sql))" }
        throw incomparable(left, right, comparison)
    }

    private mutating func matches(
        _ left: SQLFragment, _ right: SQLFragment, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> String {
        for fragment in [left, right] where !(fragment.type.isText || fragment.type == .dynamic) {
            if fragment.type != .null { throw incomparable(left, right, comparison) }
        }
        if case .constant(.string(let pattern)) = comparison.right {
            _ = try PatternCache.compile(pattern, TextOptions(comparison.options))
        }
        return "ferry_matches(\(left.sql), \(right.sql), \(options(comparison)))"
    }

    private mutating func options(_ comparison: Predicate.Comparison) -> String {
        resolver.parameter(.constant(.string(comparison.options.trimmingNeutral)))
    }

    private func incomparable(
        _ left: SQLFragment, _ right: SQLFragment, _ comparison: Predicate.Comparison
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
    /// Comparison options without `n`, which asks for what is done anyway.
    fileprivate var trimmingNeutral: String { String(filter { $0 != "n" }) }
}
