internal import FerryBase
internal import FerryModel
internal import Foundation

/// Property lists, read by one recursive function for each form.
indirect enum PlainPropertyList {
    case scalar(PlainValue)
    case data([UInt8])
    case array([PlainPropertyList])
    case dictionary([(String, PlainPropertyList)])

    private static let depthLimit = 100
    private static let damaged = PlainFailure("the value is not a readable property list")

    static func value(in holder: PlainValue, under keys: String) throws -> PlainValue {
        let bytes: [UInt8]
        switch holder {
        case .text(let given), .blob(let given): bytes = given
        default: throw PlainFailure("plist: needs data or text")
        }
        if bytes.isEmpty { return .null }
        var list: PlainPropertyList
        do {
            list = try read(bytes)
        } catch is FerryError {
            throw damaged
        }
        for key in keys.split(separator: ".").map(String.init) {
            switch list {
            case .dictionary(let members):
                guard let member = members.last(where: { $0.0 == key }) else { return .null }
                list = member.1
            case .array(let elements):
                guard let place = Int(key), place >= 0, place < elements.count else { return .null }
                list = elements[place]
            case .scalar, .data: return .null
            }
        }
        switch list {
        case .scalar(let value): return value
        case .data(let bytes): return .string(Data(bytes).base64EncodedString())
        case .array, .dictionary: return .string(list.json)
        }
    }

    private static func read(_ bytes: [UInt8]) throws -> PlainPropertyList {
        guard bytes.starts(with: Array("bplist0".utf8)) else {
            var isGiven = false
            var tokens = XMLTokenizer(
                depthLimit: depthLimit + 1, failure: { reason, _ in FerryError(.badArchive, reason) },
                fill: { () throws(FerryError) in
                    if isGiven { return [] }
                    isGiven = true
                    return bytes
                })
            return try document(&tokens)
        }
        let list = try PropertyList(bytes)
        if case .dictionary = try list.value(at: list.top),
            let archiver = try list.entries(at: list.top).first(where: { $0.key == "$archiver" }),
            case .plain(.string("NSKeyedArchiver")) = try list.value(at: archiver.value)
        {
            return try archived(try KeyedArchive(bytes).root, 0)
        }
        return try plain(list, list.top, 0)
    }

    // MARK: XML

    private static func document(_ tokens: inout XMLTokenizer) throws -> PlainPropertyList {
        var found: PlainPropertyList?
        while let token = try tokens.next() {
            guard case .start(let name, _) = token, name != "plist" else { continue }
            guard found == nil else { throw damaged }
            found = try element(name, &tokens)
        }
        guard let found else { throw damaged }
        return found
    }

    private static func element(_ name: String, _ tokens: inout XMLTokenizer) throws -> PlainPropertyList {
        var (text, elements, members, key) = ("", [PlainPropertyList](), [(String, PlainPropertyList)](), String?.none)
        while let token = try tokens.next() {
            switch token {
            case .text(let piece): text += piece
            case .start("key", _):
                guard name == "dict", key == nil, case .scalar(.text(let bytes)) = try element("string", &tokens) else {
                    throw damaged
                }
                key = String(decoding: bytes, as: UTF8.self)
            case .start(let inner, _):
                let value = try element(inner, &tokens)
                switch name {
                case "array": elements.append(value)
                case "dict":
                    guard let known = key else { throw damaged }
                    members.append((known, value))
                    key = nil
                default: throw damaged
                }
            case .end:
                guard key == nil else { throw damaged }
                switch name {
                case "array": return .array(elements)
                case "dict": return .dictionary(members)
                default: return try scalar(name, text)
                }
            }
        }
        throw damaged
    }

    private static func scalar(_ name: String, _ text: String) throws -> PlainPropertyList {
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        switch name {
        case "true", "false": return .scalar(.boolean(name == "true"))
        case "string": return .scalar(.string(text))
        case "integer":
            guard let integer = Int64(word) else { throw damaged }
            return .scalar(.integer(integer))
        case "real":
            guard let real = Double(word) else { throw damaged }
            return .scalar(.number(real))
        case "data":
            guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else { throw damaged }
            return .data(Array(data))
        case "date": return .scalar(.real(try PlainFunction.isoSeconds(word)))
        default: throw damaged
        }
    }

    // MARK: Binary

    private static func plain(_ list: PropertyList, _ reference: Int, _ depth: Int) throws -> PlainPropertyList {
        guard depth <= depthLimit else { throw damaged }
        switch try list.value(at: reference) {
        case .plain(.null): return .scalar(.null)
        case .plain(.bool(let flag)): return .scalar(.boolean(flag))
        case .plain(.integer(let integer)): return .scalar(.integer(integer))
        case .plain(.real(let real)), .plain(.date(let real)): return .scalar(.number(real))
        case .plain(.string(let text)): return .scalar(.string(text))
        case .plain(.data(let bytes)): return .data(bytes)
        case .plain: throw damaged
        case .array(let elements), .set(let elements):
            return .array(try elements.map { try plain(list, $0, depth + 1) })
        case .dictionary:
            return .dictionary(try list.entries(at: reference).map { ($0.key, try plain(list, $0.value, depth + 1)) })
        }
    }

    private static func archived(_ object: ArchivedObject, _ depth: Int) throws -> PlainPropertyList {
        guard depth <= depthLimit else { throw damaged }
        switch object.value {
        case .plain(.bool(let flag)): return .scalar(.boolean(flag))
        case .plain(.integer(let integer)): return .scalar(.integer(integer))
        case .plain(.real(let real)): return .scalar(.number(real))
        default: break
        }
        if try object.isNull { return .scalar(.null) }
        if let text = try object.text { return .scalar(.string(text)) }
        if let seconds = try object.date { return .scalar(.number(seconds)) }
        if let bytes = try object.data { return .data(bytes) }
        if try object.isKind(of: "NSDictionary"), let entries = try object.entries {
            return .dictionary(
                try entries.map { entry in
                    guard let key = try entry.key.text else { throw damaged }
                    return (key, try archived(entry.value, depth + 1))
                })
        }
        for collection in ["NSArray", "NSSet", "NSOrderedSet"] where try object.isKind(of: collection) {
            return .array(try (object.elements ?? []).map { try archived($0, depth + 1) })
        }
        throw damaged
    }

    // MARK: Text

    private var json: String {
        switch self {
        case .scalar(.boolean(let flag)): return flag ? "true" : "false"
        case .scalar(.integer(let integer)): return "\(integer)"
        case .scalar(.real(let real)): return real.isFinite ? "\(real)" : "null"
        case .scalar(.text(let bytes)): return Self.quoted(String(decoding: bytes, as: UTF8.self))
        case .scalar: return "null"
        case .data(let bytes): return Self.quoted(Data(bytes).base64EncodedString())
        case .array(let elements): return "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .dictionary(let members):
            return "{" + members.map { Self.quoted($0.0) + ":" + $0.1.json }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\0"..<" ": "\\u" + String(format: "%04x", Int(scalar.value))
            default: String(scalar)
            }
        }
        return "\"" + escaped.joined() + "\""
    }
}
