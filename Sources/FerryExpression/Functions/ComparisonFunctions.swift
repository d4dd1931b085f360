internal import FerryBase
internal import FerryModel
internal import Foundation

/// Comparisons that SQL's own operators make otherwise than Core Data; each returns 1 or 0, never nil.
///
/// The third argument of the text functions is the letters of the options.
extension ScalarFunction {
    static let comparison: [ScalarFunction] = [
        ScalarFunction("ferry_equal", title: "==", arguments: 2) { arguments, result throws(FerryError) in
            result.set(isEqual(arguments[0], arguments[1]))
        },
        ordering("ferry_less", "<") { $0 < 0 },
        ordering("ferry_less_equal", "<=") { $0 <= 0 },
        textComparison("ferry_text_equal", "==", ofNils: true) { $0 == 0 },
        textComparison("ferry_text_less", "<", ofNils: false) { $0 < 0 },
        textComparison("ferry_text_less_equal", "<=", ofNils: false) { $0 <= 0 },
    ]

    private static func ordering(
        _ name: String, _ title: String, _ holds: @escaping @Sendable (Int) -> Bool
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            guard !arguments[0].isNull, !arguments[1].isNull else { return result.set(false) }
            result.set(holds(try order(arguments[0], arguments[1], title)))
        }
    }

    private static func textComparison(
        _ name: String, _ title: String, ofNils: Bool, _ holds: @escaping @Sendable (Int) -> Bool
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 3) { arguments, result throws(FerryError) in
            if let order = try textOrder(arguments, title) { return result.set(holds(order)) }
            result.set(ofNils && arguments[0].isNull && arguments[1].isNull)
        }
    }

    /// Returns a negative number, zero or a positive one; nil if a text is nil.
    private static func textOrder(_ arguments: Arguments, _ title: String) throws(FerryError) -> Int? {
        let options = try TextOptions(arguments[2], title)
        guard let left = try arguments[0].text(title), let right = try arguments[1].text(title) else { return nil }
        if options == TextOptions() { return codeUnitOrder(left, right) }
        if !options.isLocalized, ASCII.holds(left), ASCII.holds(right) {
            return options.ignoresCase ? ASCII.orderIgnoringCase(left, right) : codeUnitOrder(left, right)
        }
        guard var first = try arguments[0].string(title), var second = try arguments[1].string(title) else {
            return nil
        }
        if options.isLocalized { return options.localizedOrder(first, second) }
        first = folded(first, options)
        second = folded(second, options)
        return first.withUTF8 { first in
            second.withUTF8 { codeUnitOrder(UnsafeRawBufferPointer(first), UnsafeRawBufferPointer($0)) }
        }
    }

    static func isEqual(_ left: FunctionValue, _ right: FunctionValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.integer(let integer), .real(let real)), (.real(let real), .integer(let integer)):
            numericOrder(integer, real) == 0
        case (.text(let left), .text(let right)), (.blob(let left), .blob(let right)): left.elementsEqual(right)
        default: false
        }
    }

    /// Returns a negative number, zero or a positive one, for two values that are not null.
    static func order(
        _ left: FunctionValue, _ right: FunctionValue, _ title: String
    ) throws(FerryError) -> Int {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): return left < right ? -1 : left > right ? 1 : 0
        case (.real(let left), .real(let right)): return left < right ? -1 : left > right ? 1 : 0
        case (.integer(let integer), .real(let real)): return numericOrder(integer, real)
        case (.real(let real), .integer(let integer)): return -numericOrder(integer, real)
        case (.text(let left), .text(let right)): return codeUnitOrder(left, right)
        default: throw .row(title, "\(left.kind) and \(right.kind) cannot be ordered")
        }
    }

    /// Compares an integer and a double exactly, as SQLite does: neither is rounded to the other's type.
    private static func numericOrder(_ integer: Int64, _ real: Double) -> Int {
        if real >= 9_223_372_036_854_775_808 { return -1 }
        if real < -9_223_372_036_854_775_808 { return 1 }
        let whole = Int64(real)
        if integer != whole { return integer < whole ? -1 : 1 }
        let rest = real - Double(whole)
        return rest > 0 ? -1 : rest < 0 ? 1 : 0
    }
}

