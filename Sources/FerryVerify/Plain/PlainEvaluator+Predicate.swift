package import FerryExpression
internal import Foundation

extension PlainEvaluator {
    /// Whether a predicate holds.
    package func holds(_ predicate: Predicate, in scope: PlainScope) throws -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .and(let parts): return try parts.allSatisfy { part in try holds(part, in: scope) }
        case .or(let parts): return try parts.contains { part in try holds(part, in: scope) }
        case .not(let part): return try !holds(part, in: scope)
        case .comparison(let comparison):
            let left = try value(of: comparison.left, in: scope).plain
            let right = try value(of: comparison.right, in: scope).plain
            return try PlainComparison(options: comparison.options, patterns: patterns)
                .holds(left, comparison.comparator, right)
        }
    }
}

/// Comparisons with Core Data's rules for nil: nil equals nil, and no order or pattern holds with it.
struct PlainComparison {
    /// The letters in brackets after the operator.
    var options: String
    var patterns: PlainPatterns

    func holds(
        _ left: PlainValue, _ comparator: Predicate.Comparison.Operator, _ right: PlainValue
    ) throws -> Bool {
        if comparator == .matches { return try matches(left, right) }
        let left = folded(left)
        let right = folded(right)
        switch comparator {
        case .equal: return isEqual(left, right)
        case .notEqual: return !isEqual(left, right)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard !left.isNull, !right.isNull else { return false }
            guard let order = try order(left, right) else { return false }
            switch comparator {
            case .less: return order < 0
            case .lessOrEqual: return order <= 0
            case .greater: return order > 0
            default: return order >= 0
            }
        case .matches: return try matches(left, right)
        }
    }

    private func isEqual(_ left: PlainValue, _ right: PlainValue) -> Bool {
        if left.isNull || right.isNull { return left.isNull && right.isNull }
        if let left = PlainNumber(left), let right = PlainNumber(right) { return left.order(to: right) == 0 }
        return left == right
    }

    /// Negative, zero or positive; nil when one of the two is not a number.
    private func order(_ left: PlainValue, _ right: PlainValue) throws -> Int? {
        if let left = PlainNumber(left), let right = PlainNumber(right) { return left.order(to: right) }
        guard case .text(let first) = left, case .text(let second) = right else {
            throw PlainFailure("values of different kinds have no order")
        }
        let units = String(decoding: first, as: UTF8.self).utf16
        let others = String(decoding: second, as: UTF8.self).utf16
        if units.lexicographicallyPrecedes(others) { return -1 }
        return others.lexicographicallyPrecedes(units) ? 1 : 0
    }

    private func matches(_ left: PlainValue, _ right: PlainValue) throws -> Bool {
        guard !left.isNull, !right.isNull else { return false }
        guard case .text = left, case .text(let pattern) = right else { throw PlainFailure("MATCHES needs text") }
        // Case is ignored by the expression itself; folding a pattern would change its escapes.
        var subject = ""
        if case .text(let bytes) = left { subject = String(decoding: bytes, as: UTF8.self) }
        if options.contains("d") { subject = subject.folding(options: .diacriticInsensitive, locale: nil) }
        let expression = try patterns.expression(for: pattern, options)
        return expression.firstMatch(in: subject, range: NSRange(location: 0, length: subject.utf16.count)) != nil
    }

    /// Text without what the options in brackets ignore.
    private func folded(_ value: PlainValue) -> PlainValue {
        guard case .text(let bytes) = value else { return value }
        var compare: String.CompareOptions = []
        if options.contains("c") { compare.insert(.caseInsensitive) }
        if options.contains("d") { compare.insert(.diacriticInsensitive) }
        if compare.isEmpty { return value }
        return .string(String(decoding: bytes, as: UTF8.self).folding(options: compare, locale: nil))
    }
}

/// The regular expression used last, so that a constant pattern is compiled once and not for each object.
package final class PlainPatterns {
    private var pattern: [UInt8] = []
    private var options = ""
    private var compiled: NSRegularExpression?

    package init() {}

    func expression(for pattern: [UInt8], _ options: String) throws -> NSRegularExpression {
        if let compiled, self.pattern == pattern, self.options == options { return compiled }
        var text = String(decoding: pattern, as: UTF8.self)
        if options.contains("d") { text = text.folding(options: .diacriticInsensitive, locale: nil) }
        let expression: NSRegularExpression
        do {
            expression = try NSRegularExpression(
                pattern: "\\A(?:\(text))\\z", options: options.contains("c") ? .caseInsensitive : [])
        } catch {
            throw PlainFailure("MATCHES was given no regular expression")
        }
        (self.pattern, self.options, compiled) = (pattern, options, expression)
        return expression
    }
}
