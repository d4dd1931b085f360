/// Text in another case, character by character, where each result takes the bytes of its character.
///
/// That is most text: ASCII, letters of two UTF-8 bytes (Latin with marks, Greek, Cyrillic), and scripts and signs
/// without case. Unicode's rules for whole texts cost ten times as much as copying the text.
struct CaseInPlace: Sendable {
    static let upper = CaseInPlace({ $0.uppercased() }, ascii: .upper)
    static let lower = CaseInPlace({ $0.lowercased() }, ascii: .lower)

    private static let first: UInt32 = 0x80, end: UInt32 = 0x800

    /// The two bytes of the result of each character of two bytes, the first one in the high byte; 0 if the result has
    /// another length.
    private let results: [UInt16]
    private let letterCase: ASCII.LetterCase

    private init(_ transform: (String) -> String, ascii letterCase: ASCII.LetterCase) {
        self.letterCase = letterCase
        results = (Self.first..<Self.end).map { number in
            let result = Unicode.Scalar(number).map { Array(transform(String($0)).utf8) } ?? []
            return result.count == 2 ? UInt16(result[0]) << 8 | UInt16(result[1]) : 0
        }
    }

    /// Changes a text in place; false, with a part of it changed, if it has other characters or is malformed.
    func bring(_ text: UnsafeMutableRawBufferPointer) -> Bool {
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte < 0x80 {
                text[index] = letterCase.bring(byte)
                index += 1
                continue
            }
            let length = ScalarFunction.length(ofCharacterAt: index, in: UnsafeRawBufferPointer(text))
            if length == 2 {
                let number = Int(byte & 0x1F) << 6 | Int(text[index + 1] & 0x3F)
                let result = results[number - Int(Self.first)]
                guard result != 0 else { return false }
                text[index] = UInt8(result >> 8)
                text[index + 1] = UInt8(result & 0xFF)
            } else if length == 0 || !Self.isWithoutCase(byte, text[index + 1]) {
                return false
            }
            index += length
        }
        return true
    }

    /// Whether no character of three or four bytes that begins with these two has another form in any case.
    private static func isWithoutCase(_ first: UInt8, _ second: UInt8) -> Bool {
        switch first {
        case 0xE0: true  // Scripts of South and Southeast Asia.
        case 0xE2: second < 0x84  // Punctuation and currencies.
        case 0xE3...0xE9, 0xEB...0xED: true  // Kana, Chinese characters, Hangul.
        case 0xF0: second >= 0x9F  // Emoji, rare Chinese characters.
        default: false
        }
    }
}
