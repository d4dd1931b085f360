internal import FerryBase

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
            return JSON(try JSONTokenizer.parse(bytes))
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
