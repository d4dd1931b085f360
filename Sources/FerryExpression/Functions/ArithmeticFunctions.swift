internal import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// `+ - * /` and their kin: two integers stay integers, anything else is computed as doubles, nil gives nil.
extension ScalarFunction {
    static let arithmetic: [ScalarFunction] = [
        binary("ferry_add", "add:to:", integer: { $0.addingReportingOverflow($1) }, real: +),
        binary("ferry_subtract", "from:subtract:", integer: { $0.subtractingReportingOverflow($1) }, real: -),
        binary("ferry_multiply", "multiply:by:", integer: { $0.multipliedReportingOverflow(by: $1) }, real: *),
        division(
            "ferry_divide", "divide:by:", integer: { $0.dividedReportingOverflow(by: $1) }, real: { $0 / $1 }),
        division(
            "ferry_modulus", "modulus:by:",
            // The smallest integer by -1 leaves no rest, although the quotient overflows.
            integer: { ($1 == -1 ? 0 : $0 % $1, false) }, real: { $0.truncatingRemainder(dividingBy: $1) }),
        ScalarFunction("ferry_power", title: "raise:toPower:", arguments: 2) {
            arguments, result throws(FerryError) in
            guard let base = try arguments[0].number("raise:toPower:"),
                let exponent = try arguments[1].number("raise:toPower:")
            else { return }
            result.set(pow(base.real, exponent.real))
        },
    ]

    private static func division(
        _ name: String, _ title: String,
        integer: @escaping @Sendable (Int64, Int64) -> (partialValue: Int64, overflow: Bool),
        real: @escaping @Sendable (Double, Double) -> Double
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            if case .integer(0) = arguments[1], case .integer = arguments[0] { throw .row(title, "divides by zero") }
            try apply(title, arguments, &result, integer, real)
        }
    }

    private static func binary(
        _ name: String, _ title: String,
        integer: @escaping @Sendable (Int64, Int64) -> (partialValue: Int64, overflow: Bool),
        real: @escaping @Sendable (Double, Double) -> Double
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            try apply(title, arguments, &result, integer, real)
        }
    }

    private static func apply(
        _ title: String, _ arguments: Arguments, _ result: inout FunctionResult,
        _ integer: (Int64, Int64) -> (partialValue: Int64, overflow: Bool), _ real: (Double, Double) -> Double
    ) throws(FerryError) {
        guard let left = try arguments[0].number(title), let right = try arguments[1].number(title) else { return }
        guard case .integer(let first) = left, case .integer(let second) = right else {
            return result.set(real(left.real, right.real))
        }
        let (value, overflow) = integer(first, second)
        if overflow { throw .row(title, "exceeds a 64-bit integer") }
        result.set(value)
    }
}
