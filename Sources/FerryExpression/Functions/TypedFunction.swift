internal import FerryModel

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