/// `MATCHES`: a regular expression in ICU's syntax that must match the whole string.
extension ScalarFunction {
    static let matching: [ScalarFunction] = [
        ScalarFunction("ferry_matches", title: "MATCHES", arguments: 3) { arguments, result throws(FerryError) in
            let options = try TextOptions(arguments[2], "MATCHES")
            guard let string = try arguments[0].string("MATCHES"), let pattern = try arguments[1].text("MATCHES") else {
                return result.set(false)
            }
            let expression = try result.patterns.expression(for: pattern, options)
            result.set(fits(expression, string, options))
        }
    ]

    fileprivate static func fits(_ expression: NSRegularExpression, _ string: String, _ options: TextOptions) -> Bool {
        // The expression itself ignores case; folding case here would change the length of some characters.
        let diacritics = TextOptions(ignoresDiacritics: options.ignoresDiacritics)
        let subject = folded(string, diacritics)
        let whole = NSRange(location: 0, length: subject.utf16.count)
        return expression.firstMatch(in: subject, range: whole) != nil
    }
}

/// The compiled regular expressions of a statement.
struct PatternCache {
    private var known = RecentValues<(pattern: [UInt8], options: TextOptions), NSRegularExpression>()

    mutating func expression(
        for pattern: UnsafeRawBufferPointer, _ options: TextOptions
    ) throws(FerryError) -> NSRegularExpression {
        if let expression = known.first(where: { $0.options == options && pattern.elementsEqual($0.pattern) }) {
            return expression
        }
        let expression = try Self.compile(String(decoding: pattern, as: UTF8.self), options)
        return known.keep(expression, for: (Array(pattern), options))
    }

    /// Compiles a pattern that matches only whole strings; throws `.badExpression` for a malformed one.
    static func compile(_ pattern: String, _ options: TextOptions) throws(FerryError) -> NSRegularExpression {
        var text = pattern
        if options.ignoresDiacritics { text = text.folding(options: .diacriticInsensitive, locale: nil) }
        let flags: NSRegularExpression.Options = options.ignoresCase ? .caseInsensitive : []
        do {
            // First alone: our parentheses must not complete an unbalanced one. (Foundation rejects an empty pattern.)
            if !text.isEmpty { _ = try NSRegularExpression(pattern: text, options: flags) }
            return try NSRegularExpression(pattern: "\\A(?:\(text))\\z", options: flags)
        } catch {
            throw FerryError(
                .badExpression, "MATCHES was given an invalid regular expression.",
                remedy: "Check brackets, parentheses and backslashes of the pattern.")
        }
    }
}

/// `BEGINSWITH`, `ENDSWITH`, `CONTAINS` and `LIKE` with a search text that differs by row.
extension ScalarFunction {
    static let searches = Predicate.Comparison.Operator.searchFunctions.map { search($1, $0) }

    private static func search(_ name: String, _ kind: Predicate.Comparison.Operator) -> ScalarFunction {
        let title = kind.rawValue
        return ScalarFunction(name, title: title, arguments: 3) { arguments, result throws(FerryError) in
            let options = try TextOptions(arguments[2], title)
            guard let string = try arguments[0].string(title), let wanted = try arguments[1].string(title),
                !wanted.isEmpty || kind == .like, let pattern = kind.pattern(for: wanted)
            else { return result.set(false) }
            let compiled = try Array(pattern.utf8).withUnsafeBufferPointer { pattern throws(FerryError) in
                try result.patterns.expression(for: UnsafeRawBufferPointer(pattern), options)
            }
            result.set(fits(compiled, string, options))
        }
    }
}
