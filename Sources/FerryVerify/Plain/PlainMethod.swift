internal import FerryModel
internal import Foundation

/// The methods of values, by Foundation's own if it has them; nil gives nil.
enum PlainMethod {
    static func value(of selector: String, _ receiver: PlainValue, _ arguments: [PlainValue]) throws -> PlainValue {
        if receiver.isNull || arguments.contains(where: \.isNull) { return .null }
        switch receiver {
        case .text(let bytes): return try text(selector, String(decoding: bytes, as: UTF8.self), arguments)
        case .boolean(let flag): return try number(selector, .integer(flag ? 1 : 0), arguments)
        case .integer, .real: return try number(selector, receiver, arguments)
        case .blob(let bytes):
            switch selector {
            case "length": return .integer(Int64(bytes.count))
            case "UUIDString": return try PlainConversion.stored(receiver, as: .string)
            default: throw PlainFailure("data has no method \(selector)")
            }
        default: throw PlainFailure("an object has no method \(selector)")
        }
    }

    private static func text(_ selector: String, _ text: String, _ arguments: [PlainValue]) throws -> PlainValue {
        switch selector {
        case "length": return .integer(Int64(text.utf16.count))
        case "uppercaseString": return .string(text.uppercased())
        case "lowercaseString": return .string(text.lowercased())
        case "capitalizedString": return .string(text.capitalized)
        case "integerValue", "longLongValue", "intValue": return .integer(integer(text))
        case "doubleValue", "floatValue": return .real(real(text))
        case "boolValue":
            let number = text.unicodeScalars.drop { " \t\n\r\u{0B}\u{0C}".unicodeScalars.contains($0) }
            let digits = number.first == "+" || number.first == "-" ? number.dropFirst() : number
            let first = digits.first { $0 != "0" }
            return .boolean(first.map { "YyTt123456789".unicodeScalars.contains($0) } ?? false)
        case "lastPathComponent": return .string(path(text).last)
        case "stringByDeletingLastPathComponent": return .string(path(text).before)
        case "pathExtension":
            let last = path(text).last
            guard let dot = last.lastIndex(of: "."), dot != last.startIndex else { return .string("") }
            return .string(String(last[last.index(after: dot)...]))
        case "stringByDeletingPathExtension":
            let (before, last) = path(text)
            if last == "/" || last.isEmpty { return .string(last) }
            var kept = last
            if let dot = last.lastIndex(of: "."), dot != last.startIndex { kept = String(last[..<dot]) }
            return .string(before.isEmpty || before == "/" ? before + kept : before + "/" + kept)
        case "absoluteString": return .string(text)
        case "stringByAppendingString:": return .string(text + (try self.text(arguments, 0)))
        case "substringFromIndex:": return .string(try cut(text, arguments).behind)
        case "substringToIndex:": return .string(try cut(text, arguments).before)
        case "stringByReplacingOccurrencesOfString:withString:":
            let (wanted, other) = (try self.text(arguments, 0), try self.text(arguments, 1))
            var replaced: [UInt8] = []
            replaced.reserveCapacity(text.utf8.count)
            PlainText.eachPart(of: Array(text.utf8), between: Array(wanted.utf8)) { part in
                if part.startIndex > 0 { replaced += Array(other.utf8) }
                replaced += part
            }
            return .text(replaced)
        case "hasPrefix:": return .boolean(prefix(text.utf8, try self.text(arguments, 0).utf8))
        case "hasSuffix:":
            return .boolean(prefix(text.utf8.reversed(), try self.text(arguments, 0).utf8.reversed()))
        case "containsString:":
            var parts = 0
            PlainText.eachPart(of: Array(text.utf8), between: Array(try self.text(arguments, 0).utf8)) { _ in parts += 1
            }
            return .boolean(parts > 1)
        case "isEqualToString:": return .boolean(text.utf8.elementsEqual(try self.text(arguments, 0).utf8))
        default: throw PlainFailure("text has no method \(selector)")
        }
    }

    /// The parts of a path before and after its last slash, without doubled and trailing slashes.
    private static func path(_ text: String) -> (before: String, last: String) {
        var path = text
        while path.contains("//") { path = path.replacingOccurrences(of: "//", with: "/") }
        if path == "/" { return ("/", "/") }
        if path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        let before = path[..<slash]
        return (before.isEmpty ? "/" : String(before), String(path[path.index(after: slash)...]))
    }

