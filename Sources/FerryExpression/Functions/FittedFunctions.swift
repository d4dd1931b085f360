internal import FerryBase

/// A number that is computed and made to fit an attribute in one call.
///
/// What SQLite and we do around a call takes longer than most functions, and a computed number rarely has the type of
/// the attribute that takes it. What is computed is what the two functions give one after the other.
extension ScalarFunction {
    /// The name of the function that does the work of both.
    ///
    /// - Parameters:
    ///   - outer: The function that is called with the other one's value.
    ///   - inner: The function whose value it is.
    /// - Returns: Nil where the two are called one by one.
    static func fitted(_ outer: String, of inner: String) -> String? {
        let name = name(outer, of: inner)
        return named(name) == nil ? nil : name
    }

    /// For the types that no computed number has by itself; a connection has to be told of each function.
    static let fitted: [ScalarFunction] = (arithmetic + text).filter { computations.contains($0.name) }.flatMap {
        inner in
        conversions.filter { fittings.contains($0.name) }.map { fitted($0, of: inner) }
    }

    private static let computations: Set = [
        "ferry_add", "ferry_subtract", "ferry_multiply", "ferry_divide", "ferry_length",
    ]
    private static let fittings: Set = [
        "ferry_to_integer16", "ferry_to_integer32", "ferry_to_decimal", "ferry_to_float",
    ]

    private static func name(_ outer: String, of inner: String) -> String {
        inner + outer.dropFirst("ferry".utf8.count)
    }

    private static func fitted(_ outer: ScalarFunction, of inner: ScalarFunction) -> ScalarFunction {
        ScalarFunction(
            name(outer.name, of: inner.name), title: inner.title, arguments: inner.argumentCount
        ) { arguments, result throws(FerryError) in
            try inner.call(arguments, result: &result)
            let value: FunctionValue
            switch result.value {
            case .null: return
            case .integer(let integer): value = .integer(integer)
            case .real(let real): value = .real(real)
            case .text, .blob, .borrowedText, .argument: preconditionFailure("\(inner.name) computes a number")
            }
            try withUnsafePointer(to: value) { pointer throws(FerryError) in
                try outer.call(UnsafeBufferPointer(start: pointer, count: 1), result: &result)
            }
        }
    }
}
