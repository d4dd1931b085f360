internal import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Arithmetic such as `+ - * /`: two integers give an integer, other operands are computed as doubles, nil gives nil.
extension ScalarFunction {
    static let arithmetic: [ScalarFunction] = [
        binary("ferry_add", "add:to:", integer: { $0.addingReportingOverflow($1) }, real: +),
        binary("ferry_subtract", "from:subtract:", integer: { $0.subtractingReportingOverflow($1) }, real: -),
        binary("ferry_multiply", "multiply:by:", integer: { $0.multipliedReportingOverflow(by: $1) }, real: *),
        binary(
            "ferry_divide", "divide:by:", divides: true, integer: { $0.dividedReportingOverflow(by: $1) }, real: /),
        binary(
            "ferry_modulus", "modulus:by:", divides: true,
            // The smallest integer by -1 has no rest, although the quotient overflows.
            integer: { ($1 == -1 ? 0 : $0 % $1, false) }, real: { $0.truncatingRemainder(dividingBy: $1) }),
    ]

    private static func binary(
        _ name: String, _ title: String, divides: Bool = false,
        integer: @escaping @Sendable (Int64, Int64) -> (partialValue: Int64, overflow: Bool),
        real: @escaping @Sendable (Double, Double) -> Double
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            if divides, case .integer(0) = arguments[1], case .integer = arguments[0] {
                throw .row(title, "division by zero")
            }
            guard let left = try arguments[0].number(title), let right = try arguments[1].number(title) else { return }
            guard case .integer(let first) = left, case .integer(let second) = right else {
                return result.set(real(left.real, right.real))
            }
            let (value, overflow) = integer(first, second)
            if overflow { throw .row(title, "the result exceeds a 64-bit integer") }
            result.set(value)
        }
    }
}

/// Functions of numbers; nil gives nil, and so does a result that is not a real number (the root of a negative number).
extension ScalarFunction {
    static let powers: [ScalarFunction] = [
        ofNumbers("ferry_power", "raise:toPower:") { pow($0, $1) },
        ofNumber("ferry_sqrt", "sqrt:") { $0.squareRoot() },
        ofNumber("ferry_log", "log:") { log10($0) },
        ofNumber("ferry_ln", "ln:") { log($0) },
        ofNumber("ferry_exp", "exp:") { exp($0) },
    ]

    static let roundings: [ScalarFunction] = [
        rounding("ferry_floor", "floor:", .down),
        rounding("ferry_ceiling", "ceiling:", .up),
        rounding("ferry_trunc", "trunc:", .towardZero),
        ScalarFunction("ferry_abs", title: "abs:", arguments: 1) { arguments, result throws(FerryError) in
            switch try arguments[0].number("abs:") {
            case nil: break
            case .integer(.min): throw .row("abs:", "the result exceeds a 64-bit integer")
            case .integer(let integer): result.set(Swift.abs(integer))
            case .real(let real): result.set(Swift.abs(real))
            }
        },
    ]

    static func ofNumber(
        _ name: String, _ title: String, _ compute: @escaping @Sendable (Double) -> Double
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            guard let number = try arguments[0].number(title) else { return }
            result.set(compute(number.real))
        }
    }

    static func ofNumbers(
        _ name: String, _ title: String, _ compute: @escaping @Sendable (Double, Double) -> Double
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            guard let first = try arguments[0].number(title), let second = try arguments[1].number(title) else {
                return
            }
            result.set(compute(first.real, second.real))
        }
    }

    private static func rounding(
        _ name: String, _ title: String, _ rule: FloatingPointRoundingRule
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            switch try arguments[0].number(title) {
            case nil: break
            case .integer: result.set(argument: 0)
            case .real(let real): result.set(real.rounded(rule))
            }
        }
    }
}

/// Functions on the bits of 64-bit integers; nil gives nil.
extension ScalarFunction {
    static let bitwise: [ScalarFunction] = [
        bits("ferry_bitwise_and", "bitwiseAnd:with:") { $0 & $1 },
        bits("ferry_bitwise_or", "bitwiseOr:with:") { $0 | $1 },
        bits("ferry_bitwise_xor", "bitwiseXor:with:") { $0 ^ $1 },
        bits("ferry_left_shift", "leftshift:by:") { $0 << $1 },
        bits("ferry_right_shift", "rightshift:by:") { $0 >> $1 },
        ScalarFunction("ferry_ones_complement", title: "onesComplement:", arguments: 1) {
            arguments, result throws(FerryError) in
            guard let integer = try integer(arguments[0], "onesComplement:") else { return }
            result.set(~integer)
        },
    ]

    private static func bits(
        _ name: String, _ title: String, _ compute: @escaping @Sendable (Int64, Int64) -> Int64
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            guard let left = try integer(arguments[0], title), let right = try integer(arguments[1], title) else {
                return
            }
            result.set(compute(left, right))
        }
    }

    private static func integer(_ value: FunctionValue, _ title: String) throws(FerryError) -> Int64? {
        switch try value.number(title) {
        case nil: return nil
        case .integer(let integer): return integer
        case .real: throw .row(title, "expected an integer, found \(value.kind)")
        }
    }
}

/// Random functions such as `random()`, with equal numbers for the same object of the same run.
///
/// The numbers depend on the run's time, the object's key, the element of `forEach` and the place in the mapping only.
/// A resumed run, another chunk size and the verification therefore compute equal numbers.
extension ScalarFunction {
    static let draws: [ScalarFunction] = [
        ScalarFunction("ferry_random", title: "random", arguments: 4) { arguments, result throws(FerryError) in
            // A double between 0 and 1 has 53 bits.
            result.set(Double(bits(of: arguments) >> 11) * 0x1p-53)
        },
        ScalarFunction("ferry_random_below", title: "random:", arguments: 5) { arguments, result throws(FerryError) in
            guard let limit = try arguments[4].number("random:") else { return }
            guard case .integer(let count) = limit, count > 0 else {
                throw .row("random:", "expected a positive whole number")
            }
            let drawn = bits(of: UnsafeBufferPointer(rebasing: arguments.prefix(4)))
            result.set(Int64(drawn.multipliedFullWidth(by: UInt64(count)).high))
        },
    ]

    /// Returns the first eight bytes of the SHA-256 of the arguments, each with its kind and its length.
    private static func bits(of arguments: Arguments) -> UInt64 {
        var content: [UInt8] = []
        for argument in arguments {
            switch argument {
            case .null: content.append(0)
            case .integer(let integer):
                content.append(1)
                withUnsafeBytes(of: integer.bigEndian) { content += $0 }
            case .real(let real):
                content.append(2)
                withUnsafeBytes(of: real.bitPattern.bigEndian) { content += $0 }
            case .text(let bytes), .blob(let bytes):
                content.append(3)
                withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { content += $0 }
                content += bytes
            }
        }
        return SHA256.hash(content).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
