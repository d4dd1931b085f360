internal import FerryBase
package import FerryModel

/// The type of a translated expression.
package enum ValueType: Sendable, Hashable {
    case null
    /// The storage of an attribute of this type, or nil.
    case attribute(AttributeType)
    /// The key of an object of this entity, or nil.
    case object(entity: String)
    /// A value of JSON, whose type differs by row.
    case dynamic
}

extension ValueType {
    var title: String {
        switch self {
        case .null: "nil"
        case .attribute(let type): type.sourceName
        case .object(let entity): "an object of \(entity)"
        case .dynamic: "a value of JSON"
        }
    }

    var isText: Bool { self == .attribute(.string) || self == .attribute(.uri) }

    /// Whether the type differs by row, or the value is always nil.
    var isUntyped: Bool { self == .dynamic || self == .null }

    var mayBeText: Bool { isText || isUntyped }

    /// Whether two such values compare as numbers.
    var isNumber: Bool { if case .attribute(let type) = self { type.isNumeric || type == .date } else { false } }

    var isInteger: Bool {
        if case .attribute(let type) = self { type.isInteger || type == .boolean } else { false }
    }

    /// Whether such a value is always stored as a real, so that SQL's own arithmetic applies.
    var isReal: Bool { self == .attribute(.double) || self == .attribute(.float) }
}

extension Expression.Constant {
    var type: ValueType {
        switch self {
        case .null: .null
        case .boolean: .attribute(.boolean)
        case .integer: .attribute(.integer64)
        case .double: .attribute(.double)
        case .string: .attribute(.string)
        }
    }
}

/// The conversion of a value to the storage of a destination attribute.
enum Conversion: Equatable {
    /// The value has the attribute's storage already.
    case unchanged
    case function(String)
    /// No conversion exists; the text is the reason and a remedy.
    case none(String)

    init(from value: ValueType, to type: AttributeType) {
        switch value {
        case .null: self = .unchanged
        case .dynamic: self = Self.fromDynamic(to: type)
        case .object: self = .none("an object is not an attribute value; name one of its attributes")
        case .attribute(let source) where source == type && type != .composite && type != .undefined:
            self = .unchanged
        case .attribute(let source): self = Self.from(source, to: type)
        }
    }

    private static func fromDynamic(to type: AttributeType) -> Conversion {
        switch type {
        case .uri: .function("ferry_to_string")
        case .binary, .transformable, .objectID, .composite, .undefined: .none("JSON has no values of that type")
        default: function[type].map(Conversion.function) ?? .none("JSON has no values of that type")
        }
    }

    private static func from(_ source: AttributeType, to type: AttributeType) -> Conversion {
        switch (source, type) {
        case (.integer16, .integer32), (.integer16, .integer64), (.integer32, .integer64), (.float, .double),
            (.string, .uri), (.uri, .string), (.binary, .transformable), (.transformable, .binary):
            return .unchanged
        case (.boolean, _) where type.isInteger: return .unchanged
        case (.uuid, .string): return .function("ferry_uuid_to_string")
        case (.string, .uuid): return .function("ferry_to_uuid")
        case (.date, .boolean), (.boolean, .date): return .none("a date and a Boolean have nothing in common")
        case (.date, .string), (.string, .date):
            return .none("text has no single date format; use date:format: or a migration policy")
        case (.date, _) where type.isNumeric, (.string, _) where type.isNumeric, (_, .date) where source.isNumeric,
            (_, .string) where source.isNumeric, (_, _) where source.isNumeric && type.isNumeric:
            return function[type].map(Conversion.function) ?? .unchanged
        default: return .none("there is no conversion between these types")
        }
    }

    /// The function that converts to the storage of a type.
    private static let function: [AttributeType: String] = [
        .integer16: "ferry_to_integer16", .integer32: "ferry_to_integer32", .integer64: "ferry_to_integer64",
        .decimal: "ferry_to_decimal", .double: "ferry_to_double", .float: "ferry_to_float",
        .string: "ferry_to_string", .boolean: "ferry_to_boolean", .date: "ferry_to_date", .uuid: "ferry_to_uuid",
    ]
}

extension AttributeType {
    /// Whether columns of this type and of another one store equal values alike; false also if there is no conversion.
    package func isStoredUnchanged(as other: AttributeType) -> Bool {
        Conversion(from: .attribute(self), to: other) == .unchanged
    }
}

extension Conversion {
    /// Converts a constant by the function for rows; throws `.badExpression` if the attribute cannot hold it.
    static func convert(
        _ constant: Expression.Constant, to attribute: Attribute
    ) throws(FerryError) -> Expression.Constant {
        if attribute.allowsExternalStorage, constant != .null {
            throw FerryError(
                .unsupported, "A constant was given for \(attribute.name), which is stored outside the database.",
                remedy: "Only the value of an attribute that is also stored outside can be copied to it.")
        }
        switch Conversion(from: constant.type, to: attribute.type) {
        case .unchanged: return constant
        case .none(let reason): throw refusal(constant, attribute, reason)
        case .function(let name):
            do {
                return try apply(name, to: constant, attribute)
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
        _ function: String, to constant: Expression.Constant, _ attribute: Attribute
    ) throws(FerryError) -> Expression.Constant {
        let call = RowEvaluator(BoundComputation(.call(function, [.constant(constant)])))
        var result = FunctionResult()
        try call.call(.init(start: nil, count: 0), result: &result)
        switch result.value {
        case .null: return .null
        case .integer(let integer): return attribute.type == .boolean ? .boolean(integer != 0) : .integer(integer)
        case .real(let real): return .double(real)
        case .text, .borrowedText, .argument: return .string(String(decoding: result.bytes, as: UTF8.self))
        case .blob where attribute.type == .uuid: return constant
        case .blob: throw refusal(constant, attribute, "there is no constant of that type")
        }
    }
}
