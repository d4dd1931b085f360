internal import FerryModel

/// A method that mapping models call on a value, by key (`$source.name.length`) or by `FUNCTION(value, 'selector:', …)`.
///
/// Nil gives nil, as a message to nil does.
struct ValueMethod: Sendable {
    /// What the method is called on, and what it is given.
    enum Kind: Sendable, Hashable { case text, uri, number, date, uuid, data }

    let selector: String
    let receivers: Set<Kind>
    let arguments: [Kind]
    /// The scalar function; nil where the value stays as it is.
    let function: String?
    let result: AttributeType

    static let all: [ValueMethod] = [
        ValueMethod("length", [.text], "ferry_length", .integer64),
        ValueMethod("length", [.data], "ferry_byte_count", .integer64),
        ValueMethod("uppercaseString", [.text], "ferry_uppercase", .string),
        ValueMethod("lowercaseString", [.text], "ferry_lowercase", .string),
        ValueMethod("capitalizedString", [.text], "ferry_capitalized", .string),
        ValueMethod("integerValue", [.text, .number], "ferry_integer_value", .integer64),
        ValueMethod("longLongValue", [.text, .number], "ferry_integer_value", .integer64),
        ValueMethod("intValue", [.text, .number], "ferry_integer_value", .integer64),
        ValueMethod("doubleValue", [.text, .number], "ferry_double_value", .double),
        ValueMethod("floatValue", [.text, .number], "ferry_double_value", .double),
        ValueMethod("boolValue", [.text, .number], "ferry_bool_value", .boolean),
        ValueMethod("stringValue", [.number], "ferry_to_string", .string),
        ValueMethod("lastPathComponent", [.text], "ferry_last_path_component", .string),
        ValueMethod("pathExtension", [.text], "ferry_path_extension", .string),
        ValueMethod("stringByDeletingLastPathComponent", [.text], "ferry_without_last_path_component", .string),
        ValueMethod("stringByDeletingPathExtension", [.text], "ferry_without_path_extension", .string),
        ValueMethod("absoluteString", [.uri], nil, .string),
        ValueMethod("UUIDString", [.uuid], "ferry_uuid_to_string", .string),
        ValueMethod("timeIntervalSinceReferenceDate", [.date], "ferry_to_double", .double),
        ValueMethod("timeIntervalSince1970", [.date], "ferry_since_1970", .double),
        ValueMethod("stringByAppendingString:", [.text], [.text], "ferry_append", .string),
        ValueMethod("substringFromIndex:", [.text], [.number], "ferry_substring_from", .string),
        ValueMethod("substringToIndex:", [.text], [.number], "ferry_substring_to", .string),
        ValueMethod(
            "stringByReplacingOccurrencesOfString:withString:", [.text], [.text, .text], "ferry_replace", .string),
        ValueMethod("hasPrefix:", [.text], [.text], "ferry_has_prefix", .boolean),
        ValueMethod("hasSuffix:", [.text], [.text], "ferry_has_suffix", .boolean),
        ValueMethod("containsString:", [.text], [.text], "ferry_contains", .boolean),
        ValueMethod("isEqualToString:", [.text], [.text], "ferry_is_text", .boolean),
        ValueMethod("dateByAddingTimeInterval:", [.date], [.number], "ferry_add_seconds", .date),
        ValueMethod("timeIntervalSinceDate:", [.date], [.date], "ferry_seconds_between", .double),
    ]

    private init(_ selector: String, _ receivers: Set<Kind>, _ function: String?, _ result: AttributeType) {
        self.init(selector, receivers, [], function, result)
    }

    private init(
        _ selector: String, _ receivers: Set<Kind>, _ arguments: [Kind], _ function: String?,
        _ result: AttributeType
    ) {
        self.selector = selector
        self.receivers = receivers
        self.arguments = arguments
        self.function = function
        self.result = result
    }
}

extension ValueMethod.Kind {
    /// What a value of a type is to its methods; nil for what has none.
    init?(_ type: ValueType) {
        switch type {
        case .attribute(.string): self = .text
        case .attribute(.uri): self = .uri
        case .attribute(.date): self = .date
        case .attribute(.uuid): self = .uuid
        case .attribute(.binary): self = .data
        case .attribute(let type) where type.isNumeric || type == .boolean: self = .number
        case .attribute, .null, .object, .dynamic: return nil
        }
    }
}

/// A function of Ferry's own for what migration policies are mostly written for, with the types that it takes.
struct TypedFunction: Sendable {
    let selector: String
    let arguments: [ValueMethod.Kind]
    let function: String
    let result: AttributeType

    static let all: [String: TypedFunction] = Dictionary(
        uniqueKeysWithValues: [
            TypedFunction("date:format:", [.text, .text], "ferry_date", .date),
            TypedFunction("date:format:zone:", [.text, .text, .text], "ferry_date", .date),
            TypedFunction("text:format:", [.date, .text], "ferry_date_text", .string),
            TypedFunction("text:format:zone:", [.date, .text, .text], "ferry_date_text", .string),
            TypedFunction("dateSince1970:", [.number], "ferry_date_since_1970", .date),
            TypedFunction("secondsSince1970:", [.date], "ferry_since_1970", .double),
            TypedFunction("split:by:at:", [.text, .text, .number], "ferry_part", .string),
            TypedFunction("hex:", [.data], "ferry_hex", .string),
            TypedFunction("dataFromHex:", [.text], "ferry_data_from_hex", .binary),
            TypedFunction("base64:", [.data], "ferry_base64", .string),
            TypedFunction("dataFromBase64:", [.text], "ferry_data_from_base64", .binary),
            TypedFunction("dataFromText:", [.text], "ferry_data_from_text", .binary),
            TypedFunction("textFromData:", [.data], "ferry_text_from_data", .string),
            TypedFunction("uuid:", [.text], "ferry_to_uuid", .uuid),
            TypedFunction("uuidFromName:", [.text], "ferry_uuid_from_name", .uuid),
        ].map { ($0.selector, $0) })

    private init(_ selector: String, _ arguments: [ValueMethod.Kind], _ function: String, _ result: AttributeType) {
        self.selector = selector
        self.arguments = arguments
        self.function = function
        self.result = result
    }
}
