internal import FerryBase

/// A JSON value, parsed in one pass over the bytes, strictly by RFC 8259, into a tree.
package enum PlainJSON: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    /// The decoded UTF-8; without escapes a part of the document, which most texts are.
    case string(ArraySlice<UInt8>)
    /// Elements, and their bytes in the document.
    indirect case array([PlainJSON], text: ArraySlice<UInt8>)
    /// Members in their order, and their bytes in the document.
    indirect case object([Member], text: ArraySlice<UInt8>)

    package struct Member: Sendable, Hashable {
        package var name: ArraySlice<UInt8>
        package var value: PlainJSON
    }

    /// An error in a JSON text, at an offset in bytes.
    package struct Invalid: Error, Sendable { package var offset: Int }

    /// Parses a whole document.
    ///
    /// - Throws: ``Invalid``.
    package init(_ bytes: [UInt8]) throws(Invalid) {
        // Checks UTF-8 first, so that the parser can read single bytes.
        guard bytes.allSatisfy({ $0 < 0x80 }) || String(utf8: bytes) != nil else { throw Invalid(offset: 0) }
        var parser = PlainJSONParser(PlainText(bytes), keepsValues: true)
        self = try parser.document().value
    }

    /// The value of a member; the last one of several with the name.
    package func member(_ name: String) -> PlainJSON? {
        guard case .object(let members, _) = self else { return nil }
        var name = name
        return name.withUTF8 { name in
            let place = members.lastIndex { $0.name.count == name.count && $0.name.elementsEqual(name) }
            return place.map { members[$0].value }
        }
    }

    /// The text of a container in the document; empty for scalars.
    package var text: [UInt8] {
        switch self {
        case .array(_, let text), .object(_, let text): Array(text)
        default: []
        }
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
        var parser = PlainJSONParser(text, keepsValues: false)
        do {
            whole = try parser.document { name, part in if name == wanted { found = part } }.part
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
        var parser = PlainJSONParser(text, keepsValues: false, at: list.lowerBound + 1)
        while let element = try parser.nextElement() { try body(try PlainJSON(text.bytes(element))) }
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
        case .array(let elements, _): for element in elements { try body(element) }
        default: throw PlainJSON.Invalid(offset: 0)
        }
    }
}

/// Parses one JSON document; open containers are on a stack of its own, so that depth costs no call stack.
struct PlainJSONParser {
    private struct Open {
        let start: Int
        let isObject: Bool
        var elements: [PlainJSON] = []
        var members: [PlainJSON.Member] = []
        /// The name of the member whose value comes next.
        var name: ArraySlice<UInt8> = []

        mutating func takeName() -> ArraySlice<UInt8> {
            defer { name = [] }
            return name
        }
    }

    private static let depthLimit = 1_000

    private let text: PlainText
    /// Whether to make values; else the parser only finds errors and places.
    private let keepsValues: Bool
    private var offset: Int
    /// The text's bytes in memory, and the offset of the first of them: the parser reads most bytes one by one.
    private var piece: (bytes: [UInt8], start: Int) = ([], 0)

    init(_ text: PlainText, keepsValues: Bool, at offset: Int = 0) {
        (self.text, self.keepsValues, self.offset) = (text, keepsValues, offset)
    }

    /// Reads a document; `member` gets the names and places of its members.
    mutating func document(
        _ member: (ArraySlice<UInt8>, Range<Int>) -> Void = { _, _ in }
    ) throws(PlainJSON.Invalid) -> (value: PlainJSON, part: Range<Int>) {
        let value = try value(member)
        skipBlanks()
        guard offset == text.count else { throw PlainJSON.Invalid(offset: offset) }
        return value
    }

    /// The place of the next element of an array, which is checked; nil at its end.
    ///
    /// - Throws: What the text throws.
    mutating func nextElement() throws -> Range<Int>? {
        skipBlanks()
        if next == UInt8(ascii: ",") { offset += 1 }
        skipBlanks()
        let isEnd = next == UInt8(ascii: "]")
        let element = Result { try isEnd ? nil : value { _, _ in }.part }
        if let failure = text.failure { throw failure }
        return try element.get()
    }

