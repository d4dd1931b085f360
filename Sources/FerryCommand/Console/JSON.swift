internal import FerryBase
internal import FerryExpression

/// A JSON value whose keys stay in the order given, so that output can be compared.
package indirect enum JSON: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    package static func string(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }
    package static func integer(_ number: Int?) -> JSON { number.map { .integer(Int64($0)) } ?? .null }
    package static func integer(_ number: Int64?) -> JSON { number.map { .integer($0) } ?? .null }
    package static func number(_ number: Double?) -> JSON { number.map { .number($0) } ?? .null }
    static func strings(_ texts: [String]) -> JSON { .array(texts.map { .string($0) }) }

    /// The members of an object, in their order; a nil value stands as null.
    package static func members(_ pairs: KeyValuePairs<String, any JSONConvertible>) -> [(String, JSON)] {
        pairs.map { ($0.key, $0.value.json) }
    }

    package static func object(_ pairs: KeyValuePairs<String, any JSONConvertible>) -> JSON { .object(members(pairs)) }

    /// One line, without spaces: for JSON Lines.
    package var line: String {
        var text = ""
        write(to: &text, indent: nil)
        return text
    }

    /// Indented by two spaces, for reading.
    package var pretty: String {
        var text = ""
        write(to: &text, indent: 0)
        return text
    }

    private func write(to text: inout String, indent: Int?) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        // JSON has neither infinities nor NaN; whole numbers keep no trailing ".0".
        case .number(let value):
            if !value.isFinite {
                text += "null"
            } else if let whole = Int64(exactly: value) {
                text += String(whole)
            } else {
                text += "\(value)"
            }
        case .string(let value): text += JSONNode.quoted(value)
        case .array(let values):
            JSON.list(values.count, "[", "]", to: &text, indent: indent) { index, text, indent in
                values[index].write(to: &text, indent: indent)
            }
        case .object(let members):
            JSON.list(members.count, "{", "}", to: &text, indent: indent) { index, text, indent in
                text += JSONNode.quoted(members[index].0)
                text += indent == nil ? ":" : ": "
                members[index].1.write(to: &text, indent: indent)
            }
        }
    }

    private static func list(
        _ count: Int, _ open: String, _ close: String, to text: inout String, indent: Int?,
        element: (Int, inout String, Int?) -> Void
    ) {
        text += open
        for index in 0..<count {
            if index > 0 { text += "," }
            if let indent { text += "\n" + String(repeating: "  ", count: indent + 1) }
            element(index, &text, indent.map { $0 + 1 })
        }
        if let indent, count > 0 { text += "\n" + String(repeating: "  ", count: indent) }
        text += close
    }
}

/// What a value of JSON can be made of.
package protocol JSONConvertible {
    var json: JSON { get }
}

extension JSON: JSONConvertible { package var json: JSON { self } }
extension String: JSONConvertible { package var json: JSON { .string(self) } }
extension Bool: JSONConvertible { package var json: JSON { .bool(self) } }
extension Int: JSONConvertible { package var json: JSON { .integer(Int64(self)) } }
extension Int64: JSONConvertible { package var json: JSON { .integer(self) } }
extension Double: JSONConvertible { package var json: JSON { .number(self) } }
extension Optional: JSONConvertible where Wrapped: JSONConvertible {
    package var json: JSON { map(\.json) ?? .null }
}
extension Array: JSONConvertible where Element: JSONConvertible {
    package var json: JSON { .array(map(\.json)) }
}

/// Looking into a value: what is missing, or of another kind, is null, nil or empty.
extension JSON {
    subscript(_ key: String) -> JSON {
        guard case .object(let members) = self else { return .null }
        return members.first { $0.0 == key }?.1 ?? .null
    }

    var text: String? { if case .string(let text) = self { text } else { nil } }

    var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }

    var isTrue: Bool { if case .bool(true) = self { true } else { false } }

    var isNull: Bool { if case .null = self { true } else { false } }

    var members: [(String, JSON)] { if case .object(let members) = self { members } else { [] } }

    var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    var whole: Int64? {
        switch self {
        case .integer(let number): number
        case .number(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// Reads a file's bytes.
    ///
    /// - Returns: Nil where they are no JSON.
    static func read(_ bytes: [UInt8]) -> JSON? {
        do throws(JSONSyntaxError) {
            return JSON(try JSONNode.parse(bytes))
        } catch {
            return nil
        }
    }

    private init(_ node: JSONNode) {
        self =
            switch node.value {
            case .null: .null
            case .boolean(let flag): .bool(flag)
            case .number(let text): Int64(text).map { .integer($0) } ?? Double(text).map { .number($0) } ?? .null
            case .string(let text): .string(text)
            case .array(let elements): .array(elements.map { JSON($0) })
            case .object(let members): .object(members.map { ($0.key, JSON($0.value)) })
            }
    }
}
