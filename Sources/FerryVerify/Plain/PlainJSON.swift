internal import FerryBase

/// A JSON value, parsed in one pass over the bytes, strictly by RFC 8259.
package enum PlainJSON: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    /// The decoded UTF-8; without escapes a part of the document, which most texts are.
    case string(ArraySlice<UInt8>)
    case array(Container)
    case object(Container)

    /// An array or an object, whose parts become values when they are asked for.
    package struct Container: Sendable, Hashable {
        fileprivate let tree: PlainJSONTree
        fileprivate let node: Int

        /// The bytes in the document.
        package var text: ArraySlice<UInt8> { tree.text(of: node) }

        /// The elements of an array.
        package var elements: some Sequence<PlainJSON> {
            sequence(state: node + 1) { [tree, end = Int(tree.nodes[node].next)] child -> PlainJSON? in
                guard child < end else { return nil }
                defer { child = Int(tree.nodes[child].next) }
                return tree.value(of: child)
            }
        }

        package static func == (left: Container, right: Container) -> Bool { left.text == right.text }
        package func hash(into hasher: inout Hasher) { hasher.combine(text) }
    }

    /// An error in a JSON text, at an offset in bytes.
    package struct Invalid: Error, Sendable { package var offset: Int }

    /// Parses a whole document.
    ///
    /// - Throws: ``Invalid``.
    package init(_ bytes: [UInt8]) throws(Invalid) {
        // Checks UTF-8 first, so that the parser can read single bytes.
        guard bytes.reduce(0, |) < 0x80 || String(utf8: bytes) != nil else { throw Invalid(offset: 0) }
        var parser = PlainJSONParser(PlainText(bytes), keepsNodes: true)
        _ = try parser.document()
        self = PlainJSONTree(bytes: bytes, nodes: parser.nodes).value(of: 0)
    }

    /// The value of a member; the last one of several with the name.
    package func member(_ name: String) -> PlainJSON? {
        guard case .object(let container) = self else { return nil }
        var name = name
        return name.withUTF8 { container.tree.member($0, of: container.node) }
    }

    /// The text of a container in the document; empty for scalars.
    package var text: [UInt8] {
        switch self {
        case .array(let container), .object(let container): Array(container.text)
        default: []
        }
    }
}

/// A checked document, with the places of all its values in their order: a node costs no allocation of its own.
private final class PlainJSONTree: Sendable {
    let bytes: [UInt8]
    let nodes: [PlainJSONParser.Node]

    init(bytes: [UInt8], nodes: [PlainJSONParser.Node]) { (self.bytes, self.nodes) = (bytes, nodes) }

    func text(of node: Int) -> ArraySlice<UInt8> { bytes[Int(nodes[node].start)..<Int(nodes[node].end)] }

    func value(of node: Int) -> PlainJSON {
        switch nodes[node].kind {
        case .null: .null
        case .boolean: .boolean(bytes[Int(nodes[node].start)] == UInt8(ascii: "t"))
        case .number: number(text(of: node))
        case .string: .string(string(of: node))
        case .array: .array(.init(tree: self, node: node))
        case .object: .object(.init(tree: self, node: node))
        }
    }

    func member(_ name: UnsafeBufferPointer<UInt8>, of object: Int) -> PlainJSON? {
        var found: Int?
        // A member's name is a node, with its value behind it.
        var place = object + 1
        while place < Int(nodes[object].next) {
            let text = string(of: place)
            if text.count == name.count, text.elementsEqual(name) { found = place + 1 }
            place = Int(nodes[place + 1].next)
        }
        return found.map(value)
    }

    private func string(of node: Int) -> ArraySlice<UInt8> {
        guard nodes[node].isEscaped else { return text(of: node) }
        return PlainJSONParser.decoded(bytes, at: Int(nodes[node].start))
    }

    private func number(_ digits: ArraySlice<UInt8>) -> PlainJSON {
        let text = String(decoding: digits, as: UTF8.self)
        // The parser has checked the number.
        return Int64(text).map { .integer($0) } ?? .real(Double(text) ?? .infinity)
    }
}

/// A checked JSON document, with the places of its parts.
///
/// A long text costs a window, and what is read of it.
struct PlainJSONDocument {
    let text: PlainText
    private let first: UInt8?
    /// The document itself, and the last value under the name, if the document is an object.
    private let whole: Range<Int>
    private let member: Range<Int>?
    /// The values of a short document, which is parsed once; nil for a longer one, whose values take too much memory.
    private let values: PlainJSON?
    private let name: String

    private static let shortBytes = 1 << 14

    /// Checks a whole document.
    ///
    /// - Throws: ``PlainJSON/Invalid``; what the text throws.
    init(_ text: PlainText, member name: String) throws {
        (self.text, self.name) = (text, name)
        if text.isInMemory, text.count <= Self.shortBytes {
            do {
                values = try PlainJSON(text.bytes(0..<text.count))
            } catch {
                throw text.failure ?? error
            }
            (whole, member, first) = (0..<text.count, nil, nil)
            return
        }
        values = nil
        try text.checkEncoding()
        let wanted = Array(name.utf8)[...]
        var found: Range<Int>?
        var parser = PlainJSONParser(text, keepsNodes: false)
        do {
            whole = try parser.document { name, part in if name == wanted { found = part } }
        } catch {
            throw text.failure ?? error
        }
        member = found
        first = text.byte(at: whole.lowerBound)
    }

    /// The value under the name; nil without one, and for a document that is not an object.
    func memberValue() throws -> PlainJSON? {
        if let values { return values.member(name) }
        return try member.map { try PlainJSON(text.bytes($0)) }
    }

    /// Calls the body with each element of the array under the name; without a name, the document is the array.
    ///
    /// - Throws: ``PlainJSON/Invalid`` if there is something else than an array or null; what body and text throw.
    func eachElement(isNamed: Bool, _ body: (PlainJSON) throws -> Void) throws {
        if let values { return try Self.eachElement(of: values, named: isNamed ? name : nil, body) }
        let isObject = first == UInt8(ascii: "{")
        guard let list = isNamed && isObject ? member : whole else { return }
        switch text.byte(at: list.lowerBound) {
        case UInt8(ascii: "n"): return
        case UInt8(ascii: "[") where !isNamed || isObject: break
        default: throw text.failure ?? PlainJSON.Invalid(offset: 0)
        }
        var parser = PlainJSONParser(text, keepsNodes: true, at: list.lowerBound + 1)
        while let element = try parser.nextElement() {
            try body(PlainJSONTree(bytes: text.bytes(element), nodes: parser.nodes).value(of: 0))
        }
    }

    private static func eachElement(
        of document: PlainJSON, named name: String?, _ body: (PlainJSON) throws -> Void
    ) throws {
        var list = document
        if let name, case .object = document {
            guard let member = document.member(name) else { return }
            list = member
        } else if name != nil, document != .null {
            // Only an object has members.
            throw PlainJSON.Invalid(offset: 0)
        }
        switch list {
        case .null: return
        case .array(let list): for element in list.elements { try body(element) }
        default: throw PlainJSON.Invalid(offset: 0)
        }
    }
}
