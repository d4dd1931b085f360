internal import FerryModel

/// A predefined function of the language, by its selector.
struct PredefinedFunction {
    let selector: String
    let argumentCount: Int
    /// The scalar function of numbers that computes it; nil for what has rules of its own.
    var function: String?
    /// The type of what that gives, where its operands do not tell; of whole numbers alone it is an Integer 64.
    var result: AttributeType?

    /// What the language has and no store has values for, with the reason.
    static let refused = [
        "distanceToLocation:fromLocation:": "needs locations (CLLocation), which no type of attribute holds"
    ]

    /// Functions with rules of their own.
    private static let others = [
        ("now", 0), ("castObject:toType:", 2), ("noindex:", 1),
        // Ferry's own: the first value, or where that is nil the second.
        ("ifnil:then:", 2),
        // Ferry's own: the values of a list, those that are nil left out, with a text between them.
        ("join:with:", 2),
        // Ferry's own: what a table of the mapping file has for a value; its content stands for its name.
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

/// A function with the types that it takes; nil gives nil, as a message to nil does.
struct TypedFunction: Sendable {
    /// What a function takes.
    enum Kind: Sendable, Hashable { case text, uri, number, date, uuid, data }

    let selector: String
    /// Of a method: what it is called on.
    let receivers: Set<Kind>
    let arguments: [Kind]
    /// The scalar function; nil where the value stays as it is.
    let function: String?
    let result: AttributeType

    /// Methods that mapping models call on a value, by key (`$source.name.length`) or by
    /// `FUNCTION(value, 'selector:', …)`.
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

    /// Functions of text, and those of Ferry's own for what migration policies are mostly written for.
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
    /// What a value of a type is to its methods; nil for what has none.
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
