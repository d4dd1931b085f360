internal import FerryModel

/// A predefined function of the language, by its selector.
struct PredefinedFunction {
    let selector: String
    let argumentCount: Int
    /// The scalar function of numbers that computes the function; nil for functions with their own translation.
    var function: String?
    /// The type of the result, if the operands do not decide it; for whole numbers only, Integer 64.
    var result: AttributeType?

    /// Functions of the language without values in any store, with the reason.
    static let refused = [
        "distanceToLocation:fromLocation:": "needs locations (CLLocation), which no attribute type can hold"
    ]

    /// Functions with their own translation.
    private static let others = [
        ("now", 0), ("castObject:toType:", 2), ("noindex:", 1),
        // Only in Ferry: the first value, or the second if the first is nil.
        (Expression.ifNilSelector, 2),
        // Only in Ferry: the values of a list except nil, with a text between them.
        ("join:with:", 2),
        // Only in Ferry: the entry of a mapping file's table for a value; the table's content replaces its name.
        (Expression.tableSelector, 2),
        ("random", 0), ("random:", 1), ("randomn:", 1), ("distanceToLocation:fromLocation:", 2), ("plist:", 1),
        ("plist:key:", 2), ("sum:", 1), ("count:", 1), ("min:", 1), ("max:", 1), ("average:", 1), ("median:", 1),
        ("mode:", 1), ("stddev:", 1),
    ]

    static let all: [String: PredefinedFunction] = {
        var all = others.map { PredefinedFunction(selector: $0.0, argumentCount: $0.1) }
        let numbers: [([ScalarFunction], AttributeType?)] = [
            (ScalarFunction.arithmetic + ScalarFunction.roundings, nil), (ScalarFunction.powers, .double),
            (ScalarFunction.bitwise, .integer64),
        ]
        for (functions, result) in numbers {
            all += functions.map {
                .init(selector: $0.title, argumentCount: $0.argumentCount, function: $0.name, result: result)
            }
        }
        all += SetOperator.allCases.map { .init(selector: $0.rawValue, argumentCount: 2) }
        all += TypedFunction.all.values.map { .init(selector: $0.selector, argumentCount: $0.arguments.count) }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.selector, $0) })
    }()
}

/// A function with the types of its arguments; nil gives nil, as a message to nil does.
struct TypedFunction: Sendable {
    enum Kind: Sendable, Hashable { case text, uri, number, date, uuid, data }

    let selector: String
    /// The kinds of values that have the method; empty for a function.
    let receivers: Set<Kind>
    let arguments: [Kind]
    /// The scalar function; nil if the value stays unchanged.
    let function: String?
    let result: AttributeType

    /// Methods of values, called by key (`$source.name.length`) or by `FUNCTION(value, 'selector:', …)`.
    static let methods: [TypedFunction] = [
        TypedFunction("length", of: [.text], "ferry_length", .integer64),
        TypedFunction("length", of: [.data], "ferry_byte_count", .integer64),
        TypedFunction("uppercaseString", of: [.text], "ferry_uppercase", .string),
        TypedFunction("lowercaseString", of: [.text], "ferry_lowercase", .string),
        TypedFunction("capitalizedString", of: [.text], "ferry_capitalized", .string),
        TypedFunction("integerValue", of: [.text, .number], "ferry_integer_value", .integer64),
        TypedFunction("longLongValue", of: [.text, .number], "ferry_integer_value", .integer64),
        TypedFunction("intValue", of: [.text, .number], "ferry_integer_value", .integer64),
        TypedFunction("doubleValue", of: [.text, .number], "ferry_double_value", .double),
        TypedFunction("floatValue", of: [.text, .number], "ferry_double_value", .double),
        TypedFunction("boolValue", of: [.text, .number], "ferry_bool_value", .boolean),
        TypedFunction("stringValue", of: [.number], "ferry_to_string", .string),
        TypedFunction("lastPathComponent", of: [.text], "ferry_last_path_component", .string),
        TypedFunction("pathExtension", of: [.text], "ferry_path_extension", .string),
        TypedFunction("stringByDeletingLastPathComponent", of: [.text], "ferry_without_last_path_component", .string),
        TypedFunction("stringByDeletingPathExtension", of: [.text], "ferry_without_path_extension", .string),
        TypedFunction("absoluteString", of: [.uri], nil, .string),
        TypedFunction("UUIDString", of: [.uuid], "ferry_uuid_to_string", .string),
        TypedFunction("timeIntervalSinceReferenceDate", of: [.date], "ferry_to_double", .double),
        TypedFunction("timeIntervalSince1970", of: [.date], "ferry_since_1970", .double),
        TypedFunction("stringByAppendingString:", of: [.text], taking: [.text], "ferry_append", .string),
        TypedFunction("substringFromIndex:", of: [.text], taking: [.number], "ferry_substring_from", .string),
        TypedFunction("substringToIndex:", of: [.text], taking: [.number], "ferry_substring_to", .string),
        TypedFunction(
            "stringByReplacingOccurrencesOfString:withString:", of: [.text], taking: [.text, .text], "ferry_replace",
            .string),
        TypedFunction("hasPrefix:", of: [.text], taking: [.text], "ferry_has_prefix", .boolean),
        TypedFunction("hasSuffix:", of: [.text], taking: [.text], "ferry_has_suffix", .boolean),
        TypedFunction("containsString:", of: [.text], taking: [.text], "ferry_contains", .boolean),
        TypedFunction("isEqualToString:", of: [.text], taking: [.text], "ferry_is_text", .boolean),
        TypedFunction("dateByAddingTimeInterval:", of: [.date], taking: [.number], "ferry_add_seconds", .date),
        TypedFunction("timeIntervalSinceDate:", of: [.date], taking: [.date], "ferry_seconds_between", .double),
    ]