    private static func prefix(_ text: some Collection<UInt8>, _ start: some Collection<UInt8>) -> Bool {
        !start.isEmpty && text.starts(with: start)
    }

    private static func text(_ arguments: [PlainValue], _ index: Int) throws -> String {
        guard index < arguments.count, case .text(let bytes) = arguments[index] else {
            throw PlainFailure("a method of text needs text")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text before and after an offset in UTF-16; a scalar across it belongs to the second part.
    private static func cut(_ text: String, _ arguments: [PlainValue]) throws -> (before: String, behind: String) {
        guard let argument = arguments.first, case .integer(let offset)? = PlainNumber(argument), offset >= 0 else {
            throw PlainFailure("an index begins at 0")
        }
        var units: Int64 = 0
        var (before, behind) = (String.UnicodeScalarView(), String.UnicodeScalarView())
        for scalar in text.unicodeScalars {
            units += Int64(UTF16.width(scalar))
            if units <= offset { before.append(scalar) } else { behind.append(scalar) }
        }
        return (String(before), String(behind))
    }

    /// The number at the beginning of a text, after whitespace.
    private static func leading(_ text: String, _ number: String) -> String {
        let range = text.range(of: "^[\\x09-\\x0d ]*[+-]?\(number)", options: .regularExpression)
        return range.map { String(text[$0].drop { " \t\n\r\u{0B}\u{0C}\r\n".contains($0) }) } ?? ""
    }

    private static func integer(_ text: String) -> Int64 {
        let number = leading(text, "[0-9]+")
        if number.isEmpty { return 0 }
        return Int64(number) ?? (number.hasPrefix("-") ? .min : .max)
    }

    private static func real(_ text: String) -> Double {
        strtod(leading(text, "([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"), nil)
    }

    private static func number(
        _ selector: String, _ receiver: PlainValue, _ arguments: [PlainValue]
    ) throws -> PlainValue {
        guard let number = PlainNumber(receiver) else { throw PlainFailure("not a number") }
        switch selector {
        case "integerValue", "longLongValue", "intValue":
            guard case .real(let real) = number else { return receiver }
            if real.isNaN { return .null }
            let whole = real.rounded(.towardZero)
            return .integer(whole >= 0x1p63 ? .max : whole < -0x1p63 ? .min : Int64(whole))
        case "doubleValue", "floatValue", "timeIntervalSinceReferenceDate": return .real(number.real)
        case "boolValue": return .boolean(number.real != 0)
        case "stringValue": return try PlainConversion.stored(receiver, as: .string)
        case "timeIntervalSince1970": return .real(number.real + 978_307_200)
        case "dateByAddingTimeInterval:", "timeIntervalSinceDate:":
            guard let other = arguments.first.flatMap(PlainNumber.init) else { throw PlainFailure("not a number") }
            let seconds = selector == "timeIntervalSinceDate:" ? number.real - other.real : number.real + other.real
            return .number(seconds)
        default: throw PlainFailure("a number has no method \(selector)")
        }
    }
}

/// Foundation's text rules; the last regular expression stays compiled, for a pattern used on every object.
package final class PlainPatterns {
    private var pattern: [UInt8] = []
    private var options = ""
    private var compiled: NSRegularExpression?

    /// Whether a regular expression matches the whole text.
    func matches(_ text: [UInt8], _ pattern: [UInt8], options: String) throws -> Bool {
        // The regular expression itself ignores case; folding a pattern would change its escapes.
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
            throw PlainFailure("MATCHES needs a regular expression")
        }
        (self.pattern, self.options, compiled) = (pattern, options, expression)
        return expression
    }

    static func escaped(_ text: [UInt8]) -> String {
        NSRegularExpression.escapedPattern(for: String(decoding: text, as: UTF8.self))
    }

    /// A pattern for `*`, any text, and `?`, one character; after a backslash each is literal.
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

    /// The order of two texts by the root locale.
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

    /// Text without the distinctions that the options `c` and `d` ignore.
    static func folded(_ text: [UInt8], options: String) -> [UInt8] {
        var compare: String.CompareOptions = []
        if options.contains("c") { compare.insert(.caseInsensitive) }
        if options.contains("d") { compare.insert(.diacriticInsensitive) }
        return Array(String(decoding: text, as: UTF8.self).folding(options: compare, locale: nil).utf8)
    }
}
