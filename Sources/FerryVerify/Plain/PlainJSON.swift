internal import FerryBase

/// A JSON value, of a document that was checked strictly by RFC 8259.
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
        /// The bytes in the document.
        package let text: ArraySlice<UInt8>

        /// The elements of an array.
        package var elements: [PlainJSON] {
            var elements: [PlainJSON] = []
            eachPart { elements.append(PlainJSON(checked: $0)) }
            return elements
        }

        /// Calls the body with each element of an array, or with each name and value of an object in turn.
        fileprivate func eachPart(_ body: (ArraySlice<UInt8>) -> Void) {
            text.withUnsafeBufferPointer { bytes in
                var parts = PlainJSONParts()
                for place in bytes.indices {
                    if let part = parts.take(bytes[place], at: text.startIndex + place) { body(text[part]) }
                }
            }
        }
    }

    /// An error in a JSON text, at an offset in bytes.
    package struct Invalid: Error, Sendable { package var offset: Int }

    /// Checks a whole document.
    ///
    /// - Throws: ``Invalid``.
    package init(_ bytes: [UInt8]) throws {
        guard let value = try PlainJSONDocument(PlainText(bytes), member: nil).value else { throw Invalid(offset: 0) }
        self = value
    }

    /// The value of a checked part of a document.
    fileprivate init(checked part: ArraySlice<UInt8>) {
        switch part.first {
        case UInt8(ascii: "n"): self = .null
        case UInt8(ascii: "t"): self = .boolean(true)
        case UInt8(ascii: "f"): self = .boolean(false)
        case UInt8(ascii: "["): self = .array(Container(text: part))
        case UInt8(ascii: "{"): self = .object(Container(text: part))
        case UInt8(ascii: "\""):
            let text = part.dropFirst().dropLast()
            self = .string(text.contains(UInt8(ascii: "\\")) ? PlainJSONParser.decoded(part)[...] : text)
        default:
            let text = String(decoding: part, as: UTF8.self)
            self = Int64(text).map { .integer($0) } ?? .real(Double(text) ?? .infinity)
        }
    }

    /// The value of a member; the last one of several with the name.
    package func member(_ name: String) -> PlainJSON? {
        guard case .object(let container) = self else { return nil }
        var (name, found) = (name, ArraySlice<UInt8>?.none)
        name.withUTF8 { name in
            var (isName, isWanted) = (true, false)
            container.eachPart { part in
                if isName {
                    if case .string(let text) = PlainJSON(checked: part) {
                        isWanted = text.count == name.count && text.elementsEqual(name)
                    }
                } else if isWanted {
                    found = part
                }
                isName.toggle()
            }
        }
        return found.map { PlainJSON(checked: $0) }
    }

    /// The text of a container in the document; empty for scalars.
    package var text: [UInt8] {
        switch self {
        case .array(let container), .object(let container): Array(container.text)
        default: []
        }
    }
}

/// A checked JSON document, with the places of its parts.
///
/// A long text costs a window, and what is read of it.
struct PlainJSONDocument {
    private let text: PlainText
    private let whole: Range<Int>
    private let name: String?
    /// The last value under the name, if the document is an object.
    private let member: Range<Int>?

    /// Checks a whole document; `name` is that of the member to find, or nil for the document itself.
    ///
    /// - Throws: ``PlainJSON/Invalid``; what the text throws.
    init(_ text: PlainText, member name: String?) throws {
        (self.text, self.name) = (text, name)
        try text.checkEncoding()
        let wanted = name.map { Array($0.utf8) }
        var found: Range<Int>?
        var parser = PlainJSONParser(text)
        do {
            whole = try parser.document(wanted == nil ? nil : { name, part in if name == wanted { found = part } })
        } catch {
            throw text.failure ?? error
        }
        member = found
    }

    /// The value under the name, or the document; nil without such a member.
    var value: PlainJSON? {
        get throws { try (name == nil ? whole : member).map { PlainJSON(checked: try text.slice($0)) } }
    }

    /// Calls the body with each element of the array under the name, or of the document.
    ///
    /// - Throws: ``PlainJSON/Invalid`` if there is something else than an array or null; what body and text throw.
    func eachElement(_ body: (PlainJSON) throws -> Void) throws {
        let isObject = text.byte(at: whole.lowerBound) == UInt8(ascii: "{")
        guard let list = name != nil && isObject ? member : whole else { return }
        switch text.byte(at: list.lowerBound) {
        case UInt8(ascii: "n"): return
        case UInt8(ascii: "[") where name == nil || isObject: break
        default: throw text.failure ?? PlainJSON.Invalid(offset: 0)
        }
        var (parts, offset) = (PlainJSONParts(), list.lowerBound)
        while offset < list.upperBound {
            guard let piece = text.piece(at: offset) else { throw text.failure ?? PlainJSON.Invalid(offset: offset) }
            for byte in piece.bytes.prefix(list.upperBound - piece.start)[(offset - piece.start)...] {
                if let element = parts.take(byte, at: offset) { try body(PlainJSON(checked: text.slice(element))) }
                offset += 1
            }
        }
    }
}

/// Finds the parts of a checked container from its first byte on: elements, or names and values in turn.
private struct PlainJSONParts {
    private var depth = 0
    private var isInText = false
    private var isEscaped = false
    private var start = 0
    private var end = 0

    /// Takes the next byte; returns a part that it ends.
    mutating func take(_ byte: UInt8, at offset: Int) -> Range<Int>? {
        var isEnd = false
        if isInText {
            isInText = isEscaped || byte != UInt8(ascii: "\"")
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        } else {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: return nil
            case UInt8(ascii: "\""): isInText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth == 1 { return nil }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                isEnd = depth == 0
            case UInt8(ascii: ","), UInt8(ascii: ":"): isEnd = depth == 1
            default: break
            }
        }
        if isEnd {
            // An empty container has no part.
            defer { end = 0 }
            return end > 0 ? start..<end : nil
        }
        if end == 0 { start = offset }
        end = offset + 1
        return nil
    }
}
