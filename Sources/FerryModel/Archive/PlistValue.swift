package import FerryBase
internal import Foundation

/// A property list as a tree to read: binary, XML, or archived objects of its classes; with limits of depth and size.
package indirect enum PlistValue {
    case plain(PropertyTree)
    case array([PlistValue])
    case dictionary([(key: String, value: PlistValue)])

    /// The limit of nested containers: each level costs stack in every walk of the tree.
    static let depthLimit = 100
    /// The limit of values in one list: many times the number that an app stores in a row.
    static let countLimit = 1_000_000

    /// - Throws: `.badArchive` if the bytes are not a property list, or are damaged.
    package init(_ bytes: [UInt8]) throws(FerryError) {
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

    static var unreadable: FerryError {
        FerryError(.badArchive, "One of its values is malformed, or of an unknown kind.")
    }

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

    // MARK: Values

    package var string: String? { if case .plain(let value) = self { value.string } else { nil } }
    package var data: [UInt8]? { if case .plain(let value) = self { value.data } else { nil } }
    /// The members of a dictionary, in the order of the list; nil for any other value.
    package var members: [(key: String, value: PlistValue)]? {
        if case .dictionary(let members) = self { members } else { nil }
    }

    /// Returns the value under a key of a dictionary, or at an index of an array.
    package func member(_ key: String) -> PlistValue? {
        switch self {
        case .dictionary(let members): return members.last { $0.key == key }?.value
        case .array(let elements):
            guard let place = Int(key), elements.indices.contains(place) else { return nil }
            return elements[place]
        case .plain: return nil
        }
    }
}

/// Reads an XML property list by recursion, as deep as the tokenizer allows.
private struct PlistXML {
    private var tokens: XMLTokenizer
    private var left = PlistValue.countLimit

    static func read(_ bytes: [UInt8]) throws(FerryError) -> PlistValue {
        var isGiven = false
        // One more level for the root element `plist`.
        let tokens = XMLTokenizer(
            depthLimit: PlistValue.depthLimit + 1,
            failure: { FerryError(.badArchive, "It cannot be read: \($0) (line \($1)).") },
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
