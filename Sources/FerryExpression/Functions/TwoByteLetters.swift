/// Letters of two UTF-8 bytes (Latin with marks, Greek, Cyrillic) in another case.
///
/// Unicode's rules for whole texts cost ten times as much as copying the text; these letters change one by one.
struct TwoByteLetters: Sendable {
    static let upper = TwoByteLetters({ $0.uppercased() }, ascii: .upper)
    static let lower = TwoByteLetters({ $0.lowercased() }, ascii: .lower)

    private static let first: UInt32 = 0x80, end: UInt32 = 0x800

    /// The two bytes of each character's result, the first one in the high byte; 0 if the result has another length.
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
            guard 0xC2...0xDF ~= byte, index + 1 < text.count, text[index + 1] & 0xC0 == 0x80 else { return false }
            let number = Int(byte & 0x1F) << 6 | Int(text[index + 1] & 0x3F)
            let result = results[number - Int(Self.first)]
            guard result != 0 else { return false }
            text[index] = UInt8(result >> 8)
            text[index + 1] = UInt8(result & 0xFF)
            index += 2
        }
        return true
    }
}