    /// Functions of text, and Ferry's own functions for the most frequent tasks of migration policies.
    static let all: [String: TypedFunction] = Dictionary(
        uniqueKeysWithValues: [
            TypedFunction("date:format:", taking: [.text, .text], "ferry_date", .date),
            TypedFunction("date:format:zone:", taking: [.text, .text, .text], "ferry_date", .date),
            TypedFunction("text:format:", taking: [.date, .text], "ferry_date_text", .string),
            TypedFunction("text:format:zone:", taking: [.date, .text, .text], "ferry_date_text", .string),
            TypedFunction("dateSince1970:", taking: [.number], "ferry_date_since_1970", .date),
            TypedFunction("secondsSince1970:", taking: [.date], "ferry_since_1970", .double),
            TypedFunction("split:by:at:", taking: [.text, .text, .number], "ferry_part", .string),
            TypedFunction("hex:", taking: [.data], "ferry_hex", .string),
            TypedFunction("dataFromHex:", taking: [.text], "ferry_data_from_hex", .binary),
            TypedFunction("base64:", taking: [.data], "ferry_base64", .string),
            TypedFunction("dataFromBase64:", taking: [.text], "ferry_data_from_base64", .binary),
            TypedFunction("dataFromText:", taking: [.text], "ferry_data_from_text", .binary),
            TypedFunction("textFromData:", taking: [.data], "ferry_text_from_data", .string),
            TypedFunction("uuid:", taking: [.text], "ferry_to_uuid", .uuid),
            TypedFunction("uuidFromName:", taking: [.text], "ferry_uuid_from_name", .uuid),
            TypedFunction("uppercase:", taking: [.text], "ferry_uppercase", .string),
            TypedFunction("lowercase:", taking: [.text], "ferry_lowercase", .string),
            TypedFunction("canonical:", taking: [.text], "ferry_canonical", .string),
        ].map { ($0.selector, $0) })

    private init(
        _ selector: String, of receivers: Set<Kind> = [], taking arguments: [Kind] = [], _ function: String?,
        _ result: AttributeType
    ) {
        self.selector = selector
        self.receivers = receivers
        self.arguments = arguments
        self.function = function
        self.result = result
    }
}

extension TypedFunction.Kind {
    /// The kind of a value type for its methods; nil for a type without methods.
    init?(_ type: ValueType) {
        switch type {
        case .attribute(.string): self = .text
        case .attribute(.uri): self = .uri
        case .attribute(.date): self = .date
        case .attribute(.uuid): self = .uuid
        case .attribute(.binary): self = .data
        case .attribute(let type) where type.isNumeric: self = .number
        case .attribute, .null, .object, .dynamic: return nil
        }
    }
}
