/// What a CREATE INDEX statement says that no pragma tells: the expressions of its keys, and its condition.
struct IndexText {
    /// Of each key in order, without its direction.
    var keys: [String] = []
    var filter: String?

    private enum Kind { case word, quoted, sign(UInt8) }

    /// Nil when the text is not one that SQLite keeps for an index.
    init?(_ sql: String) {
        let text = Array(sql.utf8)
        var depth = 0
        var start: Int?
        // Whether the list of keys is at its end.
        var isClosed = false
        // Where the key at hand ends, if its direction is left out.
        var last: (range: Range<Int>, isDirection: Bool)?
        func key(_ range: Range<Int>) -> String {
            let stop = last.flatMap { $0.isDirection ? $0.range.lowerBound : nil } ?? range.upperBound
            return String(decoding: text[range.lowerBound..<stop], as: UTF8.self)
        }
        for (kind, range) in Self.tokens(of: text) {
            if isClosed {
                guard case .word = kind, String(decoding: text[range], as: UTF8.self).uppercased() == "WHERE" else {
                    return nil
                }
                filter = String(decoding: text[range.upperBound...], as: UTF8.self)
                return
            }
            switch kind {
            case .sign(UInt8(ascii: "(")):
                depth += 1
                if depth == 1 { start = range.upperBound }
            case .sign(UInt8(ascii: ")")):
                depth -= 1
                if depth == 0, let begin = start {
                    keys.append(key(begin..<range.lowerBound))
                    isClosed = true
                }
            case .sign(UInt8(ascii: ",")) where depth == 1:
                if let begin = start { keys.append(key(begin..<range.lowerBound)) }
                start = range.upperBound
            default: break
            }
            var isDirection = false
            if case .word = kind, depth == 1 {
                isDirection = ["ASC", "DESC"].contains(String(decoding: text[range], as: UTF8.self).uppercased())
            }
            last = (range, isDirection)
        }
        if !isClosed { return nil }
    }

    /// Words, quoted texts and signs, without blanks and comments.
    private static func tokens(of text: [UInt8]) -> [(Kind, Range<Int>)] {
        var tokens: [(Kind, Range<Int>)] = []
        var index = 0
        func starts(_ sign: String) -> Bool { text[index...].starts(with: sign.utf8) }
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
                let close = byte == UInt8(ascii: "[") ? UInt8(ascii: "]") : byte
                index += 1
                // A doubled quote ends one text and begins the next, which comes to the same here.
                while index < text.count, text[index] != close { index += 1 }
                index = min(index + 1, text.count)
                tokens.append((.quoted, begin..<index))
            } else if isWordPart(byte) {
                while index < text.count, isWordPart(text[index]) { index += 1 }
                tokens.append((.word, begin..<index))
            } else {
                index += 1
                if byte > 0x20 { tokens.append((.sign(byte), begin..<index)) }
            }
        }
        return tokens
    }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        byte > 127 || byte == 0x5f || byte == 0x24 || (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte)
            || (0x61...0x7a).contains(byte)
    }
}
