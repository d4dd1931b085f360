internal import FerryBase
package import FerryModel

/// How a value becomes what a destination attribute stores.
enum Conversion: Equatable {
    /// The value's storage is the attribute's own.
    case unchanged
    /// Through this scalar function.
    case function(String)
    /// There is none; why, and what to do instead.
    case none(String)

    init(from value: ValueType, to type: AttributeType) {
        switch value {
        case .null: self = .unchanged
        case .dynamic: self = Self.fromDynamic(to: type)
        case .object: self = .none("an object of the source is no attribute value; follow one of its attributes")
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
            return .none("text has no one form for dates; convert it in a migration policy")
        case (.date, _) where type.isNumeric, (.string, _) where type.isNumeric:
            return function[type].map(Conversion.function) ?? .unchanged
        case (_, .date) where source.isNumeric, (_, .string) where source.isNumeric,
            (_, _) where source.isNumeric && type.isNumeric:
            return function[type].map(Conversion.function) ?? .unchanged
        default: return .none("there is no conversion between these types")
        }
    }

    /// The function that makes the storage of a type.
    private static let function: [AttributeType: String] = [
        .integer16: "ferry_to_integer16", .integer32: "ferry_to_integer32", .integer64: "ferry_to_integer64",
        .decimal: "ferry_to_decimal", .double: "ferry_to_double", .float: "ferry_to_float",
        .string: "ferry_to_string", .boolean: "ferry_to_boolean", .date: "ferry_to_date", .uuid: "ferry_to_uuid",
    ]
}

extension AttributeType {
    /// Whether a column of this type holds what a column of another one would hold for the same value.
    ///
    /// - Parameter other: The type of the attribute that takes the value over.
    /// - Returns: False also where there is no conversion.
    package func isStoredUnchanged(as other: AttributeType) -> Bool {
        Conversion(from: .attribute(self), to: other) == .unchanged
    }
}
