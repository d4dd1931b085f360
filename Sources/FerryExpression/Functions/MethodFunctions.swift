internal import FerryBase
internal import Foundation

/// The methods of strings, numbers and dates in mapping models; nil gives nil.
///
/// Positions in text count UTF-16 code units, as in `NSString`; a position behind the end means the end.
extension ScalarFunction {
    static let methods: [ScalarFunction] = [
        ofText("ferry_capitalized", "capitalizedString") { $0.capitalized },
        ofText("ferry_last_path_component", "lastPathComponent") { PathText($0).last },
        ofText("ferry_path_extension", "pathExtension") { PathText($0).pathExtension },
        ofText("ferry_without_last_path_component", "stringByDeletingLastPathComponent") { PathText($0).parent },
        ofText("ferry_without_path_extension", "stringByDeletingPathExtension") { PathText($0).withoutExtension },
        ofData("ferry_byte_count", "length") { data, result in result.set(Int64(data.count)) },
        ScalarFunction("ferry_integer_value", title: "integerValue", arguments: 1) {
            arguments, result throws(FerryError) in
            switch arguments[0] {
            case .null: break
            case .integer: result.set(argument: 0)
            case .real(let real): result.set(Int64(exactly: real.rounded(.towardZero)) ?? (real < 0 ? .min : .max))
            case .text(let bytes): result.set(NumberPrefix(bytes).integer)
            case .blob: throw .row("integerValue", "the value is binary data")
            }
        },
        ScalarFunction("ferry_double_value", title: "doubleValue", arguments: 1) {
            arguments, result throws(FerryError) in
            switch arguments[0] {
            case .null: break
            case .integer(let integer): result.set(Double(integer))
            case .real: result.set(argument: 0)
            case .text(let bytes): result.set(NumberPrefix(bytes).real)
            case .blob: throw .row("doubleValue", "the value is binary data")
            }
        },
        ScalarFunction("ferry_bool_value", title: "boolValue", arguments: 1) { arguments, result throws(FerryError) in
            switch arguments[0] {
            case .null: break
            case .integer(let integer): result.set(integer != 0)
            case .real(let real): result.set(real != 0)
            case .text(let bytes): result.set(NumberPrefix(bytes).isTrue)
            case .blob: throw .row("boolValue", "the value is binary data")
            }
        },
        ofNumber("ferry_since_1970", "timeIntervalSince1970") { $0 + 978_307_200 },
        ofNumbers("ferry_add_seconds", "dateByAddingTimeInterval:") { $0 + $1 },
        ofNumbers("ferry_seconds_between", "timeIntervalSinceDate:") { $0 - $1 },
        ofTwoTexts("ferry_append", "stringByAppendingString:") { $2.set(texts: [$0, $1]) },
        cutting("ferry_substring_from", "substringFromIndex:") { $0[$1...] },
        cutting("ferry_substring_to", "substringToIndex:") { $0[..<$1] },
        ScalarFunction(
            "ferry_replace", title: "stringByReplacingOccurrencesOfString:withString:", arguments: 3
        ) { arguments, result throws(FerryError) in
            let title = "stringByReplacingOccurrencesOfString:withString:"
            guard let text = try arguments[0].text(title), let wanted = try arguments[1].text(title),
                let other = try arguments[2].text(title)
            else { return }
            replace(wanted, by: other, in: text, into: &result)
        },
        ofTwoTexts("ferry_has_prefix", "hasPrefix:") { $2.set(!$1.isEmpty && $0.starts(with: $1)) },
        ofTwoTexts("ferry_has_suffix", "hasSuffix:") {
            $2.set(!$1.isEmpty && $0.reversed().starts(with: $1.reversed()))
        },
        ofTwoTexts("ferry_contains", "containsString:") { $2.set(place(of: $1, in: $0, from: 0) != nil) },
        ofTwoTexts("ferry_is_text", "isEqualToString:") { $2.set($0.elementsEqual($1)) },
        // A text, the separator of its parts, and the index of a part; negative from the end.
        ScalarFunction("ferry_part", title: "componentsSeparatedByString:", arguments: 3) {
            arguments, result throws(FerryError) in
            let title = "componentsSeparatedByString:"
            guard let text = try arguments[0].text(title), let separator = try arguments[1].text(title),
                case .integer(let index) = arguments[2]
            else { return }
            let wanted = index < 0 ? Int64(partCount(text, separator)) + index : index
            var start = 0
            var part: Int64 = 0
            while part < wanted {
                guard let next = place(of: separator, in: text, from: start) else { return }
                start = next + separator.count
                part += 1
            }
            guard wanted >= 0 else { return }
            let end = place(of: separator, in: text, from: start) ?? text.count
            result.set(text: text[start..<end])
        },
        ofTwoTexts("ferry_part_count", "componentsSeparatedByString:") { $2.set(Int64(partCount($0, $1))) },
    ]

