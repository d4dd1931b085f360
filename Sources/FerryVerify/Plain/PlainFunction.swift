internal import FerryBase
internal import FerryModel
internal import Foundation

/// A number that is either an integer or a double; booleans are 0 and 1.
enum PlainNumber: Hashable {
    case integer(Int64)
    case real(Double)

    init?(_ value: PlainValue) {
        switch value {
        case .boolean(let flag): self = .integer(flag ? 1 : 0)
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        default: return nil
        }
    }

    var real: Double {
        switch self {
        case .integer(let integer): Double(integer)
        case .real(let real): real
        }
    }

    /// The exact order: no integer is rounded to a double.
    ///
    /// - Returns: Negative, zero or positive; nil if one of the two is NaN.
    func order(to other: PlainNumber) -> Int? {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): return left < right ? -1 : left > right ? 1 : 0
        case (.real(let left), .real(let right)):
            if left.isNaN || right.isNaN { return nil }
            return left < right ? -1 : left > right ? 1 : 0
        case (.integer(let integer), .real(let real)): return PlainNumber.order(integer, real)
        case (.real(let real), .integer(let integer)): return PlainNumber.order(integer, real).map { -$0 }
        }
    }

    private static func order(_ integer: Int64, _ real: Double) -> Int? {
        if real.isNaN { return nil }
        if real >= 0x1p63 { return -1 }
        if real < -0x1p63 { return 1 }
        let floor = real.rounded(.down)
        let whole = Int64(floor)
        if integer != whole { return integer < whole ? -1 : 1 }
        return floor < real ? -1 : 0
    }
}

/// A predefined function of two numbers: two integers stay integers, anything else is computed as doubles.
struct PlainOperator: Sendable {
    let selector: String
    /// Nil for a function of doubles only.
    var integers: (@Sendable (Int64, Int64) -> (partialValue: Int64, overflow: Bool))?
    /// Nil for a function of integers only.
    var reals: (@Sendable (Double, Double) -> Double)?

    static let all: [String: PlainOperator] = Dictionary(
        uniqueKeysWithValues: [
            PlainOperator(selector: "add:to:", integers: { $0.addingReportingOverflow($1) }, reals: { $0 + $1 }),
            PlainOperator(
                selector: "from:subtract:", integers: { $0.subtractingReportingOverflow($1) }, reals: { $0 - $1 }),
            PlainOperator(
                selector: "multiply:by:", integers: { $0.multipliedReportingOverflow(by: $1) }, reals: { $0 * $1 }),
            PlainOperator(
                selector: "divide:by:", integers: { $0.dividedReportingOverflow(by: $1) }, reals: { $0 / $1 }),
            // The remainder by -1 is 0, although the quotient of the smallest integer overflows.
            PlainOperator(
                selector: "modulus:by:",
                integers: { $1 == -1 ? (0, false) : $0.remainderReportingOverflow(dividingBy: $1) },
                reals: { $0.truncatingRemainder(dividingBy: $1) }),
            PlainOperator(selector: "raise:toPower:", reals: { pow($0, $1) }),
            PlainOperator(selector: "bitwiseAnd:with:", integers: { ($0 & $1, false) }),
            PlainOperator(selector: "bitwiseOr:with:", integers: { ($0 | $1, false) }),
            PlainOperator(selector: "bitwiseXor:with:", integers: { ($0 ^ $1, false) }),
            PlainOperator(selector: "leftshift:by:", integers: { ($0 << $1, false) }),
            PlainOperator(selector: "rightshift:by:", integers: { ($0 >> $1, false) }),
        ].map { ($0.selector, $0) })

    /// - Returns: Nil if an argument is nil, or the result is NaN.
    func value(_ left: PlainValue, _ right: PlainValue) throws -> PlainValue {
        if left.isNull || right.isNull { return .null }
        guard let left = PlainNumber(left), let right = PlainNumber(right) else {
            throw PlainFailure("\(selector) needs numbers")
        }
        if let integers, case .integer(let first) = left, case .integer(let second) = right {
            let (value, overflow) = integers(first, second)
            if overflow { throw PlainFailure("\(selector) exceeds 64 bits or divides by zero") }
            return .integer(value)
        }
        guard let reals else { throw PlainFailure("\(selector) needs integers") }
        return .number(reals(left.real, right.real))
    }
}

