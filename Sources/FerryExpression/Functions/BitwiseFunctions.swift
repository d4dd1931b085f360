internal import FerryBase

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
        case .real: throw .row(title, "needs an integer and was given \(value.kind)")
        }
    }
}
