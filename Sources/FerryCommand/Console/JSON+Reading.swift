internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

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
        do {
            return try JSONDecoder().decode(Decoded.self, from: Data(bytes)).value
        } catch {
            return nil
        }
    }

    private struct Decoded: Decodable {
        let value: JSON

        private struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            if let object = try? decoder.container(keyedBy: Key.self) {
                value = .object(
                    try object.allKeys.map { ($0.stringValue, try object.decode(Decoded.self, forKey: $0).value) })
                return
            }
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                value = .null
            } else if let flag = try? container.decode(Bool.self) {
                value = .bool(flag)
            } else if let number = try? container.decode(Int64.self) {
                value = .integer(number)
            } else if let number = try? container.decode(Double.self) {
                value = .number(number)
            } else if let text = try? container.decode(String.self) {
                value = .string(text)
            } else {
                value = .array(try container.decode([Decoded].self).map(\.value))
            }
        }
    }
}
