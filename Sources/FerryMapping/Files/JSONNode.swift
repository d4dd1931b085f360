/// A value of a JSON text, with the line where it begins.
///
/// Foundation's readers keep neither lines nor repeated keys, and a mapping file is written by hand.
struct JSONNode {
    enum Value {
        case null
        case boolean(Bool)
        /// As written, so that a whole number stays one.
        case number(String)
        case string(String)
        case array([JSONNode])
        case object([Member])
    }

    struct Member {
        var key: String
        var line: Int
        var value: JSONNode
    }

    var value: Value
    var line: Int

    /// What a reader calls this kind of value.
    var kind: String {
        switch value {
        case .null: "null"
        case .boolean: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Why a text is not JSON, and on which line.
struct JSONSyntaxError: Error {
    var line: Int
    var message: String
}

extension JSONNode {
    /// A scalar as JSON writes it; nil for arrays and objects.
    var scalarText: String? {
        switch value {
        case .null: "null"
        case .boolean(let flag): flag ? "true" : "false"
        case .number(let text): text
        case .string(let text): Self.quoted(text)
        case .array, .object: nil
        }
    }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\0"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