    private static func ofText(
        _ name: String, _ title: String, _ transform: @escaping @Sendable (String) -> String
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            guard let text = try arguments[0].string(title) else { return }
            result.set(text: transform(text).utf8)
        }
    }

    private static func ofTwoTexts(
        _ name: String, _ title: String,
        _ body: @escaping @Sendable (UnsafeRawBufferPointer, UnsafeRawBufferPointer, inout FunctionResult) -> Void
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            guard let text = try arguments[0].text(title), let other = try arguments[1].text(title) else { return }
            body(text, other, &result)
        }
    }

    /// Makes a function that cuts a text at an offset in UTF-16 code units.
    private static func cutting(
        _ name: String, _ title: String, _ piece: @escaping @Sendable (String, String.Index) -> Substring
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            guard let text = try arguments[0].string(title), let number = try arguments[1].number(title) else { return }
            guard case .integer(let offset) = number, offset >= 0 else {
                throw .row(title, "an index cannot be negative")
            }
            let units = text.utf16
            var place = text.endIndex
            if let index = units.index(units.startIndex, offsetBy: Int(clamping: offset), limitedBy: units.endIndex) {
                // An offset inside a surrogate pair cuts before the character.
                place =
                    index.samePosition(in: text.unicodeScalars)
                    ?? text.unicodeScalars.index(before: units.index(after: index))
            }
            result.set(text: piece(text, place).utf8)
        }
    }

    /// Returns the next offset of a text in another one; nil also for an empty text.
    private static func place(
        of wanted: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int
    ) -> Int? {
        guard let first = wanted.first, start + wanted.count <= text.count else { return nil }
        for place in start...(text.count - wanted.count)
        where text[place] == first && text[place..<place + wanted.count].elementsEqual(wanted) {
            return place
        }
        return nil
    }

    private static func partCount(_ text: UnsafeRawBufferPointer, _ separator: UnsafeRawBufferPointer) -> Int {
        var (count, start) = (1, 0)
        while let next = place(of: separator, in: text, from: start) {
            count += 1
            start = next + separator.count
        }
        return count
    }

    private static func replace(
        _ wanted: UnsafeRawBufferPointer, by other: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer,
        into result: inout FunctionResult
    ) {
        // A large text must not take more memory than its result.
        let count = other.count > wanted.count ? partCount(text, wanted) - 1 : 0
        result.setText { replaced in
            replaced.reserveCapacity(text.count + count * (other.count - wanted.count))
            var start = 0
            while let next = place(of: wanted, in: text, from: start) {
                replaced.append(contentsOf: text[start..<next])
                replaced.append(contentsOf: other)
                start = next + wanted.count
            }
            replaced.append(contentsOf: text[start...])
        }
    }
}

/// A path with the components of `NSString`.
private struct PathText {
    private let parts: [Substring]
    private let isAbsolute: Bool

    init(_ text: String) {
        parts = text.split(separator: "/")
        isAbsolute = text.utf8.first == UInt8(ascii: "/")
    }

    var last: String { parts.last.map(String.init) ?? (isAbsolute ? "/" : "") }

    var parent: String { (isAbsolute ? "/" : "") + parts.dropLast().joined(separator: "/") }

    /// The index of the extension's dot in the last component; a leading dot begins no extension.
    private var dot: String.Index? {
        guard let last = parts.last, let dot = last.lastIndex(of: "."), dot != last.startIndex else { return nil }
        return dot
    }

    var pathExtension: String {
        guard let dot, let last = parts.last else { return "" }
        return String(last[last.index(after: dot)...])
    }

    var withoutExtension: String {
        guard let last = parts.last else { return isAbsolute ? "/" : "" }
        let rest = dot.map { last[..<$0] } ?? last
        return (isAbsolute ? "/" : "") + (parts.dropLast() + [rest]).joined(separator: "/")
    }
}

/// The number at the beginning of a text, as `NSString` reads it, else 0.
private struct NumberPrefix {
    private let text: [UInt8]

    init(_ bytes: UnsafeRawBufferPointer) {
        text = Array(bytes.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }.prefix(1_000))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    private static func isSign(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") }

    private func digits(from start: Int) -> Int {
        var end = start
        while end < text.count, Self.isDigit(text[end]) { end += 1 }
        return end
    }

    private var start: Int { text.first.map { Self.isSign($0) ? 1 : 0 } ?? 0 }

    var integer: Int64 {
        let end = digits(from: start)
        guard end > start else { return 0 }
        let isNegative = text.first == UInt8(ascii: "-")
        return Int64(String(decoding: text[..<end], as: UTF8.self)) ?? (isNegative ? .min : .max)
    }

    var real: Double {
        var end = digits(from: start)
        var count = end - start
        if end < text.count, text[end] == UInt8(ascii: ".") {
            let fraction = digits(from: end + 1)
            count += fraction - end - 1
            end = fraction
        }
        guard count > 0 else { return 0 }
        if end < text.count, text[end] | 0x20 == UInt8(ascii: "e") {
            let sign = end + 1 < text.count && Self.isSign(text[end + 1]) ? 1 : 0
            let exponent = digits(from: end + 1 + sign)
            if exponent > end + 1 + sign { end = exponent }
        }
        var number = String(decoding: text[..<end], as: UTF8.self)
        if number.hasSuffix(".") { number.removeLast() }
        return Double(number) ?? 0
    }

    /// Whether the first character after sign and zeros is one of `Y`, `y`, `T`, `t` and 1 to 9.
    var isTrue: Bool {
        let first = text[start...].first { $0 != UInt8(ascii: "0") }
        return first.map { "YyTt123456789".utf8.contains($0) } ?? false
    }
}