    private mutating func value(
        _ member: (ArraySlice<UInt8>, Range<Int>) -> Void
    ) throws(PlainJSON.Invalid) -> (value: PlainJSON, part: Range<Int>) {
        var open: [Open] = []
        while true {
            skipBlanks()
            var start = offset
            // Descends to the next scalar or empty container.
            guard var value = try valueOrOpen(&open) else { continue }
            // Ascends through every container that ends with the value.
            while let innermost = open.indices.last {
                let isObject = open[innermost].isObject
                if isObject {
                    let name = open[innermost].takeName()
                    if innermost == 0 { member(name, start..<offset) }
                    if keepsValues { open[innermost].members.append(.init(name: name, value: value)) }
                } else if keepsValues {
                    open[innermost].elements.append(value)
                }
                skipBlanks()
                if next == UInt8(ascii: ",") {
                    offset += 1
                    if isObject { open[innermost].name = try name(isKept: innermost == 0) }
                    break
                }
                try take(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                let ended = open.removeLast()
                value = closed(ended)
                start = ended.start
            }
            if open.isEmpty { return (value, start..<offset) }
        }
    }

    private func closed(_ container: Open) -> PlainJSON {
        guard keepsValues else { return .null }
        let text = text.slice(container.start..<offset)
        return container.isObject
            ? .object(container.members, text: text) : .array(container.elements, text: text)
    }

    /// A scalar or an empty container; nil if a container with content was opened.
    private mutating func valueOrOpen(_ open: inout [Open]) throws(PlainJSON.Invalid) -> PlainJSON? {
        switch next {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let isObject = next == UInt8(ascii: "{")
            var container = Open(start: offset, isObject: isObject)
            offset += 1
            skipBlanks()
            if next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                offset += 1
                return closed(container)
            }
            guard open.count < Self.depthLimit else { throw PlainJSON.Invalid(offset: offset) }
            if isObject { container.name = try name(isKept: open.isEmpty) }
            open.append(container)
            return nil
        case UInt8(ascii: "\""): return .string(try string(isKept: keepsValues))
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private var next: UInt8? {
        mutating get {
            if offset - piece.start < piece.bytes.count { return piece.bytes[offset - piece.start] }
            guard let next = text.piece(at: offset) else { return nil }
            piece = next
            return piece.bytes[offset - piece.start]
        }
    }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { offset += 1 }
    }

    private mutating func take(_ byte: UInt8) throws(PlainJSON.Invalid) {
        guard next == byte else { throw PlainJSON.Invalid(offset: offset) }
        offset += 1
    }

    private mutating func word(_ word: String, _ value: PlainJSON) throws(PlainJSON.Invalid) -> PlainJSON {
        for byte in word.utf8 { try take(byte) }
        return value
    }

    private mutating func name(isKept: Bool) throws(PlainJSON.Invalid) -> ArraySlice<UInt8> {
        skipBlanks()
        let name = try string(isKept: isKept || keepsValues)
        skipBlanks()
        try take(UInt8(ascii: ":"))
        return name
    }

    // MARK: Strings

    private mutating func string(isKept: Bool) throws(PlainJSON.Invalid) -> ArraySlice<UInt8> {
        try take(UInt8(ascii: "\""))
        let run = unescaped()
        if run.endIndex < piece.bytes.count, piece.bytes[run.endIndex] == UInt8(ascii: "\"") {
            offset += run.count + 1
            return isKept ? run : []
        }
        var result: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw PlainJSON.Invalid(offset: offset) }
            guard byte == UInt8(ascii: "\\") else {
                takeUnescaped(into: &result, isKept: isKept)
                continue
            }
            offset += 1
            try escape(into: &result)
            if !isKept { result.removeAll(keepingCapacity: true) }
        }
        try take(UInt8(ascii: "\""))
        return result[...]
    }

    private mutating func takeUnescaped(into result: inout [UInt8], isKept: Bool) {
        let run = unescaped()
        if isKept { result += run }
        offset += run.count
    }

    /// The bytes in memory up to the next quote, backslash or control character.
    private func unescaped() -> ArraySlice<UInt8> {
        let place = min(offset - piece.start, piece.bytes.count)
        return piece.bytes[place..<PlainText.end(ofUnescaped: piece.bytes, from: place)]
    }

    private mutating func escape(into result: inout [UInt8]) throws(PlainJSON.Invalid) {
        guard let letter = next else { throw PlainJSON.Invalid(offset: offset) }
        offset += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): result.append(letter)
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0c)
        case UInt8(ascii: "n"): result.append(0x0a)
        case UInt8(ascii: "r"): result.append(0x0d)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"): try unicodeEscape(into: &result)
        default: throw PlainJSON.Invalid(offset: offset - 1)
        }
    }

    private mutating func unicodeEscape(into result: inout [UInt8]) throws(PlainJSON.Invalid) {
        var units = [try codeUnit()]
        if UTF16.isLeadSurrogate(units[0]) {
            try take(UInt8(ascii: "\\"))
            try take(UInt8(ascii: "u"))
            units.append(try codeUnit())
        }
        // A lone surrogate is not a character.
        guard let text = String(utf16: units) else { throw PlainJSON.Invalid(offset: offset) }
        result += Array(text.utf8)
    }

    private mutating func codeUnit() throws(PlainJSON.Invalid) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, byte < 0x80, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
                throw PlainJSON.Invalid(offset: offset)
            }
            unit = unit << 4 | UInt16(digit)
            offset += 1
        }
        return unit
    }

    // MARK: Numbers

    private mutating func number() throws(PlainJSON.Invalid) -> PlainJSON {
        let start = offset
        if next == UInt8(ascii: "-") { offset += 1 }
        let isZero = next == UInt8(ascii: "0")
        let digits = takeDigits()
        guard digits == 1 || (digits > 1 && !isZero) else {
            throw PlainJSON.Invalid(offset: offset)
        }
        if next == UInt8(ascii: ".") {
            offset += 1
            guard takeDigits() > 0 else { throw PlainJSON.Invalid(offset: offset) }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            offset += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { offset += 1 }
            guard takeDigits() > 0 else { throw PlainJSON.Invalid(offset: offset) }
        }
        guard keepsValues else { return .null }
        let text = String(decoding: text.slice(start..<offset), as: UTF8.self)
        if let integer = Int64(text) { return .integer(integer) }
        guard let real = Double(text) else { throw PlainJSON.Invalid(offset: start) }
        return .real(real)
    }

    private mutating func takeDigits() -> Int {
        let start = offset
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
        return offset - start
    }
}
