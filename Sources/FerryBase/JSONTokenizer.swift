/// Reads one JSON text (RFC 8259), keeping lines and repeated keys.
package struct JSONTokenizer {
    /// Far more than a file that is written by hand needs, and little enough for the stack.
    private static let deepest = 64

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// - Throws: ``JSONSyntaxError`` with the line of the first byte that does not fit.
    package static func parse(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSONNode {
        guard let text = String(utf8: bytes) else {
            throw JSONSyntaxError(line: 1, message: "the text is not UTF-8")
        }
        var tokenizer = JSONTokenizer(Array(text.utf8))
        if tokenizer.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { tokenizer.position = 3 }
        let node = try tokenizer.value(depth: 0)
        tokenizer.skipSpace()
        if tokenizer.position < tokenizer.bytes.count { throw tokenizer.unexpected("the end of the file") }
        return node
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONNode {
        skipSpace()
        guard depth <= Self.deepest else { throw error("nested more than \(Self.deepest) deep") }
        let start = line
        switch peek {
        case UInt8(ascii: "{"): return JSONNode(value: .object(try members(depth: depth)), line: start)
        case UInt8(ascii: "["): return JSONNode(value: .array(try elements(depth: depth)), line: start)
        case UInt8(ascii: "\""): return JSONNode(value: .string(try string()), line: start)
        case UInt8(ascii: "t"): return JSONNode(value: .boolean(try word("true", true)), line: start)
        case UInt8(ascii: "f"): return JSONNode(value: .boolean(try word("false", false)), line: start)
        case UInt8(ascii: "n"): return JSONNode(value: try word("null", .null), line: start)
        case UInt8(ascii: "-")?, (UInt8(ascii: "0")...UInt8(ascii: "9"))?:
            return JSONNode(value: .number(try number()), line: start)
        default: throw unexpected("a value")
        }
    }

    private mutating func members(depth: Int) throws(JSONSyntaxError) -> [JSONNode.Member] {
        position += 1
        var members: [JSONNode.Member] = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return members }
        repeat {
            skipSpace()
            let start = line
            guard peek == UInt8(ascii: "\"") else { throw unexpected("a key in double quotes") }
            let key = try string()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw unexpected("a colon after the key") }
            members.append(.init(key: key, line: start, value: try value(depth: depth + 1)))
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw unexpected("a comma or }") }
        return members
    }

    private mutating func elements(depth: Int) throws(JSONSyntaxError) -> [JSONNode] {
        position += 1
        var elements: [JSONNode] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return elements }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw unexpected("a comma or ]") }
        return elements
    }

    private mutating func word<Meaning>(_ word: String, _ meaning: Meaning) throws(JSONSyntaxError) -> Meaning {
        guard bytes[position...].starts(with: word.utf8) else { throw unexpected("a value") }
        position += word.utf8.count
        return meaning
    }

    private mutating func number() throws(JSONSyntaxError) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        if position == start { throw unexpected("a digit") }
    }

    // MARK: Strings

    private mutating func string() throws(JSONSyntaxError) -> String {
        position += 1
        var units: [UInt8] = []
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return String(decoding: units, as: UTF8.self)
            case UInt8(ascii: "\\"):
                position += 1
                units.append(contentsOf: try escape().utf8)
            case 0..<0x20: throw error("a control character stands in a string; write it as an escape")
            default:
                units.append(byte)
                position += 1
            }
        }
        throw error("a string is not closed")
    }

    private mutating func escape() throws(JSONSyntaxError) -> String {
        guard let byte = peek else { throw error("a string is not closed") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return String(UnicodeScalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let first = try codeUnit()
            guard UTF16.isLeadSurrogate(first), bytes[position...].starts(with: Array("\\u".utf8)) else {
                return String(decoding: [first], as: UTF16.self)
            }
            position += 2
            return String(decoding: [first, try codeUnit()], as: UTF16.self)
        default: throw error("a backslash is followed by something that is no escape")
        }
    }

    private mutating func codeUnit() throws(JSONSyntaxError) -> UInt16 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ UnicodeScalar($0).properties.isASCIIHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw error("\\u is not followed by four hexadecimal digits") }
        position += 4
        return unit
    }

    // MARK: Bytes

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            if byte == 0x0A { line += 1 }
            position += 1
        }
    }

    private func error(_ message: String) -> JSONSyntaxError { JSONSyntaxError(line: line, message: message) }

    private func unexpected(_ wanted: String) -> JSONSyntaxError {
        error(peek == nil ? "the file ends where \(wanted) is expected" : "\(wanted) is expected here")
    }
}
