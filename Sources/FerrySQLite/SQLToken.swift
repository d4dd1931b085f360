/// A word, a quoted name or a sign of an SQL text.
package enum SQLToken {
    /// In upper case, as the quoted names.
    case word(String), quoted(String)
    case sign(UInt8)

    package var name: String? {
        switch self {
        case .word(let name), .quoted(let name): name
        case .sign: nil
        }
    }

    package var word: String? { if case .word(let word) = self { word } else { nil } }

    /// Returns the tokens of a text in UTF-8 with their places, without whitespace and comments.
    package static func all(in text: [UInt8]) -> [(token: SQLToken, range: Range<Int>)] {
        var tokens: [(token: SQLToken, range: Range<Int>)] = []
        var index = 0
        func starts(_ sign: String) -> Bool { text[index...].starts(with: sign.utf8) }
        func name(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self).uppercased() }
        while index < text.count {
            let begin = index
            let byte = text[index]
            if starts("--") {
                while index < text.count, text[index] != UInt8(ascii: "\n") { index += 1 }
            } else if starts("/*") {
                index += 2
                while index < text.count, !starts("*/") { index += 1 }
                index = min(index + 2, text.count)
            } else if "\"'`[".utf8.contains(byte) {
                // SQLite accepts a name in single quotes where it expects no value.
                let quoted = quoted(in: text, from: &index)
                tokens.append((.quoted(name(quoted)), begin..<index))
            } else if isWordPart(byte) {
                while index < text.count, isWordPart(text[index]) { index += 1 }
                tokens.append((.word(name(text[begin..<index])), begin..<index))
            } else {
                index += 1
                if byte > 0x20 { tokens.append((.sign(byte), begin..<index)) }
            }
        }
        return tokens
    }

    private static func quoted(in text: [UInt8], from index: inout Int) -> [UInt8] {
        let end = text[index] == UInt8(ascii: "[") ? UInt8(ascii: "]") : text[index]
        index += 1
        var name: [UInt8] = []
        while index < text.count {
            let byte = text[index]
            index += 1
            if byte == end {
                // A doubled quote is an escaped quote.
                guard end != UInt8(ascii: "]"), index < text.count, text[index] == end else { break }
                index += 1
            }
            name.append(byte)
        }
        return name
    }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        byte > 127 || byte == 0x5f || byte == 0x24 || (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte)
            || (0x61...0x7a).contains(byte)
    }
}
