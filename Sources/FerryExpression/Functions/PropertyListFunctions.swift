internal import FerryBase
internal import FerryModel
internal import Foundation

/// `plist:` and `plist:key:`: values of property lists, binary, XML or archived, in data or text.
extension ScalarFunction {
    static let propertyLists: [ScalarFunction] = [
        // A property list and the keys of a path into it; a missing key and an empty value give nil.
        ScalarFunction("ferry_plist_value", title: "plist:", arguments: -1) { arguments, result throws(FerryError) in
            guard let bytes = try arguments.first?.content("plist:", "data or text"), !bytes.isEmpty else { return }
            var value: PlistValue
            do {
                value = try PlistValue(Array(bytes))
            } catch {
                throw .row("plist:", "the data is not a readable property list")
            }
            for argument in arguments.dropFirst() {
                guard let key = try argument.string("plist:"), let member = value.member(key) else { return }
                value = member
            }
            value.read(into: &result)
        }
    ]
}

/// A property list as a tree, with limits of depth and size; archived objects of other classes are errors.
indirect enum PlistValue {
    case plain(PropertyTree)
    case array([PlistValue])
    case dictionary([(key: String, value: PlistValue)])

    /// The limit of nested containers: each level costs stack in every walk of the tree.
    static let depthLimit = 100
    /// The limit of values in one list: many times the number that an app stores in a row.
    static let countLimit = 1_000_000

    init(_ bytes: [UInt8]) throws(FerryError) {
        var left = Self.countLimit
        guard PropertyList.isBinary(bytes) else {
            self = try PlistXML.read(bytes)
            return
        }
        let list = try PropertyList(bytes)
        if try Self.isArchive(list) {
            self = try Self.archived(try KeyedArchive(bytes).root, depth: 0, &left)
        } else {
            self = try Self.plain(list, list.top, depth: 0, &left)
        }
    }

    /// Without a reason: the function tells none.
    static var unreadable: FerryError { FerryError(.badArchive, "A property list cannot be read.") }

    private static func enter(_ depth: Int, _ left: inout Int) throws(FerryError) {
        left -= 1
        guard depth <= depthLimit, left >= 0 else { throw unreadable }
    }

    private static func isArchive(_ list: PropertyList) throws(FerryError) -> Bool {
        guard case .dictionary(let keys, let values) = try list.value(at: list.top) else { return false }
        for (key, value) in zip(keys, values) where try list.value(at: key).plain?.string == "$archiver" {
            if try list.value(at: value).plain?.string == "NSKeyedArchiver" { return true }
        }
        return false
    }

    private static func plain(
        _ list: PropertyList, _ reference: Int, depth: Int, _ left: inout Int
    ) throws(FerryError) -> PlistValue {
        try enter(depth, &left)
        switch try list.value(at: reference) {
        case .plain(.uid): throw unreadable
        case .plain(let value): return .plain(value)
        case .array(let references), .set(let references):
            var elements: [PlistValue] = []
            for reference in references { elements.append(try plain(list, reference, depth: depth + 1, &left)) }
            return .array(elements)
        case .dictionary:
            var members: [(key: String, value: PlistValue)] = []
            for (key, value) in try list.entries(at: reference) {
                members.append((key, try plain(list, value, depth: depth + 1, &left)))
            }
            return .dictionary(members)
        }
    }

    private static func archived(
        _ object: ArchivedObject, depth: Int, _ left: inout Int
    ) throws(FerryError) -> PlistValue {
        try enter(depth, &left)
        if let value = object.value.plain { return .plain(value) }
        if try object.isNull { return .plain(.null) }
        if let text = try object.text { return .plain(.string(text)) }
        if let seconds = try object.date { return .plain(.date(seconds)) }
        if let bytes = try object.data { return .plain(.data(bytes)) }
        let classes = try object.classNames
        if let entries = try object.entries, classes.contains("NSDictionary") {
            var members: [(key: String, value: PlistValue)] = []
            for (key, value) in entries {
                guard let name = try key.text else { throw unreadable }
                members.append((name, try archived(value, depth: depth + 1, &left)))
            }
            return .dictionary(members)
        }
        let collections: Set = ["NSArray", "NSSet", "NSOrderedSet"]
        guard !collections.isDisjoint(with: classes) else { throw unreadable }
        var elements: [PlistValue] = []
        for element in try object.elements ?? [] { elements.append(try archived(element, depth: depth + 1, &left)) }
        return .array(elements)
    }

    // MARK: Reading

    /// Returns the value under a key of a dictionary, or at an index of an array.
    func member(_ key: String) -> PlistValue? {
        switch self {
        case .dictionary(let members): return members.last { $0.key == key }?.value
        case .array(let elements):
            guard let place = Int(key), elements.indices.contains(place) else { return nil }
            return elements[place]
        case .plain: return nil
        }
    }

    /// Reads a scalar as its value (data as Base64, dates in seconds since 2001), a container as JSON text.
    func read(into result: inout FunctionResult) {
        switch self {
        case .plain(.bool(let flag)): result.set(flag)
        case .plain(.integer(let integer)): result.set(integer)
        case .plain(.real(let real)), .plain(.date(let real)): result.set(real)
        case .plain(.string(let text)): result.set(text: text.utf8)
        case .plain(.data(let bytes)): result.set(text: Data(bytes).base64EncodedString().utf8)
        case .plain: result.setNull()
        case .array, .dictionary: result.setText { json(into: &$0) }
        }
    }

    private func json(into text: inout [UInt8]) {
        switch self {
        case .plain(.bool(let flag)): text += (flag ? "true" : "false").utf8
        case .plain(.integer(let integer)): text += String(integer).utf8
        // JSON has no notation for numbers that are not finite.
        case .plain(.real(let real)), .plain(.date(let real)): text += (real.isFinite ? real.description : "null").utf8
        case .plain(.string(let string)): Self.quote(string, into: &text)
        case .plain(.data(let bytes)): Self.quote(Data(bytes).base64EncodedString(), into: &text)
        case .plain: text += "null".utf8
        case .array(let elements):
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                element.json(into: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .dictionary(let members):
            text.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                Self.quote(member.key, into: &text)
                text.append(UInt8(ascii: ":"))
                member.value.json(into: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    private static func quote(_ string: String, into text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                text += "\\u00\(digits.count == 1 ? "0" : "")\(digits)".utf8
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}

/// Reads an XML property list by recursion, as deep as the tokenizer allows.
struct PlistXML {
    private var tokens: XMLTokenizer
    private var left = PlistValue.countLimit

    static func read(_ bytes: [UInt8]) throws(FerryError) -> PlistValue {
        var isGiven = false
        // One more level for the root element `plist`.
        let tokens = XMLTokenizer(
            depthLimit: PlistValue.depthLimit + 1, failure: { _, _ in PlistValue.unreadable },
            fill: { () throws(FerryError) in
                defer { isGiven = true }
                return isGiven ? [] : bytes
            })
        var reader = PlistXML(tokens: tokens)
        var root: PlistValue?
        while let token = try reader.tokens.next() {
            guard case .start(let name, _) = token, name != "plist" else { continue }
            guard root == nil else { throw PlistValue.unreadable }
            root = try reader.element(name)
        }
        guard let root else { throw PlistValue.unreadable }
        return root
    }

    /// Reads an element after its start.
    private mutating func element(_ name: String) throws(FerryError) -> PlistValue {
        var text = ""
        var elements: [PlistValue] = []
        var members: [(key: String, value: PlistValue)] = []
        var key: String?
        while let token = try tokens.next() {
            switch token {
            case .text(let piece): text += piece
            case .start("key", _):
                guard name == "dict", key == nil, case .plain(.string(let word)) = try element("string") else {
                    throw PlistValue.unreadable
                }
                key = word
            case .start(let inner, _):
                left -= 1
                // The root counts too. Only a dictionary has keys.
                guard left > 0, name == "array" || key != nil else { throw PlistValue.unreadable }
                let value = try element(inner)
                if let member = key { members.append((member, value)) } else { elements.append(value) }
                key = nil
            case .end:
                if name == "array" { return .array(elements) }
                if name == "dict", key == nil { return .dictionary(members) }
                guard let value = Self.scalar(name, text) else { throw PlistValue.unreadable }
                return .plain(value)
            }
        }
        throw PlistValue.unreadable
    }

    private static func scalar(_ name: String, _ text: String) -> PropertyTree? {
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return switch name {
        case "true", "false": .bool(name == "true")
        case "string": .string(text)
        case "integer": Int64(word).map { .integer($0) }
        case "real": Double(word).map { .real($0) }
        case "data": Data(base64Encoded: text, options: .ignoreUnknownCharacters).map { .data(Array($0)) }
        case "date": ISODate.seconds(word).map { .date($0) }
        default: nil
        }
    }
}
