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
        let numbers = try arguments.map { argument in
            guard let number = PlainNumber(argument) else { throw PlainFailure("\(selector) needs numbers") }
            return number
        }
        if numbers.count == 2 { return try binary(selector, numbers[0], numbers[1]) }
        guard numbers.count == 1 else { throw PlainFailure("\(selector) has \(numbers.count) arguments") }
        return try unary(selector, numbers[0])
    }

    private static func text(_ selector: String, _ arguments: [PlainValue]) throws -> String {
        guard arguments.count == 1, case .text(let bytes) = arguments[0] else {
            throw PlainFailure("\(selector) needs text")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func binary(_ selector: String, _ left: PlainNumber, _ right: PlainNumber) throws -> PlainValue {
        if selector == "raise:toPower:" { return real(pow(left.real, right.real)) }
        guard case .integer(let first) = left, case .integer(let second) = right else {
            switch selector {
            case "add:to:": return real(left.real + right.real)
            case "from:subtract:": return real(left.real - right.real)
            case "multiply:by:": return real(left.real * right.real)
            case "divide:by:": return real(left.real / right.real)
            case "modulus:by:": return real(left.real.truncatingRemainder(dividingBy: right.real))
            default: throw PlainFailure("\(selector) needs integers, or is not known")
            }
        }
        return .integer(try binary(selector, first, second))
    }

    private static func binary(_ selector: String, _ left: Int64, _ right: Int64) throws -> Int64 {
        let result: (partialValue: Int64, overflow: Bool)
        switch selector {
        case "add:to:": result = left.addingReportingOverflow(right)
        case "from:subtract:": result = left.subtractingReportingOverflow(right)
        case "multiply:by:": result = left.multipliedReportingOverflow(by: right)
        case "divide:by:": result = left.dividedReportingOverflow(by: right)
        case "modulus:by:":
            // By -1 nothing is left over, although the quotient of the smallest integer overflows.
            result = right == -1 ? (0, false) : left.remainderReportingOverflow(dividingBy: right)
        case "bitwiseAnd:with:": return left & right
        case "bitwiseOr:with:": return left | right
        case "bitwiseXor:with:": return left ^ right
        case "leftshift:by:": return left << right
        case "rightshift:by:": return left >> right
        default: throw PlainFailure("\(selector) is not known")
        }
        if result.overflow { throw PlainFailure("\(selector) exceeds 64 bits or divides by zero") }
        return result.partialValue
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
