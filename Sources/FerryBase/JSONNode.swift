/// A value of a JSON text, with the line where it begins.
///
/// Foundation's readers keep neither lines nor repeated keys, and files for Ferry are written by hand.
package struct JSONNode: Sendable {
    package enum Value: Sendable {
        case null
        case boolean(Bool)
        /// As written, so that a whole number stays one.
        case number(String)
        case string(String)
        case array([JSONNode])
        case object([Member])
    }

    package struct Member: Sendable {
        package let key: String
        package let line: Int
        package let value: JSONNode
    }

    package let value: Value
    package let line: Int

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
package struct JSONSyntaxError: Error {
    package let line: Int
    package let message: String
}

extension JSONNode {
    /// A scalar as JSON writes it; nil for arrays and objects.
    package var scalarText: String? {
        switch value {
        case .null: "null"
        case .boolean(let flag): flag ? "true" : "false"
        case .number(let text): text
        case .string(let text): Self.quoted(text)
        case .array, .object: nil
        }
    }

    /// A string as JSON writes it.
    package static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case "\0"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