/// The functions of values alone; an argument that is nil gives nil.
enum PlainFunction {
    typealias Body = @Sendable ([PlainValue]) throws -> PlainValue

    static func value(of selector: String, _ arguments: [PlainValue]) throws -> PlainValue {
        guard let function = named(selector, operands: arguments.count) else {
            throw PlainFailure("\(selector) is not known")
        }
        return try function(arguments)
    }

    /// The function of a selector for a number of operands.
    static func named(_ selector: String, operands count: Int) -> Body? {
        if count == 2, let operation = PlainOperator.all[selector] { return { try operation.value($0[0], $0[1]) } }
        let colons = selector.utf8.lazy.filter { $0 == UInt8(ascii: ":") }.count
        guard let body = all[selector], count == max(1, colons) else { return nil }
        return { $0.contains(where: \.isNull) ? .null : try body($0) }
    }

    private static let all: [String: Body] = [
        "uppercase:": { .string(try text($0[0]).uppercased()) },
        "lowercase:": { .string(try text($0[0]).lowercased()) },
        "canonical:": {
            .string(try text($0[0]).folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil))
        },
        "length": { .integer(Int64(try text($0[0]).utf16.count)) },
        "sqrt:": real { $0.squareRoot() }, "log:": real { log10($0) }, "ln:": real { log($0) },
        "exp:": real { exp($0) },
        "floor:": whole { $0.rounded(.down) }, "ceiling:": whole { $0.rounded(.up) },
        "trunc:": whole { $0.rounded(.towardZero) },
        "abs:": { arguments in
            guard case .integer(let integer)? = PlainNumber(arguments[0]) else {
                return .number(abs(try number(arguments[0])))
            }
            guard integer != .min else { throw PlainFailure("abs: exceeds 64 bits") }
            return .integer(abs(integer))
        },
        "onesComplement:": { arguments in
            guard case .integer(let integer)? = PlainNumber(arguments[0]) else {
                throw PlainFailure("onesComplement: needs an integer")
            }
            return .integer(~integer)
        },
        "plist:": { try PlainPropertyList.value(in: $0[0], under: "") },
        "plist:key:": { try PlainPropertyList.value(in: $0[0], under: text($0[1])) },
        "date:format:": date, "date:format:zone:": date, "text:format:": dateText, "text:format:zone:": dateText,
        "dateSince1970:": { .number(try number($0[0]) - 978_307_200) },
        "secondsSince1970:": { .number(try number($0[0]) + 978_307_200) },
        "hex:": { .string(try data($0[0]).map { String(format: "%02X", Int($0)) }.joined()) },
        "dataFromHex:": { .blob(try hexadecimal(text($0[0]))) },
        "base64:": { .string(Data(try data($0[0])).base64EncodedString()) },
        "dataFromBase64:": { arguments in
            guard let data = Data(base64Encoded: try text(arguments[0])) else { throw PlainFailure("not Base64") }
            return .blob(Array(data))
        },
        "dataFromText:": { .blob(Array(try text($0[0]).utf8)) },
        "textFromData:": { arguments in
            guard let text = String(utf8: try data(arguments[0])) else { throw PlainFailure("not UTF-8") }
            return .string(text)
        },
        "uuid:": { try PlainConversion.stored(.string(try text($0[0])), as: .uuid) },
        "uuidFromName:": { arguments in
            var bytes = SHA256.hash(Array(try text(arguments[0]).utf8))
            bytes.removeLast(16)
            (bytes[6], bytes[8]) = (0x80 + bytes[6] % 16, 0x80 + bytes[8] % 64)
            return .blob(bytes)
        },
    ]

    private static func real(_ body: @escaping @Sendable (Double) -> Double) -> Body {
        { .number(body(try number($0[0]))) }
    }

    /// A function that leaves integers as they are.
    private static func whole(_ body: @escaping @Sendable (Double) -> Double) -> Body {
        { arguments in
            if case .integer(let integer)? = PlainNumber(arguments[0]) { return .integer(integer) }
            return .number(body(try number(arguments[0])))
        }
    }

    private static func dateText(_ arguments: [PlainValue]) throws -> PlainValue {
        let zone = arguments.count > 2 ? try text(arguments[2]) : "GMT"
        let given = try text(arguments[1])
        let pattern = given == "iso8601" ? "yyyy-MM-dd'T'HH:mm:ss.SSSXXX" : given
        let seconds = try number(arguments[0])
        guard seconds > -3e12, seconds < 3e12 else { throw PlainFailure("the date is out of range") }
        return .string(try formatter(pattern, zone).string(from: Date(timeIntervalSinceReferenceDate: seconds)))
    }

    private static func date(_ arguments: [PlainValue]) throws -> PlainValue {
        let (text, pattern) = (try text(arguments[0]), try text(arguments[1]))
        if pattern == "iso8601" { return .real(try isoSeconds(text)) }
        let zone = arguments.count > 2 ? try self.text(arguments[2]) : "GMT"
        guard let date = try formatter(pattern, zone).date(from: text) else {
            throw PlainFailure("the text does not match the date format")
        }
        return .real(date.timeIntervalSinceReferenceDate)
    }

    // MARK: Arguments

    private static func text(_ value: PlainValue) throws -> String {
        guard case .text(let bytes) = value else { throw PlainFailure("a function needs text") }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func data(_ value: PlainValue) throws -> [UInt8] {
        guard case .blob(let bytes) = value else { throw PlainFailure("a function needs data") }
        return bytes
    }

    private static func number(_ value: PlainValue) throws -> Double {
        guard let number = PlainNumber(value) else { throw PlainFailure("a function needs a number") }
        return number.real
    }

    private static func hexadecimal(_ text: String) throws -> [UInt8] {
        let digits = Array(text.unicodeScalars)
        guard digits.count % 2 == 0, digits.allSatisfy({ $0.isASCII }) else {
            throw PlainFailure("not hexadecimal data")
        }
        return try stride(from: 0, to: digits.count, by: 2).map { place in
            guard let high = Character(digits[place]).hexDigitValue,
                let low = Character(digits[place + 1]).hexDigitValue
            else { throw PlainFailure("not hexadecimal data") }
            return UInt8(high * 16 + low)
        }
    }

    // MARK: Dates

    private static func formatter(_ pattern: String, _ zone: String) throws -> DateFormatter {
        guard let timeZone = TimeZone(identifier: zone) else { throw PlainFailure("the time zone is not known") }
        let formatter = DateFormatter()
        (formatter.locale, formatter.timeZone) = (Locale(identifier: "en_US_POSIX"), timeZone)
        (formatter.calendar, formatter.isLenient) = (Calendar(identifier: .gregorian), false)
        formatter.dateFormat = pattern
        return formatter
    }

    /// Day, then hour and minute, then second and fraction, then the zone.
    private static let form =
        "\\A([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,18}))?)?"
        + "(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?\\z"

    /// Parses ISO 8601 by a regular expression, and computes with Julian day numbers.
    static func isoSeconds(_ text: String) throws -> Double {
        let whole = NSRange(text.startIndex..., in: text)
        guard let match = try NSRegularExpression(pattern: form).firstMatch(in: text, range: whole) else {
            throw PlainFailure("not an ISO 8601 date")
        }
        func group(_ index: Int) -> String? { Range(match.range(at: index), in: text).map { String(text[$0]) } }
        func number(_ index: Int) -> Int { group(index).flatMap { Int($0) } ?? 0 }
        let (year, month, day) = (number(1), number(2), number(3))
        guard (1...12).contains(month), day >= 1, number(4) < 24, number(5) < 60, number(6) < 60, number(9) < 24,
            number(10) < 60
        else { throw PlainFailure("not a time of day") }
        func julian(_ year: Int, _ month: Int, _ day: Int) -> Int {
            let before = (14 - month) / 12
            let (shifted, march) = (year + 4800 - before, month + 12 * before - 3)
            return day + (153 * march + 2) / 5 + 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 - 32045
        }
        let next = month == 12 ? julian(year + 1, 1, 1) : julian(year, month + 1, 1)
        guard julian(year, month, day) < next else { throw PlainFailure("not a date") }
        let days = julian(year, month, day) - julian(2001, 1, 1)
        let offset = (number(9) * 3600 + number(10) * 60) * (group(8) == "-" ? -1 : 1)
        let seconds = days * 86_400 + number(4) * 3600 + number(5) * 60 + number(6) - offset
        return Double(seconds) + (group(7).flatMap { Double("0." + $0) } ?? 0)
    }
}
