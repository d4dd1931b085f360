internal import FerryBase
internal import FerryModel

/// Converts a constant once, before a statement is built, by the function that would convert a row's value.
enum ConstantConversion {
    /// - Throws: ``FerryError`` `.badExpression` when the attribute cannot hold the constant.
    static func convert(
        _ constant: Expression.Constant, to attribute: Attribute
    ) throws(FerryError) -> Expression.Constant {
        if attribute.allowsExternalStorage, constant != .null {
            throw FerryError(
                .unsupported, "A constant was given for \(attribute.name), which is stored outside of the database.",
                remedy: "Only the value of an attribute that is stored outside itself can be taken over.")
        }
        switch Conversion(from: constant.type, to: attribute.type) {
        case .unchanged: return constant
        case .none(let reason): throw refusal(constant, attribute, reason)
        case .function(let name):
            guard let function = ScalarFunction.named(name) else { preconditionFailure("no function \(name)") }
            do {
                return try apply(function, to: constant, attribute)
            } catch  where error.code == .rowFailed {
                throw refusal(constant, attribute, error.message)
            }
        }
    }

    private static func refusal(
        _ constant: Expression.Constant, _ attribute: Attribute, _ reason: String
    ) -> FerryError {
        FerryError(
            .badExpression,
            "`\(constant)` was given for \(attribute.name), which is \(attribute.type.sourceName): \(reason)",
            remedy: "Write a constant of the attribute's type.", place: FerryError.Place(property: attribute.name))
    }

    private static func apply(
        _ function: ScalarFunction, to constant: Expression.Constant, _ attribute: Attribute
    ) throws(FerryError) -> Expression.Constant {
        var result = FunctionResult()
        switch constant {
        case .null: return .null
        case .boolean(let flag): try call(function, .integer(flag ? 1 : 0), &result)
        case .integer(let integer): try call(function, .integer(integer), &result)
        case .double(let double): try call(function, .real(double), &result)
        case .string(let string):
            let bytes = Array(string.utf8)
            let outcome: Result<Void, FerryError> = bytes.withUnsafeBytes { bytes in
                Result { () throws(FerryError) in try call(function, .text(bytes), &result) }
            }
            try outcome.get()
        }
        switch result.value {
        case .null: return .null
        case .integer(let integer): return attribute.type == .boolean ? .boolean(integer != 0) : .integer(integer)
        case .real(let real): return .double(real)
        case .argument: return constant
        case .text, .borrowedText: return .string(String(decoding: result.bytes, as: UTF8.self))
        case .blob where attribute.type == .uuid: return constant
        case .blob: throw refusal(constant, attribute, "a constant has no form for it")
        }
    }

    private static func call(
        _ function: ScalarFunction, _ value: FunctionValue, _ result: inout FunctionResult
    ) throws(FerryError) {
        let outcome: Result<Void, FerryError> = withUnsafePointer(to: value) { pointer in
            Result { () throws(FerryError) in
                try function.call(UnsafeBufferPointer(start: pointer, count: 1), result: &result)
            }
        }
        try outcome.get()
    }
}
