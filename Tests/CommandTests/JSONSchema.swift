import Foundation
import TestSupport

/// The part of JSON Schema that the schemas of this project use; any other keyword is a difference.
struct JSONSchema {
    private let root: Any

    init(_ name: String) throws {
        let path = Fixtures.packageRoot + "/docs/schemas/\(name).schema.json"
        root = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Returns the differences of a JSON text from the schema.
    func differences(in text: String) throws -> [String] {
        differences(
            try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed), root, at: "$")
    }

    private func differences(_ value: Any, _ schema: Any, at place: String) -> [String] {
        guard let schema = schema as? [String: Any] else { return ["\(place): the schema is no object"] }
        var found: [String] = []
        for (word, rule) in schema {
            switch word {
            case "$schema", "title", "description": break
            case "type":
                let types = rule as? [String] ?? [rule as? String ?? "?"]
                if !types.contains(where: { Self.has(value, $0) }) {
                    found.append("\(place): \(Self.name(value)) instead of \(types.joined(separator: " or "))")
                }
            case "const":
                if !Self.isEqual(value, rule) { found.append("\(place): \(value) instead of \(rule)") }
            case "enum":
                if !(rule as? [Any] ?? []).contains(where: { Self.isEqual(value, $0) }) {
                    found.append("\(place): \(value) is none of \(rule)")
                }
            case "properties": found += members(value, rule as? [String: Any] ?? [:], at: place)
            case "required":
                guard let object = value as? [String: Any] else { continue }
                for name in rule as? [String] ?? [] where object[name] == nil {
                    found.append("\(place): \(name) is missing")
                }
            case "additionalProperties": found += others(value, rule, schema, at: place)
            case "items":
                for (index, element) in (value as? [Any] ?? []).enumerated() {
                    found += differences(element, rule, at: "\(place)[\(index)]")
                }
            case "anyOf":
                let each = (rule as? [Any] ?? []).map { differences(value, $0, at: place) }
                if !each.contains(where: \.isEmpty) { found += each.first ?? ["\(place): nothing is allowed"] }
            default: found.append("\(place): the schema has \(word), which is not looked at")
            }
        }
        return found
    }

    private func members(_ value: Any, _ rules: [String: Any], at place: String) -> [String] {
        guard let object = value as? [String: Any] else { return [] }
        return rules.flatMap { name, rule in
            object[name].map { differences($0, rule, at: "\(place).\(name)") } ?? []
        }
    }

    private func others(_ value: Any, _ rule: Any, _ schema: [String: Any], at place: String) -> [String] {
        guard let object = value as? [String: Any] else { return [] }
        let known = schema["properties"] as? [String: Any] ?? [:]
        return object.filter { known[$0.key] == nil }.flatMap { name, value in
            rule as? Bool == false
                ? ["\(place): unknown key \(name)"] : differences(value, rule, at: "\(place).\(name)")
        }
    }

    // MARK: Values

    private static func has(_ value: Any, _ type: String) -> Bool {
        name(value) == type || (type == "number" && name(value) == "integer")
    }

    private static func name(_ value: Any) -> String {
        switch value {
        case is NSNull: "null"
        case is String: "string"
        case is [Any]: "array"
        case is [String: Any]: "object"
        case let number as NSNumber:
            if CFBoolean.isBoolean(number) {
                "boolean"
            } else {
                number.doubleValue.rounded() == number.doubleValue ? "integer" : "number"
            }
        default: "?"
        }
    }

    private static func isEqual(_ value: Any, _ other: Any) -> Bool { (value as? NSObject)?.isEqual(other) ?? false }

    /// Foundation's types that distinguish true and false from numbers.
    private enum CFBoolean {
        static func isBoolean(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
    }
}
