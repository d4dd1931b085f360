internal import FerryBase
internal import FerryExpression

/// A JSON value whose keys keep their order, so that outputs can be compared.
///
/// A command writes its result as a literal: `["entity": loss.entity, "rows": loss.rows]`.
indirect enum JSON: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    static func list<Element>(_ elements: [Element], _ json: (Element) -> JSON) -> JSON { .array(elements.map(json)) }

    static func + (first: JSON, second: JSON) -> JSON { .object(first.members + second.members) }

    static func += (first: inout JSON, second: JSON) { first = first + second }

    var line: String { text(margin: nil) }

    var pretty: String { text(margin: "") }

    /// The value as JSON text; with a margin each element has its own line, indented by two more spaces.
    private func text(margin: String?) -> String {
        let inner = margin.map { $0 + "  " }
        func list(_ elements: [String], _ open: String, _ close: String) -> String {
            guard let margin, let inner, !elements.isEmpty else {
                return open + elements.joined(separator: ",") + close
            }
            return open + elements.map { "\n" + inner + $0 }.joined(separator: ",") + "\n" + margin + close
        }
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .integer(let value): return String(value)
        // JSON has neither infinities nor NaN; whole numbers keep no trailing ".0".
        case .number(let value):
            return value.isFinite ? Int64(exactly: value).map { String($0) } ?? "\(value)" : "null"
        case .string(let value): return JSONNode.quoted(value)
        case .array(let values): return list(values.map { $0.text(margin: inner) }, "[", "]")
        case .object(let members):
            let colon = margin == nil ? ":" : ": "
            return list(members.map { JSONNode.quoted($0.0) + colon + $0.1.text(margin: inner) }, "{", "}")
        }
    }
}

protocol JSONConvertible {
    var json: JSON { get }
}

extension JSON: JSONConvertible, ExpressibleByDictionaryLiteral {
    var json: JSON { self }

    /// An object with its members in their order; nil becomes null.
    init(dictionaryLiteral members: (String, any JSONConvertible)...) {
        self = .object(members.map { ($0.0, $0.1.json) })
    }
}
extension String: JSONConvertible { var json: JSON { .string(self) } }
extension Bool: JSONConvertible { var json: JSON { .bool(self) } }
extension Int: JSONConvertible { var json: JSON { .integer(Int64(self)) } }
extension Int64: JSONConvertible { var json: JSON { .integer(self) } }
extension Double: JSONConvertible { var json: JSON { .number(self) } }
extension Optional: JSONConvertible where Wrapped: JSONConvertible {
    var json: JSON { map(\.json) ?? .null }
}
extension Array: JSONConvertible where Element: JSONConvertible {
    var json: JSON { .array(map(\.json)) }
}

/// Reads parts of a value: a missing part, or a part of another kind, is null, nil or empty.
extension JSON {
    subscript(_ key: String) -> JSON { members.first { $0.0 == key }?.1 ?? .null }

    var text: String? { if case .string(let text) = self { text } else { nil } }

    var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }

    var isTrue: Bool { line == "true" }
    var isNull: Bool { line == "null" }

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

    /// Reads a file's bytes; nil if they are not JSON.
    static func read(_ bytes: [UInt8]) -> JSON? {
        do throws(JSONSyntaxError) { return JSON(try JSONNode.parse(bytes)) } catch { return nil }
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
