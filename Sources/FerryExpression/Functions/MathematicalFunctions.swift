internal import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Functions of one number; nil gives nil, and so does what is no real number (the root of a negative one).
extension ScalarFunction {
    static let mathematics: [ScalarFunction] = [
        real("ferry_sqrt", "sqrt:") { $0.squareRoot() },
        real("ferry_log", "log:") { log10($0) },
        real("ferry_ln", "ln:") { log($0) },
        real("ferry_exp", "exp:") { exp($0) },
        rounding("ferry_floor", "floor:", .down),
        rounding("ferry_ceiling", "ceiling:", .up),
        rounding("ferry_trunc", "trunc:", .towardZero),
        ScalarFunction("ferry_abs", title: "abs:", arguments: 1) { arguments, result throws(FerryError) in
            switch try arguments[0].number("abs:") {
            case nil: break
            case .integer(.min): throw .row("abs:", "exceeds a 64-bit integer")
            case .integer(let integer): result.set(Swift.abs(integer))
            case .real(let real): result.set(Swift.abs(real))
            }
        },
    ]

    private static func real(
        _ name: String, _ title: String, _ compute: @escaping @Sendable (Double) -> Double
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            guard let number = try arguments[0].number(title) else { return }
            result.set(compute(number.real))
        }
    }

    /// Integers stay as they are.
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
