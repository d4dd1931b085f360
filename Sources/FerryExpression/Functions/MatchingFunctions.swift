internal import FerryBase
internal import Foundation

/// `MATCHES`: a regular expression in ICU's syntax that must fit the whole string.
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

    /// Whether an expression fits the whole of a text.
    fileprivate static func fits(_ expression: NSRegularExpression, _ string: String, _ options: TextOptions) -> Bool {
        // Case is the expression's own business; folding it here would change the length of some characters.
        let diacritics = TextOptions(ignoresDiacritics: options.ignoresDiacritics)
        let subject = folded(string, diacritics)
        let whole = NSRange(location: 0, length: subject.utf16.count)
        return expression.firstMatch(in: subject, range: whole) != nil
    }
}

/// The few regular expressions that a statement uses, compiled once.
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

    /// Compiles a pattern so that it fits only whole strings.
    ///
    /// - Throws: ``FerryError`` `.badExpression` when it is no regular expression.
    static func compile(_ pattern: String, _ options: TextOptions) throws(FerryError) -> NSRegularExpression {
        var text = pattern
        if options.ignoresDiacritics { text = text.folding(options: .diacriticInsensitive, locale: nil) }
        let flags: NSRegularExpression.Options = options.ignoresCase ? .caseInsensitive : []
        do {
            // Alone first: an unbalanced parenthesis must not be completed by ours. (Foundation takes no empty one.)
            if !text.isEmpty { _ = try NSRegularExpression(pattern: text, options: flags) }
            return try NSRegularExpression(pattern: "\\A(?:\(text))\\z", options: flags)
        } catch {
            throw FerryError(
                .badExpression, "MATCHES was given a pattern that is no regular expression.",
                remedy: "Check brackets, parentheses and backslashes of the pattern.")
        }
    }
}

/// `BEGINSWITH`, `ENDSWITH`, `CONTAINS` and `LIKE` where the text that is looked for is known only row by row.
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
