/// A JSON value, parsed in the plainest way: one pass over the bytes, strict by RFC 8259.
package indirect enum PlainJSON: Sendable, Hashable {
    case null
    case boolean(Bool)
    /// A number without fraction and exponent that fits 64 bits.
    case integer(Int64)
    case real(Double)
    /// The decoded UTF-8.
    case string([UInt8])
    /// Elements, and the bytes as they stand in the document.
    case array([PlainJSON], text: [UInt8])
    /// Members in their order, and the bytes as they stand in the document.
    case object([Member], text: [UInt8])

    package struct Member: Sendable, Hashable {
        package var name: [UInt8]
        package var value: PlainJSON
    }

    /// Why a text is no JSON; the place is an offset in bytes.
    package struct Invalid: Error, Sendable { package var offset: Int }

    /// Parses a whole document.
    ///
    /// - Throws: ``Invalid``.
    package init(_ bytes: [UInt8]) throws(Invalid) {
        var parser = Parser(bytes: bytes)
        parser.skipBlanks()
        self = try parser.value(depth: 0)
        parser.skipBlanks()
        guard parser.offset == bytes.count else { throw Invalid(offset: parser.offset) }
    }

    /// The value of a member; the first one where a name stands twice.
    package func member(_ name: String) -> PlainJSON? {
        guard case .object(let members, _) = self else { return nil }
        let name = Array(name.utf8)
        return members.first { $0.name == name }?.value
    }

    /// The text of a container as it stands in the document; empty for scalars.
    package var text: [UInt8] {
        switch self {
        case .array(_, let text), .object(_, let text): text
        default: []
        }
    }
}

private struct Parser {
    let bytes: [UInt8]
    var offset = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { offset += 1 }
    }

    mutating func value(depth: Int) throws(PlainJSON.Invalid) -> PlainJSON {
        // Deeper documents than this are an attack on the stack, not data.
        guard depth < 512 else { throw PlainJSON.Invalid(offset: offset) }
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: String, _ value: PlainJSON) throws(PlainJSON.Invalid) -> PlainJSON {
        for byte in word.utf8 { try take(byte) }
        return value
    }

    private mutating func take(_ byte: UInt8) throws(PlainJSON.Invalid) {
        guard next == byte else { throw PlainJSON.Invalid(offset: offset) }
        offset += 1
    }

    private mutating func object(depth: Int) throws(PlainJSON.Invalid) -> PlainJSON {
        let start = offset
        var members: [PlainJSON.Member] = []
        try take(UInt8(ascii: "{"))
        skipBlanks()
        while next != UInt8(ascii: "}") {
            if !members.isEmpty {
                try take(UInt8(ascii: ","))
                skipBlanks()
            }
            let name = try string()
            skipBlanks()
            try take(UInt8(ascii: ":"))
            skipBlanks()
            members.append(.init(name: name, value: try value(depth: depth + 1)))
            skipBlanks()
        }
        offset += 1
        return .object(members, text: Array(bytes[start..<offset]))
    }

    private mutating func array(depth: Int) throws(PlainJSON.Invalid) -> PlainJSON {
        let start = offset
        var elements: [PlainJSON] = []
        try take(UInt8(ascii: "["))
        skipBlanks()
        while next != UInt8(ascii: "]") {
            if !elements.isEmpty {
                try take(UInt8(ascii: ","))
                skipBlanks()
            }
            elements.append(try value(depth: depth + 1))
            skipBlanks()
        }
        offset += 1
        return .array(elements, text: Array(bytes[start..<offset]))
    }

    private mutating func string() throws(PlainJSON.Invalid) -> [UInt8] {
        var result: [UInt8] = []
        try take(UInt8(ascii: "\""))
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw PlainJSON.Invalid(offset: offset) }
            offset += 1
            if byte == UInt8(ascii: "\\") { try escape(into: &result) } else { result.append(byte) }
        }
        try take(UInt8(ascii: "\""))
        return result
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
        if UTF16.isLeadSurrogate(units[0]), next == UInt8(ascii: "\\"), offset + 1 < bytes.count,
            bytes[offset + 1] == UInt8(ascii: "u")
        {
            let before = offset
            offset += 2
            let second = try codeUnit()
            if UTF16.isTrailSurrogate(second) { units.append(second) } else { offset = before }
        }
        // A lone surrogate has no UTF-8; it becomes U+FFFD.
        result += Array(String(decoding: units, as: UTF16.self).utf8)
    }

    private mutating func codeUnit() throws(PlainJSON.Invalid) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
                throw PlainJSON.Invalid(offset: offset)
            }
            unit = unit << 4 | UInt16(digit)
            offset += 1
        }
        return unit
    }

    private mutating func number() throws(PlainJSON.Invalid) -> PlainJSON {
        let start = offset
        var isWhole = true
        if next == UInt8(ascii: "-") { offset += 1 }
        let first = offset
        let digits = takeDigits()
        guard digits == 1 || (digits > 1 && bytes[first] != UInt8(ascii: "0")) else {
            throw PlainJSON.Invalid(offset: offset)
        }
        if next == UInt8(ascii: ".") {
            isWhole = false
            offset += 1
            guard takeDigits() > 0 else { throw PlainJSON.Invalid(offset: offset) }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            offset += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { offset += 1 }
            guard takeDigits() > 0 else { throw PlainJSON.Invalid(offset: offset) }
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isWhole, let integer = Int64(text) { return .integer(integer) }
        guard let real = Double(text) else { throw PlainJSON.Invalid(offset: start) }
        return .real(real)
    }

    private mutating func takeDigits() -> Int {
        let start = offset
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
        return offset - start
    }
}
