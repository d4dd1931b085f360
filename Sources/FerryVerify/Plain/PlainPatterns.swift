internal import Foundation

/// Text as Foundation sees it: folding, and the regular expression used last, so that a constant pattern is compiled
/// once and not for each object.
package final class PlainPatterns {
    private var pattern: [UInt8] = []
    private var options = ""
    private var compiled: NSRegularExpression?

    package init() {}

    /// Whether a regular expression fits the whole text.
    func matches(_ text: [UInt8], _ pattern: [UInt8], options: String) throws -> Bool {
        // Case is ignored by the expression itself; folding a pattern would change its escapes.
        var subject = String(decoding: text, as: UTF8.self)
        if options.contains("d") { subject = subject.folding(options: .diacriticInsensitive, locale: nil) }
        let whole = NSRange(location: 0, length: subject.utf16.count)
        return try expression(for: pattern, options).firstMatch(in: subject, range: whole) != nil
    }

    private func expression(for pattern: [UInt8], _ options: String) throws -> NSRegularExpression {
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

    static func escaped(_ text: [UInt8]) -> String {
        NSRegularExpression.escapedPattern(for: String(decoding: text, as: UTF8.self))
    }

    /// `*` for any text and `?` for one character; after a backslash each stands for itself.
    static func wildcards(_ text: [UInt8]) -> String {
        var pattern = ""
        var isEscaped = false
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            let literal = NSRegularExpression.escapedPattern(for: String(scalar))
            switch scalar {
            case _ where isEscaped:
                pattern += literal
                isEscaped = false
            case "\\": isEscaped = true
            case "*": pattern += ".*"
            case "?": pattern += "."
            default: pattern += literal
            }
        }
        return isEscaped ? pattern + "\\\\" : pattern
    }

    /// The order of two texts by the rules that all languages begin with.
    static func localizedOrder(of left: [UInt8], _ right: [UInt8], options: String) -> Int {
        let (first, second) = (
            NSString(string: String(decoding: left, as: UTF8.self)), String(decoding: right, as: UTF8.self)
        )
        var compare: NSString.CompareOptions = []
        if options.contains("c") { compare.insert(.caseInsensitive) }
        if options.contains("d") { compare.insert(.diacriticInsensitive) }
        let whole = NSRange(location: 0, length: first.length)
        return first.compare(second, options: compare, range: whole, locale: Locale(identifier: "")).rawValue
    }

    /// Text without what the options `c` and `d` ignore.
    static func folded(_ text: [UInt8], options: String) -> [UInt8] {
        var compare: String.CompareOptions = []
        if options.contains("c") { compare.insert(.caseInsensitive) }
        if options.contains("d") { compare.insert(.diacriticInsensitive) }
        return Array(String(decoding: text, as: UTF8.self).folding(options: compare, locale: nil).utf8)
    }
}
