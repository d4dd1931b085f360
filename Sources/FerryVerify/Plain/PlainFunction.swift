internal import Foundation

/// A number that is either an integer or a double; booleans count as 0 and 1.
enum PlainNumber {
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
    /// - Returns: Negative, zero or positive; nil when one of the two is NaN.
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

/// The predefined functions: nil gives nil, two integers stay integers, anything else is computed as doubles.
enum PlainFunction {
    static func value(of selector: String, _ arguments: [PlainValue]) throws -> PlainValue {
        if arguments.contains(where: \.isNull) { return .null }
        switch selector {
        case "uppercase:": return .string(try text(selector, arguments).uppercased())
        case "lowercase:": return .string(try text(selector, arguments).lowercased())
        case "canonical:":
            return .string(
                try text(selector, arguments).folding(
                    options: [.caseInsensitive, .diacriticInsensitive], locale: nil))
        case "length": return .integer(Int64(try text(selector, arguments).utf16.count))
        default: break
        }
        if arguments.count == 2 {
            guard let operation = PlainOperator(rawValue: selector) else {
                throw PlainFailure("\(selector) is not known")
            }
            return try operation.value(arguments[0], arguments[1])
        }
        let numbers = try arguments.map { argument in
            guard let number = PlainNumber(argument) else { throw PlainFailure("\(selector) needs numbers") }
            return number
        }
        guard numbers.count == 1 else { throw PlainFailure("\(selector) has \(numbers.count) arguments") }
        return try unary(selector, numbers[0])
    }

    private static func text(_ selector: String, _ arguments: [PlainValue]) throws -> String {
        guard arguments.count == 1, case .text(let bytes) = arguments[0] else {
            throw PlainFailure("\(selector) needs text")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unary(_ selector: String, _ number: PlainNumber) throws -> PlainValue {
        if case .integer(let integer) = number {
            switch selector {
            case "floor:", "ceiling:", "trunc:": return .integer(integer)
            case "onesComplement:": return .integer(~integer)
            case "abs:":
                guard integer != .min else { throw PlainFailure("abs: exceeds 64 bits") }
                return .integer(abs(integer))
            default: break
            }
        }
        let value = number.real
        switch selector {
        case "sqrt:": return real(value.squareRoot())
        case "log:": return real(log10(value))
        case "ln:": return real(log(value))
        case "exp:": return real(exp(value))
        case "abs:": return real(abs(value))
        case "floor:": return real(value.rounded(.down))
        case "ceiling:": return real(value.rounded(.up))
        case "trunc:": return real(value.rounded(.towardZero))
        default: throw PlainFailure("\(selector) is not known")
        }
    }

    /// What is no number is nil, as a store keeps it.
    private static func real(_ value: Double) -> PlainValue { value.isNaN ? .null : .real(value) }
}
